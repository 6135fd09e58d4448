/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.c -- counters of the server, in Prometheus' text format. */
#include "http/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/macros.h"

#include "base/banned.h"

void ff_metrics_request(struct ff_metrics *metrics, const struct ff_route *route, int status,
                        int64_t us)
{
    const size_t at = route ? (size_t)(route - ff_routes) : FF_ROUTE_COUNT;
    const size_t code = status >= 100 && status < 600 ? (size_t)status / 100 : 0;

    ff_histogram_add(&metrics->requests[at][code], us);
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

void ff_metric_histogram(struct ff_strbuf *out, const char *name, const char *labels,
                         const struct ff_histogram *histogram)
{
    const char *const comma = labels[0] ? "," : "";
    int64_t all = 0;

    for (size_t i = 0; i < FF_HISTOGRAM_STEPS; i++) {
        all += histogram->counts[i];
        ff_strbuf_addf(out, "%s_bucket{%s%sle=\"%g\"} %" PRId64 "\n", name, labels, comma,
                       (double)ff_histogram_step_us[i] / 1e6, all);
    }
    all += histogram->counts[FF_HISTOGRAM_STEPS];
    ff_strbuf_addf(out,
                   "%s_bucket{%s%sle=\"+Inf\"} %" PRId64 "\n%s_sum{%s} %.6f\n"
                   "%s_count{%s} %" PRId64 "\n",
                   name, labels, comma, all, name, labels, (double)histogram->sum_us / 1e6, name,
                   labels, all);
}

static bool is_used(const struct ff_histogram *histogram)
{
    for (size_t i = 0; i <= FF_HISTOGRAM_STEPS; i++)
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
            ff_metric_histogram(out, "ff_http_request_duration_seconds", labels,
                                &metrics->requests[i][code]);
        }
    }
}
