/* SPDX-License-Identifier: Apache-2.0
 *
 * auth.c -- tokens, scopes and namespaces; hosts.
 *
 * Tests: tests/unit/test_http.c, tests/e2e/test_http.py. */
#include "http/auth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "http/limits.h"

#include "base/banned.h"

#define ARENA_BYTES_MAX (4 << 20)

static const struct {
    const char *name;
    unsigned scope;
} scopes[] = {
    {"read", FF_SCOPE_READ},
    {"submit", FF_SCOPE_SUBMIT},
    {"work", FF_SCOPE_WORK},
    {"admin", FF_SCOPE_ADMIN},
};

const char *ff_scope_name(unsigned scope)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(scopes); i++)
        if (scopes[i].scope & scope)
            return scopes[i].name;
    return "none";
}

void ff_tokens_init(struct ff_tokens *tokens)
{
    *tokens = (struct ff_tokens){.count = 0};
    ff_arena_init(&tokens->arena, 4096, ARENA_BYTES_MAX);
    tokens->items = ff_arena_array(&tokens->arena, FF_HTTP_TOKENS_MAX, sizeof *tokens->items);
}

void ff_tokens_done(struct ff_tokens *tokens)
{
    ff_arena_done(&tokens->arena);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* The next word up to one of `ends`; what is left stays in *rest. */
static struct ff_str word(struct ff_str *rest, const char *ends)
{
    size_t from = 0, len = 0;

    while (from < rest->len && (rest->ptr[from] == ' ' || rest->ptr[from] == '\t'))
        from++;
    while (from + len < rest->len && !strchr(ends, rest->ptr[from + len]))
        len++;

    const struct ff_str found = {.ptr = rest->ptr + from, .len = len};
    const size_t past = ff_min_size(from + len + 1, rest->len);
    *rest = (struct ff_str){.ptr = rest->ptr + past, .len = rest->len - past};
    return found;
}

/* word() does not see that a list ends with its separator. */
static bool ends_open(struct ff_str list)
{
    return list.len && list.ptr[list.len - 1] == ',';
}

static bool scopes_of(struct ff_str list, unsigned *ret)
{
    *ret = 0;
    if (ends_open(list))
        return false;
    while (list.len) {
        const struct ff_str name = word(&list, ",");
        unsigned found = 0;

        for (size_t i = 0; i < FF_ARRAY_LEN(scopes); i++)
            if (ff_str_eq(name, ff_str_of(scopes[i].name)))
                found = scopes[i].scope;
        if (!found)
            return false;
        *ret |= found;
    }
    return *ret != 0;
}

static bool namespaces_of(struct ff_arena *arena, struct ff_str list, struct ff_token *token)
{
    size_t count = list.len ? 1 : 0;

    if (ends_open(list))
        return false;
    for (size_t i = 0; i < list.len; i++)
        count += list.ptr[i] == ',';
    token->namespaces = ff_arena_array(arena, count, sizeof(char *));
    while (list.len && token->namespaces) {
        const struct ff_str name = word(&list, ",");

        if (!name.len || name.len > FF_NAMESPACE_BYTES_MAX)
            return false;
        token->namespaces[token->namespace_count++] = ff_arena_str(arena, name).ptr;
    }
    return !arena->failed;
}

static ff_status bad_line(struct ff_error *reterr, const char *source, size_t line,
                          const char *what)
{
    return ff_fail(reterr, FF_INVALID, "%s, line %zu: %s", source, line, what);
}

static bool has_token(const struct ff_tokens *tokens, struct ff_str name)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (ff_str_eq(ff_str_of(tokens->items[i].name), name))
            return true;
    return false;
}

static ff_status token_of(struct ff_tokens *tokens, struct ff_str line, const char *source,
                          size_t number, struct ff_error *reterr)
{
    struct ff_token token = {0};
    const struct ff_str name = word(&line, " \t");
    const struct ff_str secret = word(&line, " \t");

    if (!name.len || name.len > FF_NAMESPACE_BYTES_MAX || !ff_str_is_printable_ascii(name))
        return bad_line(reterr, source, number,
                        "a token has a name of at most 128 printable characters");
    if (has_token(tokens, name)) /* idempotency keys belong to the name */
        return bad_line(reterr, source, number, "another token has this name");
    if (secret.len < FF_HTTP_TOKEN_BYTES_MIN || secret.len > FF_HTTP_TOKEN_BYTES_MAX ||
        !ff_str_is_printable_ascii(secret))
        return bad_line(reterr, source, number, "a token has 16 to 512 printable characters");
    if (!scopes_of(word(&line, " \t"), &token.scopes))
        return bad_line(reterr, source, number,
                        "scopes are read, submit, work and admin, joined by commas");
    if (!namespaces_of(&tokens->arena, word(&line, " \t"), &token))
        return bad_line(reterr, source, number, "namespaces have 1 to 128 bytes");
    if (word(&line, " \t").len)
        return bad_line(reterr, source, number, "a line is NAME TOKEN SCOPES [NAMESPACES]");
    if (tokens->count == FF_HTTP_TOKENS_MAX)
        return bad_line(reterr, source, number, "there are too many tokens");
    token.name = ff_arena_str(&tokens->arena, name).ptr;
    FF_TRY(ff_sha256_of(secret.ptr, secret.len, token.hash, reterr));
    FF_TRY(ff_arena_check(&tokens->arena, reterr));
    tokens->items[tokens->count++] = token;
    return FF_OK;
}

ff_status ff_tokens_read(struct ff_tokens *tokens, struct ff_str text, const char *source,
                         struct ff_error *reterr)
{
    FF_TRY(ff_arena_check(&tokens->arena, reterr));
    for (size_t number = 1; text.len; number++) {
        struct ff_str line = word(&text, "\r\n");

        line = word(&line, "#");
        while (line.len && (line.ptr[line.len - 1] == ' ' || line.ptr[line.len - 1] == '\t'))
            line.len--;
        if (line.len)
            FF_TRY(token_of(tokens, line, source, number, reterr));
    }
    return FF_OK;
}

static ff_status read_all(int fd, const char *path, char *data, size_t *ret_len,
                          struct ff_error *reterr)
{
    size_t len = 0;

    for (;;) {
        const ssize_t got = read(fd, data + len, FF_HTTP_TOKEN_FILE_MAX - len);

        if (got < 0)
            return ff_fail(reterr, FF_INVALID, "cannot read '%s': %s", path, strerror(errno));
        if (!got)
            break;
        len += (size_t)got;
        if (len == FF_HTTP_TOKEN_FILE_MAX)
            return ff_fail(reterr, FF_TOO_LARGE, "'%s' is larger than a token file can be", path);
    }
    *ret_len = len;
    return FF_OK;
}

/* systemd hands a secret over in a directory that only its service may enter; the file's own mode
 * may show an access list as rights of a group. */
static bool is_credential(const char *path)
{
    const char *const folder = getenv("CREDENTIALS_DIRECTORY");
    const size_t len = folder ? strlen(folder) : 0;

    return len && strncmp(path, folder, len) == 0 && path[len] == '/';
}

ff_status ff_tokens_load(struct ff_tokens *tokens, const char *path, struct ff_error *reterr)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct ff_arena arena;
    struct stat info;
    size_t len = 0;
    ff_status status;

    if (fd < 0)
        return ff_fail(reterr, FF_INVALID, "cannot read '%s': %s", path, strerror(errno));
    ff_arena_init(&arena, 4096, FF_HTTP_TOKEN_FILE_MAX + 4096);
    char *const data = ff_arena_alloc(&arena, FF_HTTP_TOKEN_FILE_MAX);
    if (!data)
        status = ff_fail(reterr, FF_NO_MEMORY, "cannot read '%s'", path);
    else if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = ff_fail(reterr, FF_INVALID, "'%s' is not a file", path);
    else if (info.st_mode & (S_IRWXG | S_IRWXO) && !is_credential(path))
        status = ff_fail(reterr, FF_INVALID,
                         "'%s' can be read by others: its mode must be 0600 or 0400", path);
    else
        status = read_all(fd, path, data, &len, reterr);
    (void)close(fd);
    if (status == FF_OK)
        status = ff_tokens_read(tokens, (struct ff_str){.ptr = data, .len = len}, path, reterr);
    if (data)
        explicit_bzero(data, len);
    ff_arena_done(&arena);
    if (status == FF_OK && !tokens->count)
        return ff_fail(reterr, FF_INVALID, "'%s' holds no token", path);
    return status;
}

/* ---- asking -----------------------------------------------------------------------------------
 */

static const struct ff_token *find(const struct ff_tokens *tokens, const void *secret, size_t len)
{
    const struct ff_token *found = NULL;
    uint8_t hash[FF_SHA256_BYTES];

    if (ff_sha256_of(secret, len, hash, NULL) != FF_OK)
        return NULL;
    for (size_t i = 0; i < tokens->count; i++)
        if (ff_secret_eq(hash, tokens->items[i].hash, sizeof hash))
            found = &tokens->items[i];
    return found;
}

const struct ff_token *ff_tokens_find(const struct ff_tokens *tokens, const char *authorization)
{
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    return find(tokens, authorization + 7, strlen(authorization + 7));
}

const struct ff_token *ff_tokens_find_basic(const struct ff_tokens *tokens,
                                            const char *authorization)
{
    const struct ff_token *found = NULL;
    uint8_t pair[2 * FF_HTTP_TOKEN_BYTES_MAX];
    size_t len = 0;

    if (!authorization || strncasecmp(authorization, "Basic ", 6) != 0)
        return NULL;
    const struct ff_str text = ff_str_of(authorization + 6);
    if (FF_BASE64_DATA_BYTES_MAX(text.len) <= sizeof pair && ff_base64_decode(text, pair, &len)) {
        const uint8_t *const colon = memchr(pair, ':', len);

        if (colon)
            found = find(tokens, colon + 1, len - (size_t)(colon + 1 - pair));
    }
    explicit_bzero(pair, sizeof pair);
    return found;
}

bool ff_token_allows(const struct ff_token *token, const char *ns)
{
    if (!token || !token->namespace_count)
        return true;
    for (size_t i = 0; ns && i < token->namespace_count; i++)
        if (strcmp(token->namespaces[i], ns) == 0)
            return true;
    return false;
}

bool ff_host_split(struct ff_str text, char host[256], int *ret_port)
{
    const bool is_v6 = text.len && text.ptr[0] == '[';
    size_t len = 0, from = is_v6 ? 1 : 0;
    int64_t port = 0;

    while (from + len < text.len && text.ptr[from + len] != (is_v6 ? ']' : ':'))
        len++;
    if (!len || len > 255 || (is_v6 && from + len == text.len))
        return false;
    for (size_t i = 0; i < len; i++) {
        const char c = text.ptr[from + i];

        host[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    host[len] = '\0';
    from += len + is_v6;
    if (from < text.len) {
        const struct ff_str rest = ff_str_slice(text, from + 1, SIZE_MAX);

        if (text.ptr[from] != ':' || !ff_str_to_i64(rest, &port) || port < 0 || port > 65535)
            return false;
    }
    *ret_port = (int)port;
    return true;
}

bool ff_host_is_address(const char *host)
{
    struct in6_addr any;

    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

bool ff_host_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}
