/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A small language without LLVM, as one static program: each line is a formula, `area(r) = 3.14159 * r * r`, or an
 * expression to compute. Everything is a double; `a < b ? c : d` computes one of c and d, and formulas may call each
 * other and themselves. A line becomes a module of tenon_build.h; the baseline compiler compiles what is called.
 *
 *     printf '%s\n' 'fib(n) = n < 2 ? n : fib(n-1) + fib(n-2)' 'fib(30)' | formulas */

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon_build.h>
#include <tenon_jit.h>

/* Functions of this program that formulas may call. */
TN_EXPORT(sqrt);
TN_EXPORT(exp);
TN_EXPORT(log);

enum { PARAMETERS = 8, NAME = 32 };

/* The formula at hand. */
static struct {
    const char *at; /* the rest of the line */
    const char *mistake;
    struct tn_build *build;
    struct tn_build_function *function;
    char name[NAME], parameters[PARAMETERS][NAME];
    int count;
    uint32_t block;
} f;

static uint32_t expression(void);

static uint32_t fail(const char *mistake)
{
    if (!f.mistake)
        f.mistake = mistake;
    return 0;
}

static bool accept(const char *word)
{
    while (isspace((unsigned char)*f.at))
        f.at++;
    size_t length = strlen(word);
    if (strncmp(f.at, word, length) != 0)
        return false;
    f.at += length;
    return true;
}

static bool take_name(char name[NAME])
{
    size_t length = 0;
    accept("");
    while (isalpha((unsigned char)f.at[length]) || (length && isalnum((unsigned char)f.at[length])))
        length++;
    if (!length || length >= NAME)
        return false;
    memcpy(name, f.at, length);
    name[length] = 0;
    f.at += length;
    return true;
}

/* ---- expressions, tightest binding first ---- */

static uint32_t call(const char *name)
{
    uint32_t arguments[PARAMETERS];
    size_t count = 0;
    while (count < PARAMETERS && !f.mistake && (count == 0 || accept(",")))
        arguments[count++] = expression();
    if (!accept(")"))
        return fail("a ')' is missing");
    uint32_t callee = tn_build_address(f.function, tn_build_declare(f.build, name, 0), 0);
    return tn_build_call(f.function, callee, TN_BUILD_F64, arguments, NULL, count, 0);
}

static uint32_t primary(void)
{
    char name[NAME];
    if (accept("-"))
        return tn_build_unary(f.function, TN_BUILD_FNEG, primary());
    if (accept("(")) {
        uint32_t value = expression();
        return accept(")") ? value : fail("a ')' is missing");
    }
    if (take_name(name)) {
        if (accept("("))
            return call(name);
        for (int i = 0; i < f.count; i++)
            if (strcmp(f.parameters[i], name) == 0)
                return tn_build_argument(f.function, (size_t)i);
        return fail("there is no such parameter");
    }
    char *end;
    double number = strtod(f.at, &end);
    if (end == f.at)
        return fail("a number, a name or '(' is missing");
    f.at = end;
    return tn_build_real(f.function, TN_BUILD_F64, number);
}

static uint32_t product(void)
{
    uint32_t value = primary();
    for (;;)
        if (accept("*"))
            value = tn_build_binary(f.function, TN_BUILD_FMUL, value, primary());
        else if (accept("/"))
            value = tn_build_binary(f.function, TN_BUILD_FDIV, value, primary());
        else
            return value;
}

static uint32_t sum(void)
{
    uint32_t value = product();
    for (;;)
        if (accept("+"))
            value = tn_build_binary(f.function, TN_BUILD_FADD, value, product());
        else if (accept("-"))
            value = tn_build_binary(f.function, TN_BUILD_FSUB, value, product());
        else
            return value;
}

static void begin(uint32_t block)
{
    f.block = block;
    tn_build_begin(f.function, block);
}

/* Each side is a block of its own, so that only one of them is computed. */
static uint32_t choice(uint32_t condition)
{
    uint32_t yes = tn_build_block(f.function), no = tn_build_block(f.function), end = tn_build_block(f.function);
    tn_build_branch(f.function, condition, yes, no);
    begin(yes);
    uint32_t a = expression(), a_block = f.block;
    tn_build_jump(f.function, end);
    if (!accept(":"))
        return fail("a ':' is missing");
    begin(no);
    uint32_t b = expression(), b_block = f.block;
    tn_build_jump(f.function, end);
    begin(end);
    uint32_t value = tn_build_phi(f.function, TN_BUILD_F64);
    tn_build_incoming(f.function, value, a, a_block);
    tn_build_incoming(f.function, value, b, b_block);
    return value;
}

static uint32_t expression(void)
{
    static int depth;
    if (depth == 200 || f.mistake)
        return fail("nested too deeply");
    depth++;
    uint32_t value = sum();
    if (accept("<")) {
        value = tn_build_compare(f.function, TN_BUILD_FLT, value, sum());
        value = accept("?") ? choice(value) : tn_build_convert(f.function, TN_BUILD_UITOFP, TN_BUILD_F64, value);
    }
    depth--;
    return value;
}

/* ---- lines ---- */

/* Reads `name(parameter, ...) =`; otherwise consumes nothing. */
static bool head(void)
{
    const char *start = f.at;
    if (take_name(f.name) && accept("(")) {
        while (f.count < PARAMETERS && take_name(f.parameters[f.count])) {
            f.count++;
            if (!accept(","))
                break;
        }
        if (accept(")") && accept("="))
            return true;
    }
    f.at = start;
    f.count = 0;
    return false;
}

/* What a line becomes as a module, whose function is f.name. NULL, or what is wrong. */
static const char *build_line(const char *line, int number, struct tn_buffer *module, struct tn_error *err)
{
    uint8_t types[PARAMETERS];
    memset(&f, 0, sizeof f);
    memset(types, TN_BUILD_F64, sizeof types);
    f.at = line;
    if (tn_build_create(&f.build, err))
        return err->text;
    if (!head())
        snprintf(f.name, sizeof f.name, "line.%d", number);
    f.function = tn_build_function(f.build, f.name, 0, TN_BUILD_F64, types, (size_t)f.count);
    begin(tn_build_block(f.function));
    tn_build_return(f.function, expression());
    accept("");
    if (!f.mistake && *f.at)
        fail("the line goes on where it should end");
    if (!f.mistake && tn_build_finish(f.build, module, err))
        fail(err->text);
    tn_build_destroy(f.build);
    return f.mistake;
}

static bool run_line(struct tn_jit *jit, const char *line, int number)
{
    struct tn_error err;
    struct tn_buffer flat = {0};
    void *address;
    const char *mistake = build_line(line, number, &flat, &err);
    struct tn_jit_module module = {.size = sizeof module, .name = f.name, .ir = flat.data, .length = flat.size};
    bool is_expression = strchr(f.name, '.');
    if (!mistake &&
        (tn_jit_add_module(jit, NULL, &module, &err) || (is_expression && tn_jit_lookup(jit, f.name, &address, &err))))
        mistake = err.text;
    tn_buffer_free(&flat);
    if (mistake)
        fprintf(stderr, "formulas: line %d: %s\n", number, mistake);
    else if (is_expression)
        printf("%.15g\n", ((double (*)(void))address)());
    return !mistake;
}

/* In place of a formula that cannot be compiled, or calls one that is not there. */
static double no_function(void)
{
    return NAN;
}

static void report(void *context, const struct tn_error *err)
{
    (void)context;
    fprintf(stderr, "formulas: %s\n", err->text);
}

int main(void)
{
    struct tn_jit_options options = {.size = sizeof options,
                                     .compiler = tn_baseline_compiler(),
                                     .lazy = 1,
                                     .on_failure = (void (*)(void))no_function,
                                     .on_error = report,
                                     .resolver = tn_resolve_exports};
    struct tn_jit *jit;
    struct tn_error err;
    char line[1000];
    bool good = true;
    if (tn_jit_create(&options, &jit, &err))
        return fprintf(stderr, "formulas: %s\n", err.text), 1;
    for (int number = 1; fgets(line, sizeof line, stdin); number++)
        if (line[strspn(line, " \t\n")])
            good &= run_line(jit, line, number);
    tn_jit_destroy(jit);
    return good ? 0 : 1;
}
