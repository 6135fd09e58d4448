/* SPDX-License-Identifier: Apache-2.0
 *
 * migrate.c -- reads src/store/migrations/<NNNN>_<name>.<dialect>.sql.
 *
 * The checksum is of the files as they stand, before fragments: a new state vector changes what
 * {{legal}} says but not what a store remembers of a migration it has applied.
 * Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <openssl/evp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const endings[DIALECTS] = {
    [SQLITE] = ".sqlite.sql", [POSTGRES] = ".postgres.sql"};

static bool add_checksum(struct migration *migration, const struct file files[DIALECTS])
{
    struct buf both = {0};
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    for (int dialect = 0; dialect < DIALECTS; dialect++)
        buf_add(&both, files[dialect].text, files[dialect].len);
    if (!EVP_Digest(both.data, both.len, digest, &len, EVP_sha256(), NULL) || len != 32)
        return false;
    for (unsigned i = 0; i < len; i++)
        (void)snprintf(migration->checksum + 2 * i, 3, "%02x", digest[i]);
    return true;
}

/* The value behind "-- <key>: " on a line of its own; NULL if there is none. */
static const char *header(const struct file *file, const char *key, size_t *ret_len)
{
    const size_t key_len = strlen(key);

    for (const char *at = file->text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (strncmp(at, "-- ", 3) != 0 || strncmp(at + 3, key, key_len) != 0)
            continue;
        const char *value = at + 3 + key_len;
        *ret_len = strcspn(value, "\n");
        return value;
    }
    return NULL;
}

/* Version, name and oldest binary out of the two header lines. */
static bool read_header(const struct file *file, struct migration *ret)
{
    size_t name_len = 0, oldest_len = 0;
    char *end;
    const char *name = header(file, "migration: ", &name_len);
    const char *oldest = header(file, "oldest binary: ", &oldest_len);

    if (!name || !oldest) {
        complain(file->path, 1,
                 "needs '-- migration: <number> <name>' and '-- oldest binary: "
                 "<number>'");
        return false;
    }
    ret->version = (int)strtol(name, &end, 10);
    if (*end != ' ') {
        complain(file->path, 1, "the migration has no name");
        return false;
    }
    ret->name = xstrndup(end + 1, name_len - (size_t)(end + 1 - name));
    ret->oldest_binary = (int)strtol(oldest, &end, 10);
    ret->path = file->path;
    return true;
}

static void add_migration(const char *sqlite_path, struct migrations *migrations)
{
    struct migration *migration = &migrations->at[migrations->count];
    struct migration other = {0};
    struct file files[DIALECTS] = {0};
    struct buf path = {0};
    char number[16];

    buf_add(&path, sqlite_path, strlen(sqlite_path) - strlen(endings[SQLITE]));
    (void)snprintf(number, sizeof number, "%04zu_", migrations->count + 1);
    const char *base = strrchr(path.data, '/');
    if (strncmp(base ? base + 1 : path.data, number, 5) != 0)
        complain(sqlite_path, 1, "the next migration is number %s", number);
    buf_adds(&path, endings[POSTGRES]);
    if (!file_read(sqlite_path, &files[SQLITE]) || !file_read(path.data, &files[POSTGRES])) {
        complain(path.data, 1, "cannot be read: a migration has a file per dialect");
        return;
    }
    if (!read_header(&files[SQLITE], migration) || !read_header(&files[POSTGRES], &other))
        return;
    if (migration->version != other.version || strcmp(migration->name, other.name) != 0 ||
        migration->oldest_binary != other.oldest_binary)
        complain(path.data, 1, "its header differs from %s", sqlite_path);
    if (migration->version != (int)migrations->count + 1)
        complain(sqlite_path, 1, "says it is number %d", migration->version);
    if (!add_checksum(migration, files))
        complain(sqlite_path, 1, "cannot be hashed");
    for (int dialect = 0; dialect < DIALECTS; dialect++) {
        const struct tokens tokens = lex(files[dialect].path, 1, files[dialect].text);

        check_states(&tokens);
        migration->text[dialect] = expand(&tokens, NULL, dialect);
    }
    migrations->count++;
}

void parse_migrations(const char *dir, struct migrations *migrations)
{
    char **paths;
    const size_t count = file_list(dir, endings[SQLITE], &paths);

    migrations->at = xalloc(MIGRATIONS_MAX * sizeof *migrations->at);
    for (size_t i = 0; i < count && i < MIGRATIONS_MAX; i++)
        add_migration(paths[i], migrations);
    if (file_list(dir, endings[POSTGRES], &paths) != count)
        complain(dir, 1, "a migration has a file per dialect");
}
