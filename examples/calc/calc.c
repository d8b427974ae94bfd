/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product that compiles: a calculator whose lines become machine code. parse.c writes each as IR. Functions can be
 * defined again; those that call them then call the new ones. Those that are called often are compiled again, for
 * speed, while they run. With a folder, what was compiled is kept in it.
 *
 *     printf '%s\n' 'fib(n) = n < 2 ? n : fib(n-1) + fib(n-2)' 'fib(32)' | calc [FOLDER] */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tenon_cache.h>
#include <tenon_codegen.h>

#include "calc.h"

/* Functions of this program that lines may call. TN_EXPORT makes them visible to lines, also in a static and stripped
 * program. */
TN_EXPORT(sqrt);
TN_EXPORT(exp);
TN_EXPORT(log);
TN_EXPORT(sin);
TN_EXPORT(cos);
TN_EXPORT(pow);

struct function functions[256] = {{"sqrt", 1}, {"exp", 1}, {"log", 1}, {"sin", 1}, {"cos", 1}, {"pow", 2}};
int function_count = FIRST_DEFINED;

/* A function is compiled quickly first, and well after so many calls. */
static const struct tn_tier tiers[] = {{.opt_level = 0, .calls = 1000}, {.opt_level = 2}};

/* In place of a function that cannot be compiled, which is reported. */
static double no_function(void)
{
    return NAN;
}

static void report(void *context, const struct tn_error *err)
{
    (void)context;
    fprintf(stderr, "calc: %s\n", err->text);
}

/* False if the line has a mistake. */
static bool run_line(struct tn_jit *jit, const char *line, int number)
{
    struct tn_error err;
    struct function function;
    void *address;
    struct tn_jit_module module = {.size = sizeof module, .name = "line"};
    FILE *out = open_memstream((char **)&module.ir, &module.length);
    const char *mistake = compile_line(line, out, &function);
    fclose(out);
    if (!mistake && (tn_jit_replace(jit, NULL, &module, &err) || tn_jit_lookup(jit, function.name, &address, &err)))
        mistake = err.text;
    free((void *)module.ir);
    if (mistake)
        fprintf(stderr, "calc: line %d: %s\n", number, mistake);
    else if (strcmp(function.name, EXPRESSION) == 0)
        printf("%.15g\n", ((double (*)(void))address)());
    else if (!find_function(function.name))
        functions[function_count++] = function;
    return !mistake;
}

int main(int argc, char **argv)
{
    struct tn_jit_options options = {.size = sizeof options,
                                     .lazy = 1,
                                     .on_failure = (void (*)(void))no_function,
                                     .on_error = report,
                                     .resolver = tn_resolve_exports,
                                     .tiers = tiers,
                                     .tier_count = 2,
                                     .tiering = tn_jit_tiering()};
    struct tn_folder_options folder = {.size = sizeof folder, .path = argv[1]};
    struct tn_store *store = NULL;
    struct tn_cache_options with = {
        .size = sizeof with, .stores = &store, .store_count = 1, .compiler = tn_codegen_compiler()};
    struct tn_compiler *cache = NULL;
    struct tn_jit *jit;
    struct tn_error err;
    char line[1000];
    bool good = true;
    int code = argc > 1 ? tn_store_open_folder(&folder, &store, &err) : 0;
    if (!code && store)
        code = tn_cache_create(&with, &cache, &err);
    options.compiler = cache;
    if (code || tn_jit_create(&options, &jit, &err))
        return fprintf(stderr, "calc: %s\n", err.text), 1;
    for (int number = 1; fgets(line, sizeof line, stdin); number++)
        if (line[strspn(line, " \t\n")])
            good &= run_line(jit, line, number);
    tn_jit_destroy(jit);
    tn_cache_destroy(cache);
    tn_store_close_folder(store);
    return good ? 0 : 1;
}
