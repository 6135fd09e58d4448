/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger.h -- the rule of migrations, for both stores: which ledgers this binary may work with.
 *
 * Lines are told in the order of their versions. Tests: tests/unit/test_ledger.c. */
#ifndef FF_STORE_LEDGER_H
#define FF_STORE_LEDGER_H

#include "base/error.h"

#include <stdint.h>

struct ff_ledger {
    int32_t version;       /* 0: nothing applied yet */
    int32_t oldest_binary; /* that may still run on it */
};

/* The version of the newest migration this binary knows. */
int32_t ff_ledger_newest(void);
/* FF_SCHEMA: a migration is missing, or is not the one this binary has. */
FF_MUST_CHECK ff_status ff_ledger_line(struct ff_ledger *ledger, int64_t version,
                                       const char *checksum, int64_t oldest_binary,
                                       struct ff_error *reterr);
/* FF_SCHEMA: the store is too new for this binary. */
FF_MUST_CHECK ff_status ff_ledger_check(const struct ff_ledger *ledger, struct ff_error *reterr);
/* FF_SCHEMA: the store is older than this binary, and was not to be changed. */
ff_status ff_ledger_is_old(const struct ff_ledger *ledger, struct ff_error *reterr);

#endif
