/* SPDX-License-Identifier: Apache-2.0
 *
 * wait.h -- the engine's waits are those of src/base/wait.h. */
#ifndef FF_ENGINE_WAIT_H
#define FF_ENGINE_WAIT_H

#include "base/wait.h"

#endif
