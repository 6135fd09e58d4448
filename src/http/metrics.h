/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.h -- counters of the server, in Prometheus' text format.
 *
 * Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_METRICS_H
#define FF_HTTP_METRICS_H

#include "base/histogram.h"
#include "base/strbuf.h"
#include "http/routes.h"

#include <stdatomic.h>
#include <stdint.h>

#define FF_METRIC_CODES 6 /* by the first digit of the status */

struct ff_metrics {
    struct ff_histogram requests[FF_ROUTE_COUNT + 1][FF_METRIC_CODES]; /* last: no route */
    _Atomic int64_t connections_total, crowded_total, cut_total, gone_total, undelivered_total;
    _Atomic int64_t malformed_total; /* answered by libmicrohttpd itself */
    _Atomic int64_t streams, waiting_claims;
};

void ff_metrics_request(struct ff_metrics *metrics, const struct ff_route *route, int status,
                        int64_t us);
/* HELP and TYPE, then a value. */
void ff_metric_head(struct ff_strbuf *out, const char *name, const char *type, const char *help);
void ff_metric_one(struct ff_strbuf *out, const char *name, const char *type, const char *help,
                   int64_t value);
/* Without its head; `labels` is "" or "a=\"b\"". */
void ff_metric_histogram(struct ff_strbuf *out, const char *name, const char *labels,
                         const struct ff_histogram *histogram);
void ff_metrics_write_requests(struct ff_strbuf *out, const struct ff_metrics *metrics);

#endif
