/* SPDX-License-Identifier: Apache-2.0
 *
 * wait.c -- --wait and --wait-ms; and the bar that shows people how far something is.
 *
 * The bar is the last line of a terminal, on stderr; whoever reads a pipe or a file never sees it.
 * Tests: tests/e2e/test_terminal.py. */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/print.h"

#include "base/banned.h"

#define BAR_COLUMNS     30
#define BAR_EVERY_MS    500
#define MESSAGE_COLUMNS 40

/* ---- the bar ----------------------------------------------------------------------------------
 */

void ff_cli_bar(struct ff_cli *cli, const char *what, int64_t done, int64_t total)
{
    const int64_t share = total > 0 ? done * BAR_COLUMNS / total : 0;
    char bar[BAR_COLUMNS + 1];

    if (!cli->bar)
        return;
    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', (size_t)share);
    bar[BAR_COLUMNS] = '\0';
    (void)fprintf(cli->err, "\r[%s] %s %" PRId64 " of %" PRId64 "\033[K", bar, what, done, total);
    (void)fflush(cli->err);
}

void ff_cli_bar_off(struct ff_cli *cli)
{
    if (!cli->bar)
        return;
    (void)fputs("\r\033[K", cli->err);
    (void)fflush(cli->err);
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

int ff_cli_wait_ms(struct ff_cli *cli, int64_t *ret_ms)
{
    int code;

    *ret_ms = ff_cli_has(cli, FF_OPT_WAIT) ? FF_DURATION_MS_MAX : 0;
    code = ff_cli_number(cli, FF_OPT_WAIT_MS, *ret_ms, ret_ms);
    if (code == FF_EXIT_OK && (*ret_ms < 0 || *ret_ms > FF_DURATION_MS_MAX))
        code = ff_cli_usage(cli, "option '--wait-ms' is out of range");
    return code;
}

int ff_cli_waited(struct ff_cli *cli, bool finished, const char *state)
{
    const struct ff_clock clock = ff_clock_system();

    cli->now_ms = ff_clock_real_ms(&clock); /* what is shown next happened before this moment */
    if (!finished) {
        (void)fputs("ff: it has not ended in time\n", cli->err);
        return ff_status_exit(FF_TIMEOUT);
    }
    return strcmp(state, "completed") == 0 ? FF_EXIT_OK : FF_EXIT_NEGATIVE;
}

int64_t ff_cli_mono_ms(void)
{
    const struct ff_clock clock = ff_clock_system();

    return ff_clock_mono_ms(&clock);
}

int64_t ff_cli_slice_ms(const struct ff_cli *cli, int64_t left_ms)
{
    return cli->bar && left_ms > BAR_EVERY_MS ? BAR_EVERY_MS : left_ms;
}

static void show_execution(struct ff_cli *cli, const struct ff_info *info, int64_t since_ms)
{
    const char *const said = info->progress_message ? info->progress_message : "";
    const int64_t seconds = (ff_cli_mono_ms() - since_ms) / 1000;
    char start[MESSAGE_COLUMNS + 1];

    if (!cli->bar)
        return;
    if (info->has_progress && info->progress_percent >= 0)
        ff_cli_bar(cli, "percent:", info->progress_percent, 100);
    else
        (void)fputs("\r", cli->err);
    (void)ff_str_print(start, sizeof start, "%s", ff_printable(cli, said, strlen(said)));
    (void)fprintf(cli->err, " %s, %" PRId64 " s %s\033[K", info->public_state, seconds, start);
    (void)fflush(cli->err);
}

ff_status ff_cli_wait(struct ff_cli *cli, const char *id, int64_t wait_ms, struct ff_info_list *ret,
                      struct ff_error *reterr)
{
    const int64_t since_ms = ff_cli_mono_ms(), until_ms = since_ms + wait_ms;
    int64_t left_ms = wait_ms;

    for (;;) {
        const ff_status status =
            ff_wait(cli->client, id, ff_cli_slice_ms(cli, left_ms), ret, reterr);

        left_ms = until_ms - ff_cli_mono_ms();
        if (status != FF_OK || ret->items[0].finished || left_ms <= 0) {
            ff_cli_bar_off(cli);
            return status;
        }
        show_execution(cli, &ret->items[0], since_ms);
        ff_answer_free(ret);
    }
}

ff_status ff_cli_wait_flow(struct ff_cli *cli, const char *id, int64_t wait_ms,
                           struct ff_flow_info_list *ret, struct ff_error *reterr)
{
    const int64_t until_ms = ff_cli_mono_ms() + wait_ms;
    int64_t left_ms = wait_ms;

    for (;;) {
        const ff_status status =
            ff_flow_wait(cli->client, id, ff_cli_slice_ms(cli, left_ms), ret, reterr);

        left_ms = until_ms - ff_cli_mono_ms();
        if (status != FF_OK || ret->items[0].finished_at_ms != FF_ABSENT_MS || left_ms <= 0) {
            ff_cli_bar_off(cli);
            return status;
        }
        ff_cli_bar(cli, "nodes ended,", ret->items[0].ended_count, ret->items[0].node_count);
        ff_answer_free(ret);
    }
}
