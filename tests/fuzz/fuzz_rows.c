/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_rows.c -- rows as a server might send them, events among them: decoded or refused;
 * a decoded event can be shown.
 *
 * The first byte names the table; then comes a length (255: null) and the bytes of each column. */
#include <stdlib.h>
#include <string.h>

#include "api/api-int.h"
#include "api/json.h"
#include "store/postgres/postgres-int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static PGresult *result_of(const struct ff_table_info *info, const uint8_t *data, size_t size)
{
    PGresult *const result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc *const columns = calloc(info->col_count, sizeof *columns);
    char name[] = "column";

    if (!result || !columns)
        abort();
    for (size_t i = 0; i < info->col_count; i++)
        columns[i] = (PGresAttDesc){.name = name, .format = 1};
    if (!PQsetResultAttrs(result, info->col_count, columns))
        abort();
    free(columns);
    for (int i = 0; i < info->col_count; i++) {
        size_t len = size > 0 ? *data++ : 255;
        char bytes[256];

        size -= size > 0 ? 1 : 0;
        if (len == 255) {
            if (!PQsetvalue(result, 0, i, NULL, -1))
                abort();
            continue;
        }
        len = len < size ? len : size;
        memcpy(bytes, data, len);
        if (!PQsetvalue(result, 0, i, bytes, (int)len))
            abort();
        data += len;
        size -= len;
    }
    return result;
}

/* An event that was decoded can be shown, whatever its kind and type say. */
static void check_event(struct ff_arena *arena, const struct ff_event *row)
{
    struct ff_event_info info;
    json_t *json;

    ff_event_info_of_row(arena, row, &info);
    if (arena->failed)
        return;
    json = ff_json_event(&info);
    if (!info.kind || !info.type || (json && !json_object_get(json, "cursor")))
        abort();
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ff_arena arena;
    PGresult *result;
    ff_table table;
    void *row;

    if (size < 2)
        return 0;
    table = (ff_table)(data[0] % FF_TABLE_COUNT);
    result = result_of(&ff_tables[table], data + 1, size - 1);
    ff_arena_init(&arena, 4096, 1 << 20);
    row = ff_arena_alloc(&arena, ff_tables[table].row_bytes);
    ff_row_init(table, row);
    if (ff_pg_decode_row(result, 0, table, &arena, row)) {
        uint8_t key[FF_KEY_BYTES];

        if (ff_row_key(table, row, key) > sizeof key)
            abort();
        if (table == FF_TABLE_EVENT)
            check_event(&arena, row);
    }
    for (int type = FF_VALUE_NULL; type <= FF_VALUE_UUID; type++) {
        struct ff_value value;

        (void)!ff_pg_decode_cell((ff_value_type)type, (const char *)data, (int)size, &arena,
                                 &value);
    }
    PQclear(result);
    ff_arena_done(&arena);
    return 0;
}
