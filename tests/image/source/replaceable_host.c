/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Redirects functions of an image: of the file that is named, or with LINKED of the one that is linked in. Prints what
 * the image's own calls of them come to, before, while, and after. */

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"
#include "tenon_image.h"

enum { TURNS = 20000 };

struct large {
    long words[12];
};

static struct tn_image *image;
static atomic_bool is_over;
static atomic_long wrong, called;

static int other_leaf(int n)
{
    return n + 7;
}

static int other_constant(void)
{
    return 9;
}

static long other_summed(const int *values, int count)
{
    return values[count - 1] - 100;
}

static double other_average(int count, ...)
{
    va_list values;
    double largest = 0;
    va_start(values, count);
    for (int i = 0; i < count; i++) {
        double value = va_arg(values, double);
        largest = value > largest ? value : largest;
    }
    va_end(values);
    return largest;
}

static struct large other_shifted(struct large from, long by, double a, double b, double c, double d, double e,
                                  double f, double g, double h, double i, long n1, long n2, long n3, long n4, long n5)
{
    from.words[0] = by + (long)(a - b + c - d + e - f + g - h + i);
    from.words[11] = n1 + 10 * n2 + 100 * n3 + 1000 * n4 + 10000 * n5;
    return from;
}

static void *find(const char *name)
{
    void *address = tn_image_lookup(image, name);
    if (!address)
        exit(2);
    return address;
}

static void redirect(const char *name, const void *address)
{
    struct tn_error err;
    if (!tn_image_redirect(image, name, address, &err))
        return;
    printf("%s\n", err.text);
    exit(3);
}

static void refuse(const char *name, const void *address)
{
    struct tn_error err = {0};
    int code = tn_image_redirect(image, name, address, &err);
    printf("%s: %s\n", tn_error_name(code), err.text);
}

static void show(const char *when)
{
    printf("%s: %d %d %ld %.0f %ld %d\n", when, ((int (*)(int))find("calls"))(1),
           ((int (*)(int))find("calls_by_table"))(4), ((long (*)(int))find("sums"))(5),
           ((double (*)(void))find("averages"))(), ((long (*)(void))find("shifts"))(),
           ((int (*)(int))find("depth"))(5));
}

/* A call reaches one function or the other, whole. */
static void *call(void *context)
{
    int (*function)(int) = (int (*)(int))find("calls");
    (void)context;
    while (!is_over) {
        int got = function(1);
        wrong += got != 203 && got != 803;
        called++;
    }
    return NULL;
}

static void redirect_while_called(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call, NULL))
        exit(4);
    while (!called)
        ;
    for (int i = 0; i < TURNS; i++)
        redirect("leaf", i % 2 ? NULL : (const void *)other_leaf);
    is_over = true;
    pthread_join(thread, NULL);
    printf("%ld calls were wrong\n", (long)wrong);
}

/* Two threads that close a circle together: one of them is refused, and calls come to an end. */
static void *lead_to_depth(void *context)
{
    pthread_barrier_wait(context);
    for (int i = 0; i < TURNS; i++) {
        (void)tn_image_redirect(image, "leaf", find("depth"), NULL);
        (void)tn_image_redirect(image, "leaf", NULL, NULL);
    }
    return NULL;
}

static void close_circles(void)
{
    pthread_t thread;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, lead_to_depth, &barrier))
        exit(4);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TURNS; i++) {
        (void)tn_image_redirect(image, "depth", find("leaf"), NULL);
        ((int (*)(int))find("depth"))(3);
        (void)tn_image_redirect(image, "depth", NULL, NULL);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

#ifdef LINKED
extern const char tn_image[];
#else
/* What compilers insert calls of. */
static void *resolve(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "memcpy") == 0 ? (void *)memcpy : strcmp(name, "memset") == 0 ? (void *)memset : NULL;
}
#endif

int main(int argc, char **argv)
{
    struct tn_error err;
#ifdef LINKED
    (void)argc;
    (void)argv;
    int code = tn_image_open_linked(tn_image, NULL, &image, &err);
#else
    struct tn_image_load_options options = {.size = sizeof options, .resolver = resolve};
    int code = argc == 2 ? tn_image_open(argv[1], &options, &image, &err) : TN_EINVAL;
#endif
    if (code) {
        printf("%s\n", err.text);
        return 1;
    }
    show("before");
    redirect("leaf", (const void *)other_leaf);
    redirect("constant", (const void *)other_constant);
    redirect("summed", (const void *)other_summed);
    redirect("average", (const void *)other_average);
    redirect("shifted", (const void *)other_shifted);
    show("redirected");
    redirect("constant", NULL);
    redirect("summed", NULL);
    redirect("average", NULL);
    redirect("shifted", NULL);
    redirect("leaf", find("depth"));
    show("leaf is depth");
    refuse("depth", find("leaf"));
    refuse("depth", find("depth"));
    refuse("calls", (const void *)other_leaf);
    refuse("none", (const void *)other_leaf);
    redirect("leaf", NULL);
    show("after");
    redirect_while_called();
    close_circles();
    show("at the end");
    tn_image_close(image);
    return 0;
}
