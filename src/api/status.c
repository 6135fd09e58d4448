/* SPDX-License-Identifier: Apache-2.0
 *
 * status.c -- the list of statuses in flowfabric/status.h, as functions.
 *
 * A status out of range is a caller's mistake and reads as FF_INTERNAL.
 * Tests: tests/unit/test_api.c. */
#include <flowfabric.h>

#include "base/banned.h"

static const struct {
    int exit_code, http;
    bool retryable;
    const char *code, *text;
} statuses[FF_STATUS_COUNT] = {
#define STATUS_ROW(name, exit_code, http, retryable, code, text)                                   \
    [FF_##name] = {exit_code, http, retryable, code, text},
    FF_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

static ff_status known(ff_status status)
{
    return (unsigned)status < FF_STATUS_COUNT ? status : FF_INTERNAL;
}

const char *ff_version(void)
{
    return "0.1.0";
}

const char *ff_status_code(ff_status status)
{
    return statuses[known(status)].code;
}

const char *ff_status_text(ff_status status)
{
    return statuses[known(status)].text;
}

int ff_status_http(ff_status status)
{
    return statuses[known(status)].http;
}

int ff_status_exit(ff_status status)
{
    return statuses[known(status)].exit_code;
}

bool ff_status_retryable(ff_status status)
{
    return statuses[known(status)].retryable;
}
