/* SPDX-License-Identifier: Apache-2.0
 *
 * util.c -- memory, text, files and complaints of the SQL build tool.
 *
 * Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every piece stays reachable from here, so that a leak checker has nothing to say about a process
 * that frees by ending. */
static struct piece {
    struct piece *next;
} * pieces;

void *xalloc(size_t bytes)
{
    struct piece *piece = calloc(1, sizeof *piece + bytes + 1);

    if (!piece) {
        fprintf(stderr, "sqlgen: out of memory\n");
        exit(2);
    }
    piece->next = pieces;
    pieces = piece;
    return piece + 1;
}

char *xstrndup(const char *text, size_t len)
{
    char *copy = xalloc(len + 1);

    memcpy(copy, text, len);
    return copy;
}

void buf_add(struct buf *out, const char *text, size_t len)
{
    if (out->len + len + 1 > out->cap) {
        const size_t cap = (out->cap + len + 256) * 2;
        char *data = xalloc(cap);

        if (out->len)
            memcpy(data, out->data, out->len);
        out->data = data;
        out->cap = cap;
    }
    memcpy(out->data + out->len, text, len);
    out->len += len;
    out->data[out->len] = '\0';
}

void buf_adds(struct buf *out, const char *text)
{
    buf_add(out, text, strlen(text));
}

void buf_addf(struct buf *out, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    const int len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof text) {
        fprintf(stderr, "sqlgen: a line is too long\n");
        exit(2);
    }
    buf_add(out, text, (size_t)len);
}

bool file_read(const char *path, struct file *ret)
{
    struct buf text = {0};
    char chunk[4096];
    size_t got;
    FILE *in = fopen(path, "rb");

    if (!in)
        return false;
    buf_add(&text, "", 0);
    while ((got = fread(chunk, 1, sizeof chunk, in)) > 0)
        buf_add(&text, chunk, got);
    const bool failed = ferror(in) != 0;
    if (fclose(in) != 0 || failed)
        return false;
    *ret = (struct file){.path = path, .text = text.data, .len = text.len};
    return true;
}

bool file_write(const char *path, const struct buf *text)
{
    struct file old;

    if (file_read(path, &old) && old.len == text->len && !memcmp(old.text, text->data, old.len))
        return true;
    FILE *out = fopen(path, "wb");
    if (!out)
        return false;
    const bool written = fwrite(text->data, 1, text->len, out) == text->len;
    return fclose(out) == 0 && written;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t file_list(const char *dir, const char *ending, char ***ret_paths)
{
    enum { FILES_MAX = 1024 };
    char **paths = xalloc(FILES_MAX * sizeof *paths);
    size_t count = 0;
    DIR *open = opendir(dir);
    struct dirent *entry;

    *ret_paths = paths;
    if (!open)
        return 0;
    while (count < FILES_MAX && (entry = readdir(open))) {
        const size_t len = strlen(entry->d_name);
        const size_t end = strlen(ending);
        struct buf path = {0};

        if (len <= end || strcmp(entry->d_name + len - end, ending) != 0)
            continue;
        buf_adds(&path, dir);
        buf_adds(&path, "/");
        buf_adds(&path, entry->d_name);
        paths[count++] = path.data;
    }
    closedir(open);
    qsort(paths, count, sizeof *paths, by_text);
    return count;
}

static int complaint_count;

void complain(const char *path, int line, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", path, line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    complaint_count++;
}

int complaints(void)
{
    return complaint_count;
}

bool word_is(const char *word, size_t len, const char *what)
{
    for (size_t i = 0; i < len; i++) {
        if (!what[i] || tolower((unsigned char)word[i]) != tolower((unsigned char)what[i]))
            return false;
    }
    return !what[len];
}
