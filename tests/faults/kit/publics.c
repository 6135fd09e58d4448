/* SPDX-License-Identifier: Apache-2.0
 *
 * publics.c -- finds the public calls on a stack.
 *
 * Only what the header exports is exported by this program, with its size: an address belongs to a
 * public function, or to none.
 * Read first: publics.h. */
#include "kit/publics.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

#include "base/banned.h"

#define PUBLICS_MAX 256
#define DEPTH_MAX   64
#define LIST        FF_SOURCE_DIR "/packaging/libflowfabric.symbols"

static struct public
{
    char name[48];
    const char *begin, *end; /* NULL: no test calls it, so it is not in this program */
    atomic_uint refusals;
}
publics[PUBLICS_MAX];
static atomic_size_t public_count;

static void find(struct public *public)
{
    void *symbol = NULL;
    void *const at = dlsym(RTLD_DEFAULT, public->name);
    Dl_info info;

    public->begin = public->end = NULL;
    if (!at || !dladdr1(at, &info, &symbol, RTLD_DL_SYMENT) || !symbol)
        return;
    public->begin = at;
    public->end = public->begin + ((const ElfW(Sym) *)symbol)->st_size;
}

void publics_begin(struct test *t)
{
    FILE *const list = fopen(LIST, "r");
    void *frames[DEPTH_MAX];
    char line[128];
    size_t count = 0;

    EXPECT(t, list != NULL);
    atomic_store(&public_count, 0);
    while (fgets(line, sizeof line, list)) {
        struct public *const public = &publics[count];

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        EXPECT(t, count < PUBLICS_MAX && strlen(line) < sizeof public->name);
        memcpy(public->name, line, strlen(line) + 1);
        atomic_store(&public->refusals, 0);
        find(public);
        count++;
    }
    (void)fclose(list);
    (void)backtrace(frames, DEPTH_MAX); /* the first one loads what it needs */
    atomic_store(&public_count, count);
}

void publics_note(void)
{
    const size_t count = atomic_load(&public_count);
    void *frames[DEPTH_MAX];
    const int depth = count > 0 ? backtrace(frames, DEPTH_MAX) : 0;

    for (int i = 0; i < depth; i++)
        for (size_t k = 0; k < count; k++)
            if ((const char *)frames[i] > publics[k].begin &&
                (const char *)frames[i] <= publics[k].end)
                atomic_fetch_add(&publics[k].refusals, 1);
}

static bool is_named(const char *pattern, const char *name)
{
    const char *const star = strchr(pattern, '*');

    return star ? !strncmp(pattern, name, (size_t)(star - pattern)) : !strcmp(pattern, name);
}

void publics_expect(struct test *t, const struct public_exception *exceptions, size_t count,
                    unsigned where)
{
    const size_t all = atomic_load(&public_count);
    size_t excepted = 0;
    size_t wrong = 0;

    EXPECT(t, all > 0);
    for (size_t i = 0; i < all; i++) {
        const struct public *const public = &publics[i];
        const bool refused = atomic_load(&public->refusals) > 0;
        const struct public_exception *exception = NULL;

        for (size_t k = 0; !exception && k < count; k++)
            if (exceptions[k].where & where && is_named(exceptions[k].name, public->name))
                exception = &exceptions[k];
        excepted += exception != NULL;
        if (exception ? !refused || exception->where & PUBLICS_BY_CHANCE : refused)
            continue;
        wrong++;
        (void)printf("# %s: %s\n", public->name,
                     refused          ? "is excepted, and was refused something"
                     : !public->begin ? "nobody calls it"
                                      : "was never refused anything");
    }
    (void)printf("# %zu public calls, %zu of them ask for nothing here\n", all, excepted);
    EXPECT_INT(t, 0, (int64_t)wrong);
}
