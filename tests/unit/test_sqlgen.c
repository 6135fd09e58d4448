/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sqlgen.c -- what tools/sqlgen makes of good blocks, and that every refusal can happen.
 *
 * Runs the program on small trees in a temp dir. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"

/* One tree: where it is, and what the last run said. */
struct tree {
    char dir[64];
    char said[4096]; /* stderr */
    char out[1 << 19];
};

static const char migration[] = "-- migration: 1 first\n-- oldest binary: 1\nSELECT {{legal}};\n";

static void path_of(char path[256], const struct tree *tree, const char *name)
{
    assert_true(snprintf(path, 256, "%s/%s", tree->dir, name) < 256);
}

static void put(const struct tree *tree, const char *name, const char *text)
{
    char path[256];

    path_of(path, tree, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(strlen(text), fwrite(text, 1, strlen(text), file));
    assert_int_equal(0, fclose(file));
}

static void take(const struct tree *tree, const char *name, char *ret, size_t room)
{
    char path[256];

    path_of(path, tree, name);
    FILE *file = fopen(path, "rb");
    size_t len = file ? fread(ret, 1, room - 1, file) : 0;

    ret[len] = '\0';
    if (file)
        fclose(file);
}

static int setup(void **state)
{
    static const char *const dirs[] = {"sql", "migrations", "out"};
    struct tree *tree = calloc(1, sizeof *tree);
    char path[256];

    assert_non_null(tree);
    (void)snprintf(tree->dir, sizeof tree->dir, "/tmp/ff-sqlgen.XXXXXX");
    assert_non_null(mkdtemp(tree->dir));
    for (size_t i = 0; i < FF_ARRAY_LEN(dirs); i++) {
        path_of(path, tree, dirs[i]);
        assert_int_equal(0, mkdir(path, 0700));
    }
    put(tree, "migrations/0001_first.sqlite.sql", migration);
    put(tree, "migrations/0001_first.postgres.sql", migration);
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"sql/a.sql",
                                        "sql/b.sql",
                                        "migrations/0001_first.sqlite.sql",
                                        "migrations/0001_first.postgres.sql",
                                        "migrations/0003_third.sqlite.sql",
                                        "migrations/0003_third.postgres.sql",
                                        "out/sql_ids.h",
                                        "out/sql_gen.h",
                                        "out/sql_gen.c",
                                        "said"};
    static const char *const dirs[] = {"sql", "migrations", "out"};
    struct tree *tree = *state;
    char path[256];

    for (size_t i = 0; i < FF_ARRAY_LEN(names); i++) {
        path_of(path, tree, names[i]);
        (void)unlink(path);
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(dirs); i++) {
        path_of(path, tree, dirs[i]);
        (void)rmdir(path);
    }
    (void)rmdir(tree->dir);
    free(tree);
    return 0;
}

/* Exit status of sqlgen on the tree; `said` and `out` are filled. */
static int run(struct tree *tree)
{
    char self[512], out[256], said[256];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 32);
    int status;

    assert_true(len > 0);
    self[len] = '\0';
    /* build/<preset>/tests/unit/test_sqlgen -> build/<preset>/sqlgen */
    for (int i = 0; i < 3; i++)
        *strrchr(self, '/') = '\0';
    (void)snprintf(self + strlen(self), 32, "/sqlgen");
    path_of(out, tree, "out");
    path_of(said, tree, "said");
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen(said, "wb", stderr))
            _exit(126);
        execl(self, "sqlgen", tree->dir, out, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    take(tree, "said", tree->said, sizeof tree->said);
    take(tree, "out/sql_gen.c", tree->out, sizeof tree->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

/* The generator writes long texts over several lines: join them before looking. */
static void assert_made(struct tree *tree, const char *part)
{
    char *to = tree->out;

    for (const char *from = tree->out; *from; from++) {
        if (!strncmp(from, "\"\n                \"", 19))
            from += 18;
        else
            *to++ = *from;
    }
    *to = '\0';
    assert_contains(tree->out, part);
}

static void refused(void **state, const char *sql, const char *why)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql", sql);
    assert_int_equal(1, run(tree));
    assert_contains(tree->said, why);
    assert_string_equal("", tree->out); /* nothing written */
}

/* --- what it makes --- */

static void test_sqlgen__a_block_becomes_both_dialects(void **state)
{
    struct tree *tree = *state;
    static char ids[1 << 14];

    put(tree, "sql/a.sql",
        "-- A banner.\n"
        "-- name: pick\n"
        "-- in:   lane:text kinds:text[]? sets:i64[] at:i16 limit:i64\n"
        "-- out:  row:lane\n"
        "-- note: Why it is so.\n"
        "SELECT {{lane.columns}} -- not a ':param'\n"
        "  FROM ff_lane {{by_index:ff_lane_x}} WHERE lane = :lane AND reason <> 'it''s :none "
        "{{of}} these'\n"
        "   AND (:kinds IS NULL OR reason {{any:kinds}}) AND paused {{any:sets}}\n"
        "   AND paused = :at AND changed_at_ms <= {{now_ms}}\n"
        " ORDER BY lane LIMIT :limit {{lock_skip}};\n");
    assert_int_equal(0, run(tree));
    assert_string_equal("", tree->said);
    assert_made(tree, "SELECT lane, paused, reason, changed_at_ms FROM ff_lane INDEXED BY "
                      "ff_lane_x WHERE lane = ?1 AND reason <> 'it''s :none {{of}} these' AND "
                      "(?2 IS NULL OR reason IN (SELECT value FROM json_each(?2))) AND paused IN "
                      "(SELECT value FROM json_each(?3)) "
                      "AND paused = ?4 AND changed_at_ms <= ff_now_ms() ORDER BY lane LIMIT ?5\"");
    assert_contains(tree->out, "lane = $1::text AND reason");
    assert_contains(tree->out, "($2::text[] IS NULL OR reason = ANY($2::text[]))");
    assert_contains(tree->out, "paused = ANY($3::int8[]) AND paused = $4::int2");
    assert_contains(tree->out, "statement_timestamp()");
    assert_contains(tree->out, "LIMIT $5::int8 FOR UPDATE SKIP LOCKED\"");
    assert_contains(tree->out, ".limit_param = 4,");
    assert_contains(tree->out, ".out_table = FF_TABLE_LANE,");
    assert_contains(tree->out, ".locks = true,");
    take(tree, "out/sql_ids.h", ids, sizeof ids);
    assert_contains(ids, "#define FF_SQL_PICK_PARAMS 5");
    assert_contains(ids, "struct ff_in_pick {\n    struct ff_str lane;\n"
                         "    const struct ff_str *kinds; /* may be null */\n"
                         "    size_t kinds_count;\n");
}

static void test_sqlgen__uuids_are_an_array_of_their_own(void **state)
{
    struct tree *tree = *state;
    static char ids[1 << 14];

    put(tree, "sql/a.sql",
        "-- name: pick\n-- in: ids:uuid[] others:uuid[]?\n-- out: cells n:i64\n"
        "-- postgres:\n-- It has arrays.\nSELECT cardinality(:ids) + cardinality(:others);\n"
        "-- sqlite:\n-- It has bytes.\nSELECT length(:ids) + length(:others);\n");
    assert_int_equal(0, run(tree));
    assert_string_equal("", tree->said);
    assert_made(tree, "\"SELECT cardinality($1::uuid[]) + cardinality($2::uuid[])\"");
    assert_contains(tree->out, "\"SELECT length(?1) + length(?2)\"");
    assert_contains(tree->out, "{\"ids\", FF_VALUE_UUIDS, FF_TYPE_UUID}");
    take(tree, "out/sql_ids.h", ids, sizeof ids);
    assert_contains(ids, "    const struct ff_uuid *ids;\n    size_t ids_count;\n"
                         "    const struct ff_uuid *others; /* may be null */\n");
    assert_contains(ids, ".type = FF_VALUE_UUIDS, .count = in->ids_count, .as.uuids = in->ids}");
    assert_contains(ids, ".type = in->others ? FF_VALUE_UUIDS : FF_VALUE_NULL");
}

static void test_sqlgen__an_override_is_for_one_dialect(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql",
        "-- name: one\n-- out: cells n:i64\nSELECT 1;\n"
        "-- sqlite:\n-- Because.\nSELECT 2;\n"
        "-- name: two\n-- out: cells n:i64\n"
        "-- postgres:\n-- SQLite has none.\nSELECT 3;\n");
    assert_int_equal(0, run(tree));
    assert_made(tree, "[FF_DIALECT_SQLITE] =\n                \"SELECT 2\"");
    assert_contains(tree->out, "[FF_DIALECT_POSTGRES] =\n                \"SELECT 1\"");
    assert_contains(tree->out, "[FF_DIALECT_SQLITE] =\n                NULL");
    assert_contains(tree->out, "\"SELECT 3\"");
}

static void test_sqlgen__blocks_share_a_fragment_of_ours(void **state)
{
    struct tree *tree = *state;
    static char ids[1 << 14];

    put(tree, "sql/a.sql",
        "-- name: one\n-- in: a:i64[]\n-- out: cells n:i64\n"
        "SELECT 1 WHERE {{shared}};\n");
    put(tree, "sql/b.sql",
        "-- fragment: shared\n-- note: Why.\n1 <> 2\n   AND 3 {{any:a}};\n"
        "-- name: two\n-- in: b:i64 a:i64[]\n-- out: cells n:i64\n"
        "SELECT :b WHERE ({{shared}}) OR {{shared}};\n"
        "-- postgres:\n-- It can.\nSELECT :b + 1 WHERE {{shared}};\n");
    assert_int_equal(0, run(tree));
    assert_string_equal("", tree->said);
    assert_made(tree, "\"SELECT 1 WHERE 1 <> 2 AND 3 = ANY($1::int8[])\"");
    assert_contains(tree->out,
                    "\"SELECT 1 WHERE 1 <> 2 AND 3 IN (SELECT value FROM json_each(?1))\"");
    assert_contains(tree->out,
                    "\"SELECT ?1 WHERE (1 <> 2 AND 3 IN (SELECT value FROM json_each(?2)))"
                    " OR 1 <> 2 AND 3 IN (SELECT value FROM json_each(?2))\"");
    assert_contains(tree->out, "\"SELECT $1::int8 + 1 WHERE 1 <> 2 AND 3 = ANY($2::int8[])\"");
    take(tree, "out/sql_ids.h", ids, sizeof ids);
    assert_null(strstr(ids, "SHARED"));
}

static void test_sqlgen__states_and_events_come_from_their_lists(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql",
        "-- name: one\n-- out: cells n:i64\n"
        "SELECT 1 FROM ff_execution e WHERE {{claimable:e}} OR {{terminal}}\n"
        " OR {{begun}} OR {{begun:e}}\n"
        " OR e.state = {{state:ACTIVE}} OR e.state IN ({{states:ACTIVE,RECLAIMABLE}})\n"
        " OR e.state IN ({{public:delayed}}) OR 1 = {{event:completion}} OR 2 = "
        "{{event:lease.expired}}\n"
        " OR {{event_case:log:e.kind}} = 'reset' OR {{public_case:e.state}} = 'waiting';\n");
    assert_int_equal(0, run(tree));
    assert_made(tree, "e.state <= 19 OR state >= 90");
    assert_contains(tree->out, "OR (started_at_ms IS NOT NULL OR finished_at_ms IS NOT NULL) OR "
                               "(e.started_at_ms IS NOT NULL OR e.finished_at_ms IS NOT NULL)");
    assert_contains(tree->out, "e.state = 50 OR e.state IN (50, 19) OR e.state IN (20, 21, 22)");
    assert_contains(tree->out, "OR 1 = 1 OR 2 = 3 OR CASE e.kind WHEN 1 THEN 'reset' END");
    assert_contains(tree->out, "CASE e.state WHEN 10 THEN 'waiting' WHEN 11");
}

static void test_sqlgen__audits_are_listed_with_their_notes(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql",
        "-- name: other\n-- out: cells n:i64\nSELECT 1;\n"
        "-- name: fsck_one\n-- out: cells n:i64\n-- note: Nothing is \"lost\",\n--       ever.\n"
        "SELECT 1;\n");
    assert_int_equal(0, run(tree));
    assert_contains(tree->out,
                    "{FF_SQL_FSCK_ONE,\n                \"Nothing is \\\"lost\\\", ever.\"}");
    assert_contains(tree->out, "ff_sql_audit_count = 1;");
}

static void test_sqlgen__tables_have_their_statements(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql", "-- name: one\n-- out: cells n:i64\nSELECT 1;\n");
    assert_int_equal(0, run(tree));
    assert_made(tree, "SELECT t.partition_key, t.execution_id, t.name, t.value FROM ff_tag t JOIN "
                      "unnest($1::int2[], $2::uuid[], $3::text[]) AS k(partition_key, "
                      "execution_id, name) ON t.partition_key = k.partition_key AND "
                      "t.execution_id = k.execution_id AND t.name = k.name FOR UPDATE OF t SKIP "
                      "LOCKED\"");
    assert_contains(tree->out, "UPDATE ff_tag SET value = ?4 WHERE partition_key = ?1 AND "
                               "execution_id = ?2 AND name = ?3\"");
    assert_contains(tree->out, "DELETE FROM ff_tag t USING unnest($1::int2[], $2::uuid[]) AS "
                               "k(partition_key, execution_id) WHERE");
    assert_contains(tree->out, "SELECT nextval('ff_event_id_seq'), u.kind");
}

static void test_sqlgen__a_lone_row_needs_no_arrays(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql", "-- name: one\n-- out: cells n:i64\nSELECT 1;\n");
    assert_int_equal(0, run(tree));
    assert_made(tree, "SELECT partition_key, execution_id, name, value FROM ff_tag t WHERE "
                      "partition_key = $1::int2 AND execution_id = $2::uuid AND name = $3::text "
                      "FOR UPDATE OF t SKIP LOCKED\"");
    assert_contains(tree->out,
                    "WITH hit AS (UPDATE ff_tag SET value = $4::text WHERE partition_key = "
                    "$1::int2 AND execution_id = $2::uuid AND name = $3::text RETURNING 1) "
                    "SELECT 1 / (count(*) = 1)::int FROM hit\"");
    assert_contains(tree->out, "VALUES (nextval('ff_event_id_seq'), $1::int2");
}

/* Claims and completions change no warm column, so their update names none. */
static void test_sqlgen__an_update_names_warm_columns_only_to_rewrite(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/a.sql", "-- name: one\n-- out: cells n:i64\nSELECT 1;\n");
    assert_int_equal(0, run(tree));
    assert_made(tree, "UPDATE ff_execution SET state = ?3, due_at_ms = ?4, version = ?5");
    assert_contains(tree->out, "UPDATE ff_execution SET state = ?3, priority = ?4, flags = ?5");
}

static void test_sqlgen__what_has_not_changed_is_not_written(void **state)
{
    struct tree *tree = *state;
    struct stat before, after;
    char path[256];

    put(tree, "sql/a.sql", "-- name: one\n-- out: cells n:i64\nSELECT 1;\n");
    path_of(path, tree, "out/sql_gen.c");
    assert_int_equal(0, run(tree));
    assert_int_equal(0, stat(path, &before));
    assert_int_equal(0, run(tree));
    assert_int_equal(0, stat(path, &after));
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
}

/* --- what it refuses --- */

#define BLOCK "-- name: one\n"
#define CELLS "-- out: cells n:i64\n"

static void test_sqlgen__inputs_are_those_used(void **state)
{
    refused(state, BLOCK "-- in: a:i64\n" CELLS "SELECT 1;\n", "a.sql:1: 'one' declares ':a'");
    refused(state, BLOCK CELLS "SELECT 1\n + :b;\n", "a.sql:4: ':b' is not declared");
    refused(state, BLOCK "-- in: a:i64\n" CELLS "SELECT 1 WHERE 1 {{any:a}};\n", "not an array");
    refused(state, BLOCK "-- in: a:uuid[]\n" CELLS "SELECT 1 WHERE 1 {{any:a}};\n", "as one blob");
    refused(state, BLOCK "-- in: a:blob[]\n" CELLS "SELECT :a;\n", "a.sql:2: 'a:blob[]' is not");
    refused(state, BLOCK "-- in: a:i64 a:text\n" CELLS "SELECT :a;\n", "declared twice");
    refused(state, BLOCK "-- in: a:float\n" CELLS "SELECT 1;\n", "a.sql:2: 'a:float' is not");
    refused(state, BLOCK "-- in: a:i64\n" CELLS "SELECT :a;\n-- sqlite:\n-- Why.\nSELECT 1;\n",
            "declares ':a'");
}

static void test_sqlgen__fragments_and_states_are_known(void **state)
{
    refused(state, BLOCK CELLS "SELECT {{nothing}};\n", "a.sql:3: unknown fragment '{{nothing}}'");
    refused(state, BLOCK CELLS "SELECT {{nobody.columns}};\n", "unknown fragment");
    refused(state, BLOCK CELLS "SELECT {{state:GONE}};\n", "a.sql:3: no state 'GONE'");
    refused(state, BLOCK CELLS "SELECT {{states:ACTIVE,GONE}};\n", "no state 'GONE'");
    refused(state, BLOCK CELLS "SELECT {{public:gone}};\n", "public name 'gone'");
    refused(state, BLOCK CELLS "SELECT {{event:lease.gone}};\n", "no event 'lease.gone'");
    refused(state, BLOCK CELLS "SELECT {{event_case:gone:x}};\n", "no event kind");
    refused(state, BLOCK CELLS "SELECT {{code:GONE}};\n", "no code 'GONE'");
}

static void test_sqlgen__a_fragment_of_ours_hides_nothing(void **state)
{
#define FRAGMENT "-- fragment: f\n"
#define USES     BLOCK CELLS "SELECT 1\n WHERE {{f}};\n"
    refused(state, FRAGMENT "1;\n" BLOCK CELLS "SELECT 1;\n", "a.sql:1: fragment 'f' is not used");
    refused(state, USES FRAGMENT "state = 50;\n", "a.sql:4: a state is written");
    refused(state, USES FRAGMENT "1 = :b;\n", "a.sql:4: ':b' is not declared");
    refused(state, USES FRAGMENT "1; SELECT 2;\n", "a.sql:4: a block is one statement");
    refused(state, USES FRAGMENT "{{f}};\n", "unknown fragment '{{f}}'");
    refused(state, USES FRAGMENT, "fragment 'f' needs one text");
    refused(state, USES FRAGMENT "1;\n-- sqlite:\n-- Why.\n2;\n", "fragment 'f' needs one text");
    refused(state, USES FRAGMENT "-- out: none\n1;\n", "only a note and a text");
    refused(state, USES FRAGMENT "1;\n" FRAGMENT "2;\n", "block 'f' is also at");
}

static void test_sqlgen__a_state_is_never_a_number(void **state)
{
    static const char why[] = "never as a number";

    refused(state, BLOCK CELLS "SELECT 1\n WHERE state = 50;\n", "a.sql:4: a state is written");
    refused(state, BLOCK CELLS "SELECT 1 WHERE e.state IN (10, 11);\n", why);
    refused(state, BLOCK CELLS "SELECT 1 WHERE state NOT IN ( 10);\n", why);
    refused(state, BLOCK CELLS "SELECT 1 WHERE state < 90;\n", why);
    refused(state, BLOCK CELLS "SELECT 1 WHERE state BETWEEN 10 AND 20;\n", why);
    refused(state, BLOCK CELLS "SELECT 1 WHERE 50 = state;\n", why);
}

static void test_sqlgen__a_name_is_used_once(void **state)
{
    struct tree *tree = *state;

    put(tree, "sql/b.sql", "-- name: one\n-- out: cells n:i64\nSELECT 1;\n");
    refused(state, BLOCK CELLS "SELECT 1;\n", "b.sql:1: block 'one' is also at");
    refused(state, "-- name: One\n" CELLS "SELECT 1;\n", "is not a block name");
}

static void test_sqlgen__a_lock_is_on_one_table(void **state)
{
    static const char head[] = "-- name: one\n-- in: limit:i64\n-- out: row:lane\n";
    static const char *const bad[][2] = {
        {"SELECT {{lane.columns}} FROM ff_lane JOIN ff_meta ON 1=1 LIMIT :limit {{lock_skip}};",
         "a.sql:4: a locking block has no JOIN"},
        {"SELECT {{lane.columns}} FROM ff_lane, ff_meta LIMIT :limit {{lock_skip}};",
         "more than one table"},
        {"SELECT {{lane.columns:l}} FROM ff_lane l, ff_meta m LIMIT :limit {{lock_skip}};",
         "more than one table"},
        {"SELECT {{lane.columns}} FROM ff_lane WHERE lane IN (SELECT name FROM ff_meta) LIMIT "
         ":limit {{lock_skip}};",
         "has a subquery"},
        {"SELECT {{lane.columns}} FROM ff_lane LIMIT :limit FOR UPDATE;", "by {{lock_skip}} only"},
        {"SELECT {{lane.columns}} FROM ff_lane LIMIT :limit FOR NO KEY UPDATE;",
         "by {{lock_skip}} only"},
        {"SELECT {{lane.columns}} FROM ff_lane LIMIT :limit FOR SHARE;", "by {{lock_skip}} only"},
    };
    char sql[1024];

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++) {
        (void)snprintf(sql, sizeof sql, "%s%s\n", head, bad[i][0]);
        refused(state, sql, bad[i][1]);
    }
    refused(state, BLOCK "-- out: row:lane\nSELECT {{lane.columns}} FROM ff_lane {{lock_skip}};\n",
            "has no ':limit'");
}

static void test_sqlgen__a_block_that_writes_says_so(void **state)
{
    refused(state, BLOCK "-- out: none\nDELETE FROM ff_meta;\n", "not marked '-- writes'");
    refused(state, BLOCK "-- out: none\nUPDATE ff_meta SET value = 'x';\n", "not marked");
    refused(state, BLOCK "-- writes\n" CELLS "SELECT 1;\n", "changes nothing");
    refused(state,
            BLOCK "-- writes\n-- out: none\nINSERT INTO ff_meta VALUES ('a', 'b') ON CONFLICT "
                  "DO NOTHING;\n",
            "no ON CONFLICT");
}

static void test_sqlgen__an_override_says_why(void **state)
{
    refused(state, BLOCK CELLS "SELECT 1;\n-- sqlite:\nSELECT 2;\n",
            "a.sql:5: an override starts with a comment");
}

static void test_sqlgen__the_form_is_kept(void **state)
{
    refused(state, "SELECT 1;\n", "a.sql:1: SQL outside of a block");
    refused(state, BLOCK "SELECT 1;\n", "has no '-- out:'");
    refused(state, BLOCK "-- out: rows\nSELECT 1;\n", "a.sql:2: out is");
    refused(state, BLOCK "-- out: row:nobody\nSELECT 1;\n", "no row 'nobody'");
    refused(state, BLOCK "-- out: row:lane\nSELECT 1;\n", "without {{lane.columns}}");
    refused(state, BLOCK "-- outt: none\n" CELLS "SELECT 1;\n", "unknown header key 'outt'");
    refused(state, BLOCK CELLS, "'one' has no SQL");
    refused(state, BLOCK CELLS "SELECT 1; SELECT 2;\n", "one statement");
    refused(state, BLOCK CELLS "SELECT 'open;\n", "a.sql:3: a quote or brace is never closed");
    refused(state, "-- nothing\n", "holds no block");
}

static void test_sqlgen__migrations_are_in_pairs_and_in_order(void **state)
{
    static const char good[] = BLOCK CELLS "SELECT 1;\n";
    struct tree *tree = *state;

    put(tree, "migrations/0001_first.postgres.sql",
        "-- migration: 1 other\n-- oldest binary: 1\nSELECT 1;\n");
    refused(state, good, "its header differs");
    put(tree, "migrations/0001_first.postgres.sql", "SELECT 1;\n");
    refused(state, good, "needs '-- migration:");
    put(tree, "migrations/0001_first.postgres.sql", migration);
    put(tree, "migrations/0003_third.postgres.sql", migration);
    refused(state, good, "a file per dialect");
    put(tree, "migrations/0003_third.sqlite.sql", migration);
    refused(state, good, "the next migration is number 0002_");
    put(tree, "migrations/0001_first.sqlite.sql",
        "-- migration: 1 first\n-- oldest binary: 1\nSELECT 1 WHERE state = 50;\n");
    refused(state, good, "never as a number");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_sqlgen__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_block_becomes_both_dialects),
        TEST(uuids_are_an_array_of_their_own),
        TEST(an_override_is_for_one_dialect),
        TEST(blocks_share_a_fragment_of_ours),
        TEST(states_and_events_come_from_their_lists),
        TEST(audits_are_listed_with_their_notes),
        TEST(tables_have_their_statements),
        TEST(a_lone_row_needs_no_arrays),
        TEST(an_update_names_warm_columns_only_to_rewrite),
        TEST(what_has_not_changed_is_not_written),
        TEST(inputs_are_those_used),
        TEST(fragments_and_states_are_known),
        TEST(a_fragment_of_ours_hides_nothing),
        TEST(a_state_is_never_a_number),
        TEST(a_name_is_used_once),
        TEST(a_lock_is_on_one_table),
        TEST(a_block_that_writes_says_so),
        TEST(an_override_says_why),
        TEST(the_form_is_kept),
        TEST(migrations_are_in_pairs_and_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
