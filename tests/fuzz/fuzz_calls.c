/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_calls.c -- any sequence of operations, flows included, on a store in an array; afterwards
 * the audit must find nothing and everything must still come to an end.
 *
 * Two bytes are one word: what is said, and about what. */
#include <stdlib.h>
#include <string.h>

#include "support/graphs.h"

#define THINGS_MAX 24
#define WORDS_MAX  120
#define FLOWS_MAX  4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const shapes[] = {
    "a b c | a>b b>c",
    "a b c | a>c b>c",
    "a b c:any | a>c b>c",
    "a b c d:2 | a>d b>d c>d",
    "a b c:any! d | a>c b>c c>d",
    "a b c d | a>b a>c b>d c>d=",
};
static const char *const growths[] = {"x | a>x", "x:any y | a>x b>x x>y", "y | b>y c>y"};

struct story {
    struct world world;
    struct ff_exec_id ids[THINGS_MAX];
    struct ff_task_ref tasks[THINGS_MAX];
    struct ff_uuid flows[FLOWS_MAX];
    size_t id_count, task_count, flow_count;
};

static void note_task(struct story *s, struct ff_task_ref task)
{
    s->tasks[s->task_count++ % THINGS_MAX] = task;
    s->ids[s->id_count++ % THINGS_MAX] = task.id;
}

static void do_claim(struct story *s)
{
    struct ff_claim_out out;
    const size_t count = world_claim(&s->world, "w", 3, &out);

    for (size_t i = 0; i < count; i++)
        note_task(s, world_task(&out, i));
}

/* What a worker says about a task it holds, or held once. */
static void do_word(struct story *s, uint8_t word, struct ff_task_ref task)
{
    struct ff_state_out state;
    struct ff_renew_out renewed;

    switch (word) {
    case 0:
        (void)!world_complete(&s->world, task, "1", &state);
        break;
    case 1:
        (void)!world_fail(&s->world, task, FF_FAILURE_TRANSIENT, &state);
        break;
    case 2:
        (void)!world_fail(&s->world, task, FF_FAILURE_PERMANENT, &state);
        break;
    case 3:
        (void)!world_delay(&s->world, task, 500, &state);
        break;
    case 4:
        (void)!world_release(&s->world, task, &state);
        break;
    default:
        (void)!world_renew(&s->world, task, 2000, &renewed);
        break;
    }
}

static void do_order(struct story *s, uint8_t order, struct ff_exec_id id)
{
    struct ff_state_out state;
    struct ff_revoke_out revoked;

    if (order == 0)
        (void)!world_cancel(&s->world, id, &state);
    else if (order == 1)
        (void)!world_revoke(&s->world, id, &revoked);
    else
        (void)!world_replay(&s->world, id, &state);
}

static void do_flow(struct story *s, uint8_t what, uint8_t arg)
{
    struct ff_flow_grow_out grown;
    struct ff_flow_cancel_out cancelled;
    struct ff_uuid flow;

    if (what == 0 && s->flow_count < FLOWS_MAX)
        s->flows[s->flow_count++] = world_given_flow(&s->world, shapes[arg % FF_ARRAY_LEN(shapes)]);
    if (s->flow_count == 0)
        return;
    flow = s->flows[arg % s->flow_count];
    if (what == 1)
        (void)!world_grow(&s->world, flow, growths[arg % FF_ARRAY_LEN(growths)], &grown);
    else if (what == 2)
        (void)!world_flow_cancel(&s->world, flow, 1 + arg % 3, &cancelled);
}

static void do_time(struct story *s, uint8_t what, uint8_t arg)
{
    s->world.now_ms += (int64_t)arg * 100;
    if (what == 0)
        (void)world_fire(&s->world, FF_TIMER_LEASES);
    else if (what == 1)
        (void)world_fire(&s->world, FF_TIMER_DELAYS);
    else
        (void)world_tick(&s->world);
}

static void say(struct story *s, uint8_t what, uint8_t arg)
{
    const uint8_t kind = what % 16;

    if (kind == 0 && s->id_count < THINGS_MAX)
        s->ids[s->id_count++ % THINGS_MAX] = world_given_ready(&s->world);
    else if (kind == 1)
        do_claim(s);
    else if (kind < 8 && s->task_count > 0)
        do_word(s, (uint8_t)(kind - 2),
                s->tasks[arg % (s->task_count < THINGS_MAX ? s->task_count : THINGS_MAX)]);
    else if (kind >= 8 && kind < 11 && s->id_count > 0)
        do_order(s, (uint8_t)(kind - 8),
                 s->ids[arg % (s->id_count < THINGS_MAX ? s->id_count : THINGS_MAX)]);
    else if (kind >= 11 && kind < 14)
        do_time(s, (uint8_t)(kind - 11), arg);
    else if (kind >= 14)
        do_flow(s, (uint8_t)((kind - 14) + (arg & 1)), (uint8_t)(arg >> 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct story s;

    memset(&s, 0, sizeof s);
    world_init(&s.world);
    for (size_t i = 0; i + 1 < size && i < 2 * WORDS_MAX; i += 2)
        say(&s, data[i], data[i + 1]);
    (void)world_settle(&s.world);
    world_audit(&s.world);
    world_done(&s.world);
    return 0;
}
