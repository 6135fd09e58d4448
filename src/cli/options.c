/* SPDX-License-Identifier: Apache-2.0
 *
 * options.c -- the table of verbs: what each takes, says and runs.
 *
 * Tests: tests/unit/test_cli.c. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"

#include "base/banned.h"

const struct ff_option ff_options[FF_OPT_COUNT] = {
#define OPTION(NAME, name, argument, environment, help)                                            \
    [FF_OPT_##NAME] = {name, argument, environment, help},
#include "cli/options.def"
};

const ff_opt ff_common_options[] = {FF_OPT_STORE, FF_OPT_SERVER, FF_OPT_JSON, FF_OPT_HELP,
                                    FF_OPT_COUNT};

#define FILTER_OPTIONS                                                                             \
    FF_OPT_IN_NAMESPACE, FF_OPT_IN_LANE, FF_OPT_OF_KIND, FF_OPT_STATE, FF_OPT_FLOW, FF_OPT_WORKER, \
        FF_OPT_WITH_TAG, FF_OPT_AFTER, FF_OPT_BEFORE

static const ff_opt serve_takes[] = {
    FF_OPT_LISTEN,     FF_OPT_TOKEN_FILE,  FF_OPT_TLS_CERT,  FF_OPT_TLS_KEY,    FF_OPT_HOST,
    FF_OPT_LOG,        FF_OPT_LOG_LEVEL,   FF_OPT_GRACE,     FF_OPT_BODY_MAX,   FF_OPT_CONN_MAX,
    FF_OPT_BODIES_MAX, FF_OPT_SSE_COMMENT, FF_OPT_RETENTION, FF_OPT_EVENT_KEEP, FF_OPT_EVENT_COUNT,
    FF_OPT_RENEWALS,   FF_OPT_INSTANCE_BY, FF_OPT_INPUT_MAX, FF_OPT_RESULT_MAX, FF_OPT_NODES_MAX,
    FF_OPT_EDGES_MAX,  FF_OPT_MIGRATE,     FF_OPT_CONFIG,    FF_OPT_COUNT};
static const ff_opt submit_takes[] = {
    FF_OPT_KIND,     FF_OPT_LANE,        FF_OPT_NAMESPACE, FF_OPT_INPUT, FF_OPT_PRIORITY,
    FF_OPT_TAG,      FF_OPT_KEY,         FF_OPT_ID,        FF_OPT_DELAY, FF_OPT_DELAY_UNTIL,
    FF_OPT_DEADLINE, FF_OPT_DEADLINE_AT, FF_OPT_POLICY,    FF_OPT_BULK,  FF_OPT_CAPABILITY,
    FF_OPT_WAIT,     FF_OPT_WAIT_MS,     FF_OPT_COUNT};
static const ff_opt ls_takes[] = {FILTER_OPTIONS, FF_OPT_LIMIT, FF_OPT_CURSOR, FF_OPT_COUNT};
static const ff_opt show_takes[] = {FF_OPT_ATTEMPTS, FF_OPT_EVENTS, FF_OPT_RESULT,  FF_OPT_LIMIT,
                                    FF_OPT_CURSOR,   FF_OPT_WAIT,   FF_OPT_WAIT_MS, FF_OPT_COUNT};
static const ff_opt events_takes[] = {FF_OPT_FOLLOW,       FF_OPT_AFTER_EVENT,  FF_OPT_KINDS,
                                      FF_OPT_IN_NAMESPACE, FF_OPT_INSTANCE_TAG, FF_OPT_PARTITION,
                                      FF_OPT_EVENT_FLOW,   FF_OPT_EXECUTION,    FF_OPT_EVENT_LIMIT,
                                      FF_OPT_COUNT};
static const ff_opt cancel_takes[] = {FF_OPT_REASON, FILTER_OPTIONS, FF_OPT_ALL, FF_OPT_COUNT};
static const ff_opt replay_takes[] = {FF_OPT_REASON,     FF_OPT_INPUT, FF_OPT_DEADLINE,
                                      FF_OPT_GENERATION, FF_OPT_SCOPE, FF_OPT_DOWNSTREAM,
                                      FILTER_OPTIONS,    FF_OPT_ALL,   FF_OPT_COUNT};
static const ff_opt flow_create_takes[] = {FF_OPT_FLOW_KEY, FF_OPT_NAMESPACE, FF_OPT_COUNT};
static const ff_opt flow_grow_takes[] = {FF_OPT_REVISION, FF_OPT_COUNT};
static const ff_opt flow_show_takes[] = {FF_OPT_DOT, FF_OPT_EVERY, FF_OPT_WAIT, FF_OPT_WAIT_MS,
                                         FF_OPT_COUNT};
static const ff_opt flow_ls_takes[] = {FF_OPT_IN_NAMESPACE, FF_OPT_OF_KIND, FF_OPT_FLOW_STATE,
                                       FF_OPT_LIMIT,        FF_OPT_CURSOR,  FF_OPT_COUNT};
static const ff_opt flow_cancel_takes[] = {FF_OPT_CANCEL_POLICY, FF_OPT_REASON, FF_OPT_COUNT};
static const ff_opt lanes_takes[] = {FF_OPT_REASON, FF_OPT_COUNT};
static const ff_opt bench_takes[] = {FF_OPT_COUNT_OF, FF_OPT_COUNT};
static const ff_opt gc_takes[] = {FF_OPT_OLDER, FF_OPT_COUNT};
static const ff_opt migrate_takes[] = {FF_OPT_DRY_RUN, FF_OPT_RESTORED, FF_OPT_COUNT};
static const ff_opt worker_takes[] = {FF_OPT_TAKE_LANE, FF_OPT_TAKE_KIND,   FF_OPT_IN_NAMESPACE,
                                      FF_OPT_OFFER,     FF_OPT_CONCURRENCY, FF_OPT_AHEAD,
                                      FF_OPT_LEASE_TTL, FF_OPT_GRACE,       FF_OPT_KILL_AFTER,
                                      FF_OPT_WORKER_ID, FF_OPT_RESULT_MAX,  FF_OPT_COUNT};
static const ff_opt help_takes[] = {FF_OPT_MAN, FF_OPT_COMPLETION, FF_OPT_COUNT};
static const ff_opt nothing[] = {FF_OPT_COUNT};

const struct ff_verb ff_verbs[] = {
    {"serve", "", 0, 0, "run the server: HTTP, timers and scanners on a store",
     "Prints where it listens. Without a token it listens on loopback only. Tokens come from "
     "--token-file, or from FF_TOKEN: one token that may do everything. A line of the file is NAME "
     "TOKEN SCOPES [NAMESPACES]; scopes are read, submit, work and admin, lists are joined by "
     "commas, the first namespace is the default. Every option is also an environment variable "
     "(--tls-cert is FF_TLS_CERT) and a line of the file that --config names (tls-cert = FILE). "
     "SIGTERM and SIGINT let requests finish; leases stay valid.",
     serve_takes, ff_run_serve},
    {"submit", "", 0, 0, "hand in an execution, or many",
     "Prints the id. With --bulk each item is an object as in the HTTP API (kind, lane, input, "
     "tags, policy, ...); one bad item never fails the others. The same --key or --id again gives "
     "the same execution, not a second one. With --wait the state at its end is printed, too, and "
     "the exit status is 0 if it (or all of --bulk) completed and 1 if it ended in another way. A "
     "terminal shows how far it is.",
     submit_takes, ff_run_submit},
    {"ls", "", 0, 0, "list executions, newest first",
     "Filters may be combined. No match is an empty table, exit status 0.", ls_takes, ff_run_ls},
    {"show", "ID", 1, 1, "show one execution: state, lease, attempts, history",
     "The ID may be canonical, fp:N:<uuid>, a bare uuid, or a unique beginning of one. --attempts, "
     "--events and --result show only that part. With --wait the exit status says how it ended: 0 "
     "completed, 1 in another way.",
     show_takes, ff_run_show},
    {"explain", "ID", 1, 1, "say why an execution is not running, or who runs it",
     "Lists every reason: delay, back-off, paused lane, missing worker or capability, lease, "
     "outcome.",
     nothing, ff_run_explain},
    {"events", "", 0, 0, "print the event log, or follow it",
     "One line per event, with --json one object per line. Without --follow everything behind "
     "--after (from the start) up to now; with --follow what comes from now on, or from --after "
     "on; each event exactly once. Whoever keeps the last cursor can go on there.",
     events_takes, ff_run_events},
    {"cancel", "[ID...]", 0, 64, "end executions, whatever they are doing",
     "Without an ID all living executions that match the filter are cancelled, up to 10,000 in one "
     "call; --all stands for no filter.",
     cancel_takes, ff_run_cancel},
    {"replay", "[ID...]", 0, 64, "run ended executions again",
     "Each becomes a new generation of the same execution. --input, --deadline-ms and --generation "
     "need exactly one ID. In a flow, nodes that were skipped because of it wait for it again. "
     "Without an ID all ended executions that match the filter are replayed, "
     "up to 10,000 in one call; --all stands for no filter.",
     replay_takes, ff_run_replay},
    {"flow create", "FILE", 1, 1, "make a flow: a graph of executions",
     "FILE holds one JSON object as in the HTTP API: kind, namespace, tags, nodes and edges; - is "
     "standard input. The whole graph is made or nothing. Prints the flow's id. The same --key "
     "again gives the same flow.",
     flow_create_takes, ff_run_flow_create},
    {"flow grow", "ID FILE", 2, 2, "add nodes and edges to a flow that has not ended",
     "Edges start at any node of the flow, ended ones too, and end at nodes of this call. The same "
     "again changes nothing.",
     flow_grow_takes, ff_run_flow_grow},
    {"flow show", "ID", 1, 1, "draw a flow: its graph and what became of each node",
     "Equal nodes side by side and long rows of nodes in one state are drawn as one; a graph with "
     "too many lanes becomes a table. At most 60 lines unless --all is given. A node is an "
     "execution: 'ff show ID/NODE' and 'ff explain ID/NODE' tell more about it. With --wait the "
     "exit "
     "status says how the flow ended: 0 completed, 1 in another way.",
     flow_show_takes, ff_run_flow_show},
    {"flow ls", "", 0, 0, "list flows, newest first", "No match is an empty table, exit status 0.",
     flow_ls_takes, ff_run_flow_ls},
    {"flow cancel", "ID", 1, 1, "cancel a flow, for good",
     "The flow is cancelled at once, its nodes follow. A second call may name a stronger policy; "
     "from weak to strong: cancel_flow_only, cancel_pending, cancel_all.",
     flow_cancel_takes, ff_run_flow_cancel},
    {"lanes", "[pause|resume LANE]", 0, 2, "show lanes and their depth; pause or resume one",
     "A paused lane hands out no work; what is running goes on.", lanes_takes, ff_run_lanes},
    {"workers", "", 0, 0, "show the workers that have claimed",
     "A worker is live until the time it announced with its last claim has passed.", nothing,
     ff_run_workers},
    {"worker", "-- CMD [ARG...]", 1, 64, "run a command for every task",
     "The input comes on standard input; standard output becomes the result (JSON if it is JSON), "
     "exit status 0 completes the task. Another status fails it with what was written to standard "
     "error, and 65 fails it for good. FF_EXECUTION_ID, FF_LEASE_EPOCH, FF_ATTEMPT_INDEX, FF_KIND, "
     "FF_NODE, FF_UPSTREAM and others are in its environment. Leases are renewed while it runs; "
     "when one is lost or the execution is cancelled, its process group gets SIGTERM and later "
     "SIGKILL. SIGTERM and SIGINT let commands finish and give back what has not begun.",
     worker_takes, ff_run_worker},
    {"fsck", "", 0, 0, "audit the store",
     "Checks every invariant that the tables show. Reads only, safe on a live system. Of a check "
     "that finds more than 100 the first 100 are told, and that there are more ('more' in JSON). "
     "Exit status 1 when something is wrong.",
     nothing, ff_run_fsck},
    {"doctor", "", 0, 0,
     "look at the store: settings, pooler, clocks, speed; and say what to change",
     "Reads only. Exit status 1 when there is something to change.", nothing, ff_run_doctor},
    {"bench", "", 0, 0, "measure how fast a store or a server is, here and now",
     "Submits --count executions, takes and completes them, then some one at a time, as one caller "
     "would. They are ordinary executions in the lane 'ff-bench', all done at the end, and go with "
     "the retention.",
     bench_takes, ff_run_bench},
    {"gc", "", 0, 0, "remove what ended long ago, now",
     "A server does the same by itself, about once a minute. Prints how many executions and flows "
     "went.",
     gc_takes, ff_run_gc},
    {"migrate", "", 0, 0, "bring the schema of the store up to date",
     "Prints the schema number before and after. --restored says that the store is an older copy "
     "of "
     "what it was: no event id is given out twice, and followers hear of it.",
     migrate_takes, ff_run_migrate},
    {"version", "", 0, 0, "print the version", "", nothing, ff_run_version},
    {"help", "[VERB]", 0, 2, "say how to use ff, or one verb",
     "--man prints the manual page, --completion a completion script: source <(ff help "
     "--completion). In zsh say autoload -U bashcompinit && bashcompinit first.",
     help_takes, ff_run_help},
};
const size_t ff_verb_count = sizeof ff_verbs / sizeof ff_verbs[0];

bool ff_verb_repeats(const struct ff_verb *verb, ff_opt opt)
{
    static const struct {
        int (*run)(struct ff_cli *cli);
        ff_opt opt;
    } lists[] = {{ff_run_submit, FF_OPT_TAG},
                 {ff_run_submit, FF_OPT_CAPABILITY},
                 {ff_run_worker, FF_OPT_TAKE_LANE},
                 {ff_run_worker, FF_OPT_TAKE_KIND},
                 {ff_run_worker, FF_OPT_OFFER}};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (verb->run == lists[i].run && opt == lists[i].opt)
            return true;
    }
    return false;
}

const struct ff_verb *ff_verb_named(const char *name)
{
    for (size_t i = 0; i < ff_verb_count; i++) {
        if (strcmp(ff_verbs[i].name, name) == 0)
            return &ff_verbs[i];
    }
    return NULL;
}

const struct ff_verb *ff_verb_of(const char *noun, const char *word)
{
    char name[64];

    if (!noun)
        return ff_verb_named(word);
    (void)snprintf(name, sizeof name, "%s %s", noun, word);
    return ff_verb_named(name);
}

bool ff_verb_is_of(const struct ff_verb *verb, const char *noun)
{
    const size_t len = strlen(noun);

    return strncmp(verb->name, noun, len) == 0 && verb->name[len] == ' ';
}

bool ff_is_noun(const char *word)
{
    for (size_t i = 0; i < ff_verb_count; i++) {
        if (ff_verb_is_of(&ff_verbs[i], word))
            return true;
    }
    return false;
}
