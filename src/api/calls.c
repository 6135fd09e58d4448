/* SPDX-License-Identifier: Apache-2.0
 *
 * calls.c -- the exported calls: check the client, then do what its table says.
 *
 * Made from calls.def; what a call does in process is in the file of its ff_local_<name>.
 * Read first: src/api/client.h. Tests: tests/unit/test_api.c. */
#include "api/api-int.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#include "base/banned.h"

static const struct ff_calls local_calls = {
    .close = ff_local_close,
#define FF_CALL(name, parameters, arguments) .name = ff_local_##name,
#include "api/calls.def"
#undef FF_CALL
};

const struct ff_calls *ff_calls_local(void)
{
    return &local_calls;
}

ff_status ff_client_check(const struct ff_client *client, struct ff_error *reterr)
{
    if (!client)
        return ff_fail_field(reterr, FF_INVALID, "client", "there is no client");
    if (client->pid != getpid())
        return ff_fail(reterr, FF_CLOSED, "a client cannot be used after fork");
    return FF_OK;
}

static ff_status unsupported(const char *name, struct ff_error *reterr)
{
    return ff_fail(reterr, FF_UNSUPPORTED,
                   "ff_%s needs the store itself: open the store's url, not the server's", name);
}

/* A call that has begun is counted, so that ff_close does not free the client under it. */
static ff_status enter(struct ff_client *client, struct ff_error *reterr)
{
    FF_TRY(ff_client_check(client, reterr));
    atomic_fetch_add(&client->inside, 1);
    if (!atomic_load(&client->closing))
        return FF_OK;
    atomic_fetch_sub(&client->inside, 1);
    return ff_fail(reterr, FF_CLOSED, "client is being closed");
}

static ff_status leave(struct ff_client *client, ff_status status)
{
    atomic_fetch_sub(&client->inside, 1);
    return status;
}

void ff_client_wait_for_calls(const struct ff_client *client)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (atomic_load(&client->inside) > 0)
        (void)nanosleep(&pause, NULL);
}

size_t ff_close(struct ff_client *client, int64_t grace_ms)
{
    /* In a child its threads do not exist: there is nothing to stop, and joining would hang. */
    if (ff_client_check(client, NULL) != FF_OK)
        return 0;
    atomic_store(&client->closing, true);
    return client->calls->close(client, ff_max_i64(grace_ms, 0));
}

#define FF_CALL(name, parameters, arguments)                                                       \
    ff_status ff_##name(struct ff_client *client, FF_CALL_LIST parameters,                         \
                        struct ff_error *reterr)                                                   \
    {                                                                                              \
        FF_TRY(enter(client, reterr));                                                             \
        return leave(client, client->calls->name                                                   \
                                 ? client->calls->name(client, FF_CALL_LIST arguments, reterr)     \
                                 : unsupported(#name, reterr));                                    \
    }
#include "api/calls.def"
#undef FF_CALL
