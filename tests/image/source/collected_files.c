/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loads collected.c as a file, runs it for the CPU of TENON_CPU and closes it, with collections before and behind:
 * twice. With a second argument it has no collector to offer. */

#include <stdio.h>
#include <stdlib.h>

#include "tenon.h"
#include "tenon_heap.h"
#include "tenon_image.h"

long call_back(long (*function)(long), long n);
int version_here(void);

static struct tn_image *image;

long call_back(long (*function)(long), long n)
{
    return function(n);
}

int version_here(void)
{
    return (int)tn_image_chosen(image);
}

static int fail(const struct tn_error *err)
{
    fprintf(stderr, "%s: %s\n", tn_error_name(err->code), err->text);
    return 1;
}

static int run(const char *path, const struct tn_image_load_options *options)
{
    struct tn_error err;
    if (tn_image_open(path, options, &image, &err))
        return fail(&err);
    int (*run)(void) = (int (*)(void))tn_image_lookup(image, "main");
    int status = run();
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL); /* objects whose types go */
    tn_image_close(image);
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    return status;
}

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_image_load_options options = {.size = sizeof options, .cpu = &cpu, .resolver = tn_resolve_dlsym};
    options.managed = argc > 2 ? NULL : tn_managed_runtime();
    if (argc < 2 || tn_cpu_host(&cpu, &err) || tn_cpu_limit(&cpu, getenv("TENON_CPU"), &err))
        return fail(&err);
    return run(argv[1], &options) || run(argv[1], &options);
}
