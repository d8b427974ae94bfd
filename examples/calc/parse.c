/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Expressions to LLVM IR, as text: a recursive descent that writes an instruction for each operator. */

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calc.h"

enum { NAME = sizeof functions[0].name, PARAMETERS = 8 };

/* An operand of an instruction: a constant, a parameter or a temporary. */
struct value {
    char text[NAME + 8];
};

static struct {
    const char *at; /* the rest of the line */
    FILE *ir;
    const char *error;
    int temporaries, blocks;
    int block; /* the current one */
    const struct function *self;
    char parameters[PARAMETERS][NAME];
} p;

static struct value expression(void);

static struct value fail(const char *error)
{
    if (!p.error)
        p.error = error;
    return (struct value){"0.0"};
}

/* ---- words ---- */

static bool accept(const char *word)
{
    while (isspace((unsigned char)*p.at))
        p.at++;
    size_t length = strlen(word);
    if (strncmp(p.at, word, length) != 0)
        return false;
    p.at += length;
    return true;
}

static void expect(const char *word, const char *error)
{
    if (!accept(word))
        fail(error);
}

static bool name(char out[NAME])
{
    size_t length = 0;
    accept("");
    while (isalpha((unsigned char)p.at[length]) || (length && isalnum((unsigned char)p.at[length])))
        length++;
    if (length >= NAME)
        fail("a name is too long");
    if (!length || length >= NAME)
        return false;
    memcpy(out, p.at, length);
    out[length] = 0;
    p.at += length;
    return true;
}

/* ---- instructions ---- */

static struct value operation(const char *instruction, struct value a, struct value b)
{
    struct value result;
    snprintf(result.text, sizeof result.text, "%%t%d", p.temporaries++);
    fprintf(p.ir, "  %s = %s double %s, %s\n", result.text, instruction, a.text, b.text);
    return result;
}

/* Each side is a block of its own, so that only one of them is computed. */
static struct value choice(struct value condition)
{
    int yes = p.blocks++, no = p.blocks++, end = p.blocks++, number = p.temporaries++;
    fprintf(p.ir, "  %%t%d = fcmp une double %s, 0.0\n  br i1 %%t%d, label %%b%d, label %%b%d\nb%d:\n", number,
            condition.text, number, yes, no, yes);
    p.block = yes;
    struct value a = expression();
    int a_end = p.block;
    expect(":", "a ':' is missing");
    fprintf(p.ir, "  br label %%b%d\nb%d:\n", end, no);
    p.block = no;
    struct value b = expression(), result;
    int b_end = p.block;
    snprintf(result.text, sizeof result.text, "%%t%d", p.temporaries++);
    fprintf(p.ir, "  br label %%b%d\nb%d:\n  %s = phi double [ %s, %%b%d ], [ %s, %%b%d ]\n", end, end, result.text,
            a.text, a_end, b.text, b_end);
    p.block = end;
    return result;
}

const struct function *find_function(const char *name)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

static struct value call(const char *called)
{
    const struct function *function = strcmp(p.self->name, called) ? find_function(called) : p.self;
    struct value arguments[PARAMETERS], result;
    int count = 0;
    while (count < PARAMETERS && !p.error && (count == 0 || accept(",")))
        arguments[count++] = expression();
    expect(")", "a ')' is missing");
    if (!function || function->arity != count)
        return fail(function ? "that function takes another number of arguments" : "there is no such function");
    snprintf(result.text, sizeof result.text, "%%t%d", p.temporaries++);
    fprintf(p.ir, "  %s = call double @%s(", result.text, called);
    for (int i = 0; i < count; i++)
        fprintf(p.ir, "%sdouble %s", i ? ", " : "", arguments[i].text);
    fputs(")\n", p.ir);
    return result;
}

/* ---- expressions, tightest binding first ---- */

static struct value number(void)
{
    struct value result;
    char *end;
    double value = strtod(p.at, &end);
    uint64_t bits;
    if (end == p.at)
        return fail("a number, a name or '(' is missing");
    p.at = end;
    memcpy(&bits, &value, sizeof bits);
    snprintf(result.text, sizeof result.text, "0x%016llX", (unsigned long long)bits); /* IR's exact form */
    return result;
}

static struct value primary(void)
{
    char word[NAME];
    struct value result;
    if (accept("-"))
        return operation("fsub", (struct value){"-0.0"}, primary());
    if (accept("(")) {
        result = expression();
        expect(")", "a ')' is missing");
        return result;
    }
    if (!name(word))
        return number();
    if (accept("("))
        return call(word);
    for (int i = 0; i < p.self->arity; i++)
        if (strcmp(p.parameters[i], word) == 0) {
            snprintf(result.text, sizeof result.text, "%%v.%s", word);
            return result;
        }
    return fail("there is no such parameter");
}

static struct value product(void)
{
    struct value result = primary();
    for (;;)
        if (accept("*"))
            result = operation("fmul", result, primary());
        else if (accept("/"))
            result = operation("fdiv", result, primary());
        else
            return result;
}

static struct value sum(void)
{
    struct value result = product();
    for (;;)
        if (accept("+"))
            result = operation("fadd", result, product());
        else if (accept("-"))
            result = operation("fsub", result, product());
        else
            return result;
}

static struct value comparison(void)
{
    static const char *const operators[][2] = {{"<", "fcmp olt"}, {">", "fcmp ogt"}, {"==", "fcmp oeq"}};
    struct value left = sum(), result;
    for (int i = 0; i < 3; i++)
        if (accept(operators[i][0])) {
            struct value truth = operation(operators[i][1], left, sum());
            snprintf(result.text, sizeof result.text, "%%t%d", p.temporaries++);
            fprintf(p.ir, "  %s = uitofp i1 %s to double\n", result.text, truth.text);
            return result;
        }
    return left;
}

static struct value expression(void)
{
    static int depth;
    if (++depth > 200)
        fail("nested too deeply");
    struct value result = p.error ? (struct value){"0.0"} : comparison();
    if (!p.error && accept("?"))
        result = choice(result);
    depth--;
    return result;
}

/* ---- lines ---- */

/* Reads `name(parameter, ...) =`; otherwise consumes nothing. */
static bool head(struct function *function)
{
    const char *start = p.at;
    if (name(function->name) && accept("(")) {
        while (function->arity < PARAMETERS && name(p.parameters[function->arity])) {
            function->arity++;
            if (!accept(","))
                break;
        }
        if (accept(")") && accept("=") && *p.at != '=')
            return true;
    }
    p.at = start;
    return false;
}

/* Its callers, which are compiled, stay as they are, so a function that is defined again has to take as many
 * arguments. */
static void check_again(const struct function *function)
{
    const struct function *before = find_function(function->name);
    if (before && before - functions < FIRST_DEFINED)
        fail("that function is not one of yours");
    else if (before && before->arity != function->arity)
        fail("that function took another number of arguments before");
    else if (!before && function_count == (int)(sizeof functions / sizeof functions[0]))
        fail("there are too many functions");
}

const char *compile_line(const char *line, FILE *ir, struct function *function)
{
    memset(&p, 0, sizeof p);
    memset(function, 0, sizeof *function);
    p.at = line;
    p.ir = ir;
    p.blocks = 1;
    p.self = function;
    if (!head(function)) {
        function->arity = 0;
        strcpy(function->name, EXPRESSION);
    }
    check_again(function);
    /* nobuiltin: LLVM would turn a pow into exp2, which this program does not export. */
    for (int i = 0; i < function_count; i++) {
        if (strcmp(functions[i].name, function->name) == 0)
            continue;
        fprintf(ir, "declare double @%s(", functions[i].name);
        for (int n = 0; n < functions[i].arity; n++)
            fputs(n ? ", double" : "double", ir);
        fputs(") nobuiltin\n", ir);
    }
    fprintf(ir, "define double @%s(", function->name);
    for (int i = 0; i < function->arity; i++)
        fprintf(ir, "%sdouble %%v.%s", i ? ", " : "", p.parameters[i]);
    fputs(") {\nb0:\n", ir);
    struct value result = expression();
    fprintf(ir, "  ret double %s\n}\n", result.text);
    accept("");
    return p.error ? p.error : *p.at ? "the line goes on where it should end" : NULL;
}
