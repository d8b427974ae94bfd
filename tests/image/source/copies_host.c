/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* copies_host BASE USER: opens both, prints which functions of USER are stale, and the results of the others and of
 * those that call these. `strict` before them: without on_stale. LINKED: the images are parts of the program. ITSELF:
 * it has their functions without images. AGAIN: stale functions are compiled again, and those are printed that were. */

#include <stdio.h>
#include <string.h>

#ifdef AGAIN
#include "tenon_codegen.h"
#endif
#include "tenon_image.h"

typedef int function(int);

#define EACH(X)                                                                                                        \
    X(f)                                                                                                               \
    X(k) X(o) X(l) X(t) X(u) X(m) X(w) X(c) X(e) X(s) X(v) X(p) X(plain) X(around) X(fill) X(filled) X(timed) X(begun)

#ifdef ITSELF
#define X(name) function name;
EACH(X)
#undef X
#endif

static int stale(int x)
{
    return -1000 - x;
}

static void print(const char *name, function *called)
{
    printf(" %s=%d", name, called(1));
}

#ifdef ITSELF
int main(void)
{
#define X(name) print(#name, name);
    EACH(X)
    putchar('\n');
    return 0;
}
#else
static struct tn_error err;

static int fail(void)
{
    return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
}

#ifdef AGAIN
static const struct tn_compiler *llvm;
static char compiled[4096];

static int open_counted(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                        const struct tn_module_description **description, struct tn_error *error)
{
    const char *function = strchr(ir->name, '(') + 1;
    size_t length = strlen(compiled);
    snprintf(compiled + length, sizeof compiled - length, " %.*s", (int)strcspn(function, ")"), function);
    return llvm->open(context, ir, options, module, description, error);
}

static void told(void *context, const struct tn_error *error)
{
    (void)context;
    printf("%s: %s\n", tn_error_name(error->code), error->text);
}

static void add_compiler(struct tn_image_load_options *options)
{
    static struct tn_compiler counted;
    llvm = tn_codegen_compiler();
    counted = *llvm;
    counted.open = open_counted;
    options->compiler = &counted;
    options->recompiler = tn_image_recompiler();
    options->on_error = told;
    options->on_failure = (void (*)(void))stale;
}
#endif

/* Leads a stale function elsewhere and back. */
static int redirect(struct tn_image *user, const char *name, int before)
{
    function *called = (function *)tn_image_lookup(user, name), *other = (function *)tn_image_lookup(user, "plain");
    if (tn_image_redirect(user, name, (const void *)other, &err) || called(1) != 2)
        return fail();
    if (tn_image_redirect(user, name, NULL, &err) || called(1) != before)
        return fail();
    return 0;
}

#ifdef LINKED
extern const char base_image[], user_image[];

static int open_both(char **files, struct tn_image_load_options *options, struct tn_image **base,
                     struct tn_image **user)
{
    (void)files;
    return tn_image_open_linked(base_image, NULL, base, &err) || tn_image_open_linked(user_image, options, user, &err);
}
#else
static int open_both(char **files, struct tn_image_load_options *options, struct tn_image **base,
                     struct tn_image **user)
{
    return tn_image_open(files[0], NULL, base, &err) || tn_image_open(files[1], options, user, &err);
}
#endif

int main(int argc, char **argv)
{
    struct tn_image *base, *user;
    struct tn_image_load_options options = {.size = sizeof options, .images = &base, .image_count = 1};
    const char *last = NULL;
    if (argc < 2 || strcmp(argv[1], "strict") != 0)
        options.on_stale = (void (*)(void))stale;
#ifdef AGAIN
    add_compiler(&options);
#endif
    if (open_both(argv + argc - 2, &options, &base, &user))
        return fail();
#ifndef AGAIN
    struct tn_image_function f = {.size = sizeof f};
    printf("stale:");
    for (size_t i = 0; i < tn_image_function_count(user); i++)
        if (!tn_image_function(user, i, &f, &err) && (function *)f.version == stale) {
            printf(" %s", f.name);
            last = f.is_public ? f.name : last;
        }
    putchar('\n');
#endif
    printf("results:");
#define X(name) print(#name, (function *)tn_image_lookup(user, #name));
    EACH(X)
    putchar('\n');
#ifdef AGAIN
    printf("stale:%s\n", compiled);
    last = strstr(compiled, " f") ? "f" : NULL;
#endif
    int before = last ? ((function *)tn_image_lookup(user, last))(1) : 0;
    if (last && redirect(user, last, before))
        return 1;
    tn_image_close(user);
    tn_image_close(base);
    return 0;
}
#endif
