/* SPDX-License-Identifier: Apache-2.0
 *
 * model-scan.h -- between model-scan.c and model-flow.c: how a scan is written down. */
#ifndef SIM_MODEL_SCAN_H
#define SIM_MODEL_SCAN_H

#include "model.h"

struct query {
    const struct model *model;
    const struct ff_scan *scan;
    int64_t now_ms;
    /* what the timers and retention have in common */
    struct ff_str namespace, instance_tag;
    int64_t cutoff_ms;
};

struct scan_rule {
    int block;
    ff_table table;
    bool (*fits)(const struct query *q, const void *row);
    int64_t (*order)(const void *row); /* then the key */
    bool limited;
};

const struct ff_value *model_param(const struct ff_scan *scan, const char *name);
int64_t model_by_key(const void *row);

/* The scans of flows; the run ends if it is none. */
const struct scan_rule *model_flow_rule(int block);
/* What the pulse says about the cascade: 0 or 1. */
int64_t model_hops_wait(const struct model *model, int64_t now_ms);
int64_t model_drains_wait(const struct model *model, int64_t now_ms);

#endif
