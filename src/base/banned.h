/* SPDX-License-Identifier: Apache-2.0
 *
 * banned.h -- makes functions we never want a compile error.
 *
 * Include it last in every .c file: a system header that mentions a poisoned name after this
 * point would not compile. Never include it from a header. */
#ifndef FF_BASE_BANNED_H
#define FF_BASE_BANNED_H

/* No bound: use ff_strbuf, or snprintf into an array whose size is known. */
#undef strcpy
#undef strcat
#undef sprintf
#undef alloca
#pragma GCC poison strcpy strcat sprintf alloca

/* Hidden shared state: use gmtime_r, ff_time_format_utc, or a loop over ff_str. */
#undef strtok
#undef gmtime
#undef localtime
#pragma GCC poison strtok gmtime localtime

/* Cannot say "this is not a number": use ff_str_to_i64. */
#undef atoi
#pragma GCC poison atoi

#endif
