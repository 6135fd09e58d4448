/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.c -- counters of the server, in Prometheus' text format. */
#include "http/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/macros.h"

#include "base/banned.h"

static const int64_t bucket_us[FF_METRIC_BUCKETS] = {1000,   5000,    10000,   50000,   100000,
                                                     500000, 1000000, 5000000, 30000000};

void ff_metrics_request(struct ff_metrics *metrics, const struct ff_route *route, int status,
                        int64_t us)
{
    const size_t at = route ? (size_t)(route - ff_routes) : FF_ROUTE_COUNT;
    const size_t code = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
    struct ff_histogram *const histogram = &metrics->requests[at][code];
    size_t bucket = 0;

    while (bucket < FF_METRIC_BUCKETS && us > bucket_us[bucket])
        bucket++;
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_us, us, memory_order_relaxed);
}

void ff_metric_head(struct ff_strbuf *out, const char *name, const char *type, const char *help)
{
    ff_strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void ff_metric_one(struct ff_strbuf *out, const char *name, const char *type, const char *help,
                   int64_t value)
{
    ff_metric_head(out, name, type, help);
    ff_strbuf_addf(out, "%s %" PRId64 "\n", name, value);
}

static void write_histogram(struct ff_strbuf *out, const struct ff_histogram *histogram,
                            const char *labels)
{
    static const char name[] = "ff_http_request_duration_seconds";
    int64_t all = 0;

    for (size_t i = 0; i < FF_METRIC_BUCKETS; i++) {
        all += histogram->counts[i];
        ff_strbuf_addf(out, "%s_bucket{%s,le=\"%g\"} %" PRId64 "\n", name, labels,
                       (double)bucket_us[i] / 1e6, all);
    }
    all += histogram->counts[FF_METRIC_BUCKETS];
    ff_strbuf_addf(
        out, "%s_bucket{%s,le=\"+Inf\"} %" PRId64 "\n%s_sum{%s} %.6f\n%s_count{%s} %" PRId64 "\n",
        name, labels, all, name, labels, (double)histogram->sum_us / 1e6, name, labels, all);
}

static bool is_used(const struct ff_histogram *histogram)
{
    for (size_t i = 0; i <= FF_METRIC_BUCKETS; i++)
        if (histogram->counts[i])
            return true;
    return false;
}

void ff_metrics_write_requests(struct ff_strbuf *out, const struct ff_metrics *metrics)
{
    char labels[160];

    ff_metric_head(out, "ff_http_request_duration_seconds", "histogram",
                   "From the request line to the end of the answer.");
    for (size_t i = 0; i <= FF_ROUTE_COUNT; i++) {
        for (size_t code = 0; code < FF_METRIC_CODES; code++) {
            if (!is_used(&metrics->requests[i][code]))
                continue;
            (void)snprintf(labels, sizeof labels, "method=\"%s\",route=\"%s\",code=\"%zuxx\"",
                           i < FF_ROUTE_COUNT ? ff_routes[i].method : "other",
                           i < FF_ROUTE_COUNT ? ff_routes[i].path : "none", code);
            write_histogram(out, &metrics->requests[i][code], labels);
        }
    }
}
