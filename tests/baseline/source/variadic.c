/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that take any number of arguments, of all kinds: in registers, in memory, and in both. */

#include <stdarg.h>
#include <stdio.h>

struct pair {
    long a, b;
};
struct large {
    long a[5];
};
struct real {
    double x, y;
};

/* Each letter of the text is an argument's type. */
static void list(const char *types, va_list from)
{
    va_list again;
    va_copy(again, from);
    for (; *types; types++)
        switch (*types) {
        case 'i':
            printf("%d ", va_arg(again, int));
            break;
        case 'l':
            printf("%ld ", va_arg(again, long));
            break;
        case 'd':
            printf("%g ", va_arg(again, double));
            break;
        case 's':
            printf("%s ", va_arg(again, const char *));
            break;
        case 'p': {
            struct pair p = va_arg(again, struct pair);
            printf("(%ld %ld) ", p.a, p.b);
            break;
        }
        case 'r': {
            struct real r = va_arg(again, struct real);
            printf("(%g %g) ", r.x, r.y);
            break;
        }
        default: {
            struct large l = va_arg(again, struct large);
            printf("(%ld %ld) ", l.a[0], l.a[4]);
        }
        }
    va_end(again);
}

static void none_before(const char *types, ...)
{
    va_list all;
    va_start(all, types);
    list(types, all);
    printf("again ");
    list(types, all);
    va_end(all);
    printf("\n");
}

/* Named arguments take registers, and memory, of both kinds. */
static void some_before(int a, double b, long c, double d, struct large e, const char *types, ...)
{
    va_list all;
    va_start(all, types);
    printf("%d %g %ld %g %ld: ", a, b, c, d, e.a[2]);
    list(types, all);
    va_end(all);
    printf("\n");
}

static int sum(int count, ...)
{
    int result = 0;
    va_list all;
    va_start(all, count);
    while (count--)
        result += va_arg(all, int);
    va_end(all);
    return result;
}

static void many_before(long a, long b, long c, long d, long e, long f, long g, double h, const char *types, ...)
{
    va_list all;
    va_start(all, types);
    printf("%ld %g: ", a + b + c + d + e + f + g, h);
    list(types, all);
    va_end(all);
    printf("\n");
}

int main(void)
{
    struct pair p = {11, 12};
    struct real r = {1.5, -2.5};
    struct large l = {{1, 2, 3, 4, 5}};
    void (*volatile pointer)(const char *, ...) = none_before;
    none_before("");
    none_before("iiiiiiiii", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    none_before("dddddddddd", 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5);
    none_before("idlsprxidl", 1, 2.5, 3L, "text", p, r, l, 4, 5.5, 6L);
    none_before("pppp", p, p, p, p);
    none_before("rrrrr", r, r, r, r, r);
    some_before(1, 2.5, 3, 4.5, l, "idxpri", 5, 6.5, l, p, r, 7);
    many_before(1, 2, 3, 4, 5, 6, 7, 8.5, "lid", 9L, 10, 11.5);
    pointer("sd", "by pointer", 3.25);
    printf("%d\n", sum(10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    return 0;
}
