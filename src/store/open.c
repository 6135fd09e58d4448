/* SPDX-License-Identifier: Apache-2.0
 *
 * open.c -- a store by its URL, and calls for those who would rather wait.
 *
 * Tests: tests/unit/test_sqlite_store.c. */
#include "store/store.h"

#include "base/error.h"
#include "base/str.h"

#include "base/banned.h"

static const struct {
    struct ff_str prefix;
    ff_status (*open)(const struct ff_store_options *options, struct ff_store **ret_store,
                      struct ff_error *reterr);
} schemes[] = {
    {FF_STR_INIT("sqlite:"), ff_store_sqlite_open},
    {FF_STR_INIT("postgres://"), ff_store_postgres_open},
    {FF_STR_INIT("postgresql://"), ff_store_postgres_open},
};

ff_status ff_store_open(const struct ff_store_options *options, struct ff_store **ret_store,
                        struct ff_error *reterr)
{
    const struct ff_str url = ff_str_of(options->url);

    for (size_t i = 0; i < FF_ARRAY_LEN(schemes); i++)
        if (ff_str_starts(url, schemes[i].prefix))
            return schemes[i].open(options, ret_store, reterr);
    /* The URL itself may hold a password: it is not repeated. */
    return ff_fail_field(reterr, FF_INVALID, "url",
                         "store url must start with 'sqlite:' or 'postgres://'");
}

void ff_store_free(struct ff_store *store)
{
    if (store)
        store->ops->free(store);
}

void ff_session_run(struct ff_session *session, struct ff_call *call, int64_t timeout_ms)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t deadline_ms = ff_add_i64_clamped(ff_clock_mono_ms(&clock), timeout_ms);

    session->ops->start(session, call);
    while (!session->ops->finish(session, call)) {
        const int64_t left_ms = deadline_ms - ff_clock_mono_ms(&clock);

        if (left_ms <= 0) {
            session->ops->abandon(session, call);
            return;
        }
        session->ops->wait(session, left_ms);
    }
}

ff_status ff_session_read(struct ff_session *session, struct ff_read *read, int64_t timeout_ms,
                          struct ff_error *reterr)
{
    struct ff_call call = {.kind = FF_CALL_READ, .read = read};

    ff_session_run(session, &call, timeout_ms);
    switch (call.outcome) {
    case FF_CALLED_OK:
        return FF_OK;
    case FF_CALLED_RERUN:
    case FF_CALLED_HELD:
    case FF_CALLED_LOST:
    case FF_CALLED_STOP:
    case FF_CALLED_UNKNOWN:
        return ff_fail(reterr, FF_UNAVAILABLE, "%s", call.error.message);
    case FF_CALLED_OP:
        break;
    }
    return ff_fail(reterr, FF_INTERNAL, "%s", call.error.message);
}
