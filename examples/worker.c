/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.c -- a complete worker: it greets whom the input names. See README.md beside it. */
#include <flowfabric.h>
#include <signal.h>
#include <stdio.h>

static struct ff_worker *worker;

static void on_signal(int number)
{
    (void)number;
    ff_worker_stop(worker);
}

static ff_verdict greet(struct ff_context *ctx, void *data)
{
    const struct ff_task *task = ff_context_task(ctx);

    if (!task->input.ptr)
        return ff_context_fail(ctx, "permanent", "nobody to greet");
    printf("%s, %s\n", (const char *)data, task->input.ptr);
    return ff_context_done(ctx, "{\"greeted\": true}");
}

int main(int argc, char **argv)
{
    struct ff_client *client = NULL;
    struct ff_error err;

    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (ff_open(argc > 1 ? argv[1] : "sqlite:flowfabric.db", NULL, &client, &err) ||
        ff_worker_new(client, NULL, &worker, &err) ||
        ff_worker_handle(worker, "greet", greet, "hello", &err) || ff_worker_run(worker, &err))
        return fprintf(stderr, "worker: %s\n", err.message), 1;
    ff_worker_free(worker);
    return (int)ff_close(client, 5000);
}
