/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_sim.c -- sequences of API calls on the simulator: bytes instead of chance decide who calls
 * what, whose turn it is and what goes wrong; every invariant of tests/sim must hold.
 *
 * Two bytes are the seed of the world's shape, three name the kinds of faults, one says how many
 * calls there are; the rest is drawn from, byte by byte. FF_TEST_LOUD=1 tells the story. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "sim.h"

#define HEAD_BYTES 6
#define OPS_MIN    10
#define OPS_STEPS  64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void swallow(void *ctx, enum ff_log_level level, struct ff_str line)
{
    (void)ctx, (void)level, (void)line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sim_result result;
    struct sim_config config = {.verbose = getenv("FF_TEST_LOUD") != NULL};

    if (size < HEAD_BYTES)
        return 0;
    ff_log_set_sink(swallow, NULL);
    config.seed = (uint64_t)data[0] << 8 | data[1];
    config.faults = (uint32_t)data[2] << 16 | (uint32_t)data[3] << 8 | data[4];
    config.ops = OPS_MIN + data[5] % OPS_STEPS;
    config.tape = data + HEAD_BYTES;
    config.tape_bytes = size - HEAD_BYTES;
    sim_config_draw(&config);
    sim_run(&config, &result);
    if (result.failed) {
        (void)fprintf(stderr, "%s\n", result.why);
        abort();
    }
    return 0;
}
