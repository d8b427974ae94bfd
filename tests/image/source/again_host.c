/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* again_host BASE USER: opens both, with LLVM for stale functions of USER. Prints what functions answer, called by two
 * threads one after the other, and what was compiled; checks that functions of either age find one place for each
 * thing. ITSELF: the program has their functions without images, and what it answers is right. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PLACES 18
/* clang-format off */
#define EACH(X)                                                                                                        \
    X(stale_sum) X(stale_outer) X(stale_write) X(fresh_read) X(stale_virtual) X(fresh_catch) X(stale_catch)            \
    X(stale_once) X(stale_labels) X(stale_sum_of_vector) X(fresh_large) X(fresh_optional)
/* clang-format on */

typedef int function(int);
typedef void *place(int);

#ifdef ITSELF
#define X(name) function name;
EACH(X)
#undef X
static const struct {
    const char *name;
    function *address;
} functions[] = {
#define X(name) {#name, name},
    EACH(X)
#undef X
};

static function *find(size_t i)
{
    return functions[i].address;
}
#else
#include "tenon_codegen.h"

static struct tn_image *base, *user;
static struct tn_error err;
static const struct {
    const char *name;
} functions[] = {
#define X(name) {#name},
    EACH(X)
#undef X
};

static function *find(size_t i)
{
    return (function *)tn_image_lookup(user, functions[i].name);
}

/* ---- what is compiled ---- */

static int open_counted(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                        const struct tn_module_description **description, struct tn_error *error)
{
    fprintf(stderr, "compiled %s for %s\n", ir->name, options->cpu);
    return tn_codegen_compiler()->open(context, ir, options, module, description, error);
}

static void told(void *context, const struct tn_error *error)
{
    (void)context;
    printf("error: %s: %s\n", tn_error_name(error->code), error->text);
}

static int failed(int x)
{
    return -1000 - x;
}

static int fail(const char *what)
{
    return printf("%s: %s: %s\n", what, tn_error_name(err.code), err.text), 1;
}

/* ---- places ---- */

static place *find_place(const char *age, int kind)
{
    char name[32];
    snprintf(name, sizeof name, "%s_place%d", age, kind);
    return (place *)tn_image_lookup(user, name);
}

static void compare_places(void)
{
    for (int kind = 0; kind < PLACES; kind++) {
        void *stale = find_place("stale", kind)(1), *fresh = find_place("fresh", kind)(1);
        if (stale != fresh)
            printf("place %d is %p, and %p for a stale function\n", kind, fresh, stale);
    }
    place *itself = (place *)tn_image_lookup(user, "stale_itself");
    if (itself(1) != (void *)itself)
        puts("a stale function has two addresses");
}
#endif

static void *answer(void *context)
{
    (void)context;
    for (int x = 1; x < 4; x++)
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            printf("%s(%d)=%d\n", functions[i].name, x, find(i)(x));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
#ifdef ITSELF
    (void)argc;
    (void)argv;
#else
    static struct tn_compiler compiler;
    struct tn_image_load_options options = {.size = sizeof options,
                                            .resolver = tn_resolve_dlsym,
                                            .images = &base,
                                            .image_count = 1,
                                            .compiler = &compiler,
                                            .recompiler = tn_image_recompiler(),
                                            .on_error = told,
                                            .on_failure = (void (*)(void))failed};
    compiler = *tn_codegen_compiler();
    compiler.open = open_counted;
    if (tn_image_open(argv[argc - 2], NULL, &base, &err))
        return fail(argv[argc - 2]);
    if (tn_image_open(argv[argc - 1], &options, &user, &err))
        return fail(argv[argc - 1]);
#endif
    answer(NULL);
    if (pthread_create(&thread, NULL, answer, NULL) || pthread_join(thread, NULL))
        return 1;
#ifndef ITSELF
    compare_places();
    tn_image_close(user);
    tn_image_close(base);
#endif
    return 0;
}
