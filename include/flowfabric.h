/* SPDX-License-Identifier: Apache-2.0
 *
 * flowfabric.h -- the front door: include this, and only this, for every call.
 *
 * C99-clean. Three version numbers, each with its own rule: the library follows SemVer
 * (FF_VERSION_NUMBER, ff_version()); the HTTP API is versioned in its path; the schema has its own
 * integer. The soname is the major version: a minor release adds symbols and never removes one.
 * Read first: docs/guide/embedding.md. Tests: tests/conformance. */
#ifndef FLOWFABRIC_H
#define FLOWFABRIC_H

#include "flowfabric/client.h"     /* opening and closing; what all answers share */
#include "flowfabric/events.h"     /* the log: history, following, waiting */
#include "flowfabric/executions.h" /* submitting, changing, looking */
#include "flowfabric/flows.h"      /* graphs of executions */
#include "flowfabric/operating.h"  /* lanes, workers, scanners, audit, cleaning */
#include "flowfabric/status.h"     /* version, strings, statuses, errors */
#include "flowfabric/tasks.h"      /* the worker protocol, call by call */
#include "flowfabric/worker.h"     /* the worker runtime: handlers and threads */

#endif
