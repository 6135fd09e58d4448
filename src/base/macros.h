/* SPDX-License-Identifier: Apache-2.0
 *
 * macros.h -- the few macros every file may use.
 *
 * gcc and clang only. FF_TRY is the only macro allowed to hide a `return`.
 * Read first: src/base/README.md. Tests: tests/unit/test_macros.c. */
#ifndef FF_BASE_MACROS_H
#define FF_BASE_MACROS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef FF_PRINTF
#define FF_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))
#endif

#define FF_UNUSED        __attribute__((unused))
#define FF_ARRAY_LEN(xs) (sizeof(xs) / sizeof((xs)[0]))

/* A number as part of a text: "1 to " FF_TEXT_OF(FF_LIST_MAX). */
#define FF_TEXT_OF(number)  FF_TEXT_OF_(number)
#define FF_TEXT_OF_(number) #number

/* Leaves the calling function with the status of `call` unless that is FF_OK. */
#define FF_TRY(call)                                                                               \
    do {                                                                                           \
        const ff_status ff_try_ = (call);                                                          \
        if (ff_try_ != FF_OK)                                                                      \
            return ff_try_;                                                                        \
    } while (0)

/* Runs `fn(&variable)` when the variable goes out of scope. `fn` must accept what an early return
 * leaves behind: NULL or zeroed memory. */
#define FF_AUTO(fn) __attribute__((cleanup(fn)))

/* Makes `<name>_freep` for FF_AUTO out of `<name>_free`, e.g. FF_DEFINE_FREEP(struct ff_plan,
 * ff_plan). */
#define FF_DEFINE_FREEP(type, name)                                                                \
    static inline FF_UNUSED void name##_freep(__typeof__(type) **object)                           \
    {                                                                                              \
        name##_free(*object);                                                                      \
    }

/* Hands out the pointer and leaves NULL behind, so that FF_AUTO has nothing left to free. */
#define FF_STEAL(pointer)                                                                          \
    __extension__({                                                                                \
        __typeof__(pointer) *const ff_steal_from_ = &(pointer);                                    \
        __typeof__(pointer) const ff_steal_ = *ff_steal_from_;                                     \
        *ff_steal_from_ = NULL;                                                                    \
        ff_steal_;                                                                                 \
    })

#define ff_container_of(pointer, type, member)                                                     \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Functions, not macros: each argument is evaluated once and the type is visible at the call. */
static inline int64_t ff_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ff_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A number that only rises, whoever writes it. */
static inline void ff_raise_i64(_Atomic int64_t *at, int64_t value)
{
    int64_t now = atomic_load(at);

    while (now < value && !atomic_compare_exchange_weak(at, &now, value))
        ;
}

static inline size_t ff_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t ff_max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Adding a duration to a time must not wrap around: the sum stops at the ends of the range. */
static inline int64_t ff_add_i64_clamped(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

#endif
