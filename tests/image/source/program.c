/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens its image for the CPU that is named, or this one, and prints the target and what the functions answer. With
 * a second argument it loads the image from that file instead. */

#include <stdio.h>
#include <string.h>

#include "tenon_image.h"

#ifdef LINKED
extern const char tn_image[];
const char *where(int);
double squares(const double *, size_t, size_t), length(const double *, size_t);
int through(int, int), same_address(void), other_name(int);
long many(long, long, long, long, long, long, long, double, const long *), some(int, ...);
/* The versions by target, of at most five. */
#define VERSION(n) extern const char where_##n[] __asm__("where.tn_image." #n) __attribute__((weak))
VERSION(0);
VERSION(1);
VERSION(2);
VERSION(3);
VERSION(4);
static const char *const versions[] = {where_0, where_1, where_2, where_3, where_4};
#endif

static int fail(const struct tn_error *err)
{
    printf("%s: %s\n", tn_error_name(err->code), err->text);
    return 1;
}

static int open_image(int argc, char **argv, struct tn_image **image, struct tn_error *err)
{
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_image_load_options options = {.size = sizeof options, .cpu = &cpu};
    int code = tn_cpu_host(&cpu, err);
    if (!code)
        code = tn_cpu_limit(&cpu, argc > 1 ? argv[1] : NULL, err);
    if (code)
        return code;
#ifdef LINKED
    return tn_image_open_linked(tn_image, &options, image, err);
#else
    return tn_image_open(argv[2], &options, image, err);
#endif
}

/* Whether it is the version for the chosen target that runs. */
static int runs_chosen(const struct tn_image *image)
{
    const char *chosen = tn_image_lookup(image, "where");
#ifdef LINKED
    if (chosen != versions[tn_image_chosen(image)])
        return 0;
#else
    const char *(*where)(int) = (const char *(*)(int))tn_image_lookup(image, "where");
#endif
    const char *at = where(1);
    return at >= chosen && at < chosen + 64;
}

int main(int argc, char **argv)
{
    static const double a[6] = {1, 2, 3, 4, 5, 6};
    static const long more[3] = {7, 8, 9};
    struct tn_image *image;
    struct tn_error err;
    if (open_image(argc, argv, &image, &err))
        return fail(&err);
#ifndef LINKED
#define GET(result, name, ...) result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))tn_image_lookup(image, #name)
    GET(double, squares, const double *, size_t, size_t);
    GET(double, length, const double *, size_t);
    GET(int, through, int, int);
    GET(int, same_address, void);
    GET(long, many, long, long, long, long, long, long, long, double, const long *);
    GET(long, some, int, ...);
#endif
    printf("%s: %g %g %d %d %d %ld %ld\n", tn_image_target(image, tn_image_chosen(image))->name, squares(a, 2, 3),
           length(a, 6), through(0, 255), through(1, 21), same_address(), many(3, 1, 2, 3, 4, 5, 6, 7, more),
           some(3, 1L, 2L, 3L));
    if (!tn_image_lookup(image, "length") || tn_image_lookup(image, "dot") || tn_image_lookup(image, "nothing"))
        return printf("wrong functions are public\n"), 1;
    if (!runs_chosen(image))
        return printf("another version runs\n"), 1;
    tn_image_close(image);
    return 0;
}
