/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_claim_limits.c -- what a claim may ask for. */
#include "support/domain.h"

#include <stdio.h>

#include "base/banned.h"

static void refused(struct test *t, const struct ff_claim_request *r, ff_status want,
                    const char *field)
{
    EXPECT_REFUSED(t, want, field, when_asked(t, r));
}

static const char *const bad_names[] = {"", "two words", "tab\tbed", "a\x01", "caf\xe9", "a\n"};

FF_CONFORMANCE(execution_claim_limits, worker_ids)
{
    struct ff_claim_request r = claim_request();

    for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
        r.worker_id = bad_names[i];
        refused(t, &r, FF_INVALID, "worker_id");
        r = claim_request();
        r.worker_instance_id = bad_names[i];
        refused(t, &r, FF_INVALID, "worker_instance_id");
        r = claim_request();
    }
    r.worker_id = NULL;
    refused(t, &r, FF_INVALID, "worker_id");
    r.worker_id = text_of(t, 257, 'w');
    refused(t, &r, FF_INVALID, "worker_id");
    r.worker_id = text_of(t, 256, 'w');
    r.worker_instance_id = NULL;
    refused(t, &r, FF_INVALID, "worker_instance_id");
    r.worker_instance_id = text_of(t, 256, 'i');
    (void)given_submitted(t);
    (void)given_claim(t, &r);
}

FF_CONFORMANCE(execution_claim_limits, lease_ttl)
{
    struct ff_claim_request r = claim_request();

    r.lease_ttl_ms = 99;
    refused(t, &r, FF_INVALID, "lease_ttl_ms");
    r.lease_ttl_ms = -1;
    refused(t, &r, FF_INVALID, "lease_ttl_ms");
    r.lease_ttl_ms = 3600001;
    refused(t, &r, FF_INVALID, "lease_ttl_ms");
    r.lease_ttl_ms = INT64_MAX;
    refused(t, &r, FF_INVALID, "lease_ttl_ms");
    (void)given_submitted(t);
    r.lease_ttl_ms = 3600000;
    EXPECT_INT(t, 3600000, given_claim(t, &r).ttl_ms);
    r.lease_ttl_ms = 100;
    EXPECT_OK(t, when_asked(t, &r));
}

FF_CONFORMANCE(execution_claim_limits, numbers)
{
    struct ff_claim_request r = claim_request();

    r.max = -1;
    refused(t, &r, FF_INVALID, "max");
    r.max = 257;
    refused(t, &r, FF_INVALID, "max");
    r.max = 256;
    EXPECT_OK(t, when_asked(t, &r));
    r = claim_request();
    r.wait_ms = -1;
    refused(t, &r, FF_INVALID, "wait_ms");
    r.wait_ms = 60001;
    refused(t, &r, FF_INVALID, "wait_ms");
    r = claim_request();
    r.size = 0;
    refused(t, &r, FF_INVALID, "size");
}

static const char **many(struct test *t, size_t count)
{
    const char **const names = keep(t, count * sizeof(char *));

    for (size_t i = 0; i < count; i++) {
        char *const name = keep(t, 24);

        (void)snprintf(name, 24, "n%zu", i);
        names[i] = name;
    }
    return names;
}

FF_CONFORMANCE(execution_claim_limits, lanes_and_kinds)
{
    struct ff_claim_request r = claim_request();
    const char **const names = many(t, 65);

    r.lanes = names;
    r.lane_count = 65;
    refused(t, &r, FF_TOO_LARGE, "lanes");
    r.lane_count = 64;
    EXPECT_OK(t, when_asked(t, &r));
    names[1] = "";
    refused(t, &r, FF_INVALID, "lanes[1]");
    names[1] = NULL;
    refused(t, &r, FF_INVALID, "lanes");
    names[1] = "caf\xc3\xa9";
    refused(t, &r, FF_INVALID, "lanes[1]");
    r = claim_request();
    names[1] = "n1";
    r.kinds = names;
    r.kind_count = 65;
    refused(t, &r, FF_TOO_LARGE, "kinds");
    r.kind_count = 64;
    EXPECT_OK(t, when_asked(t, &r));
    names[2] = text_of(t, 129, 'k');
    refused(t, &r, FF_TOO_LARGE, "kinds[2]");
    names[2] = "a\x02";
    refused(t, &r, FF_INVALID, "kinds[2]");
}

FF_CONFORMANCE(execution_claim_limits, capabilities_and_namespace)
{
    struct ff_claim_request r = claim_request();
    const char **const names = many(t, 65);

    r.capabilities = names;
    r.capability_count = 65;
    refused(t, &r, FF_TOO_LARGE, "capabilities");
    r.capability_count = 64;
    EXPECT_OK(t, when_asked(t, &r));
    names[3] = "a,b";
    refused(t, &r, FF_INVALID, "capabilities[3]");
    names[3] = "a b";
    refused(t, &r, FF_INVALID, "capabilities[3]");
    r = claim_request();
    r.ns = "";
    refused(t, &r, FF_INVALID, "namespace");
    r.ns = text_of(t, 129, 'n');
    refused(t, &r, FF_TOO_LARGE, "namespace");
}

FF_CONFORMANCE(execution_claim_limits, request_id)
{
    struct ff_claim_request r = claim_request();

    r.request_id = "";
    refused(t, &r, FF_INVALID, "request_id");
    r.request_id = text_of(t, 65, 'r');
    refused(t, &r, FF_INVALID, "request_id");
    r.request_id = "a\x01";
    refused(t, &r, FF_INVALID, "request_id");
    r.request_id = text_of(t, 64, 'r');
    EXPECT_OK(t, when_asked(t, &r));
}

FF_CONFORMANCE(execution_claim_limits, refused_claim_takes_nothing)
{
    struct ff_claim_request r = claim_request();
    const struct name name = given_submitted(t);

    r.max = 1000;
    refused(t, &r, FF_INVALID, "max");
    EXPECT_STATE(t, name.id, "waiting");
    EXPECT_INT(t, 0, look(t, name.id)->lease_epoch);
}
