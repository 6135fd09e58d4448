/* SPDX-License-Identifier: Apache-2.0
 *
 * answers.h -- what the answers of a server hold, by table: clients read them by it, and
 * /openapi.json describes them by it.
 *
 * The writers are json-write.c, json-info.c and json-flow.c: a member added there and in the public
 * struct gets a line in the table. Lists of answers hold their memory first, then the rest.
 * Tests: tests/conformance --store http, tests/e2e/test_openapi.py. */
#ifndef FF_API_ANSWERS_H
#define FF_API_ANSWERS_H

#include "api/fields.h"

extern const struct ff_shape ff_answer_info, ff_answer_infos, ff_answer_tasks, ff_answer_attempts;
extern const struct ff_shape ff_answer_events, ff_answer_explanation, ff_answer_lanes;
extern const struct ff_shape ff_answer_workers, ff_answer_scanners, ff_answer_bulk_result;
extern const struct ff_shape ff_answer_flow, ff_answer_flows, ff_answer_flow_made;
extern const struct ff_shape ff_answer_flow_cancelled;
extern const struct ff_shape ff_answer_submitted;    /* struct ff_submitted */
extern const struct ff_shape ff_answer_operated;     /* struct ff_operated */
extern const struct ff_shape ff_answer_task_result;  /* struct ff_task_result */
extern const struct ff_shape ff_answer_lane_changed; /* struct ff_lane_info */

#endif
