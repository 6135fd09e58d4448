/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger.c -- the rule of migrations, for both stores.
 *
 * Forward only, without gaps; what is newer than this binary is judged by the last line alone.
 * Tests: tests/unit/test_ledger.c. */
#include "store/ledger.h"

#include <string.h>

#include "store/sql.h"

#include "base/banned.h"

int32_t ff_ledger_newest(void)
{
    return ff_sql_migrations[ff_sql_migration_count - 1].version;
}

ff_status ff_ledger_line(struct ff_ledger *ledger, int64_t version, const char *checksum,
                         int64_t oldest_binary, struct ff_error *reterr)
{
    if (version != ledger->version + 1)
        return ff_fail(reterr, FF_SCHEMA, "migration %d is missing in the store",
                       (int)ledger->version + 1);
    if (version <= ff_ledger_newest()) {
        const struct ff_sql_migration *const ours = &ff_sql_migrations[version - 1];

        if (!checksum || strcmp(checksum, ours->checksum) != 0)
            return ff_fail(reterr, FF_SCHEMA,
                           "migration %d '%s' is not the one the store was made by", (int)version,
                           ours->name);
    }
    *ledger = (struct ff_ledger){(int32_t)version, (int32_t)oldest_binary};
    return FF_OK;
}

ff_status ff_ledger_check(const struct ff_ledger *ledger, struct ff_error *reterr)
{
    if (ledger->version > ff_ledger_newest() && ledger->oldest_binary > ff_ledger_newest())
        return ff_fail(reterr, FF_SCHEMA,
                       "store has schema %d, which needs a binary of schema %d or newer; this one "
                       "has %d",
                       (int)ledger->version, (int)ledger->oldest_binary, (int)ff_ledger_newest());
    return FF_OK;
}

ff_status ff_ledger_is_old(const struct ff_ledger *ledger, struct ff_error *reterr)
{
    return ff_fail(reterr, FF_SCHEMA, "store has schema %d and needs %d: run 'ff migrate'",
                   (int)ledger->version, (int)ff_ledger_newest());
}
