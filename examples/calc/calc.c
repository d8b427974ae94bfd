/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product that links both archives: a calculator whose lines become machine code. It writes IR as text (parse.c),
 * compiles it to an object in memory, links that and calls it.
 *
 *     printf '%s\n' 'fib(n) = n < 2 ? n : fib(n-1) + fib(n-2)' 'fib(32)' | calc */

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
int function_count = 6;

static void release(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){(void *)bytes, length});
}

/* Takes IR, returns a callable function. */
static int build(struct tn_library *library, const char *name, const char *ir, size_t length, void **address,
                 struct tn_error *err)
{
    const struct tn_compile_options options = {.size = sizeof options, .opt_level = 2};
    struct tn_buffer object;
    int code = tn_compile(name, ir, length, &options, &object, NULL, err);
    if (code)
        return code;
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.data, .length = object.size, .release = release};
    code = tn_add_object(library, &input, err);
    if (code)
        tn_buffer_free(&object);
    return code ? code : tn_lookup(library, name, address, err);
}

/* False if the line has a mistake. */
static bool run_line(struct tn_library *library, const char *line, int number)
{
    struct tn_error err;
    struct function function;
    void *address;
    char *ir;
    size_t length;
    FILE *out = open_memstream(&ir, &length);
    if (!out)
        return false;
    const char *mistake = compile_line(line, number, out, &function);
    fclose(out);
    if (!mistake && build(library, function.name, ir, length, &address, &err))
        mistake = err.text;
    free(ir);
    if (mistake)
        fprintf(stderr, "calc: line %d: %s\n", number, mistake);
    else if (strncmp(function.name, "line.", 5) == 0)
        printf("%.15g\n", ((double (*)(void))address)());
    else if (function_count < (int)(sizeof functions / sizeof functions[0]))
        functions[function_count++] = function;
    return !mistake;
}

int main(void)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    char line[1000];
    bool good = true;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "calc", &library, &err) ||
        tn_add_resolver(library, tn_resolve_exports, NULL, &err)) {
        fprintf(stderr, "calc: %s\n", err.text);
        return 1;
    }
    for (int number = 1; fgets(line, sizeof line, stdin); number++)
        if (line[strspn(line, " \t\n")])
            good &= run_line(library, line, number);
    tn_session_destroy(session);
    return good ? 0 : 1;
}
