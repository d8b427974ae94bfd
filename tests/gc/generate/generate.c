/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints programs in collected C that print a trace of their computations. Each depends only on its number, the seed.
 *     generate c FIRST COUNT [KIND]     COUNT programs, as one; functions of ir.c are in C, for ordinary compilers
 *     generate ir FIRST COUNT [KIND]    these functions in IR
 * Most statements are then of this kind, the name of a row in statements.c, steps_vectors.c ...
 * Functions call earlier ones. Each has references, numbers and vectors in local variables. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

enum { DEPTH = 3 }; /* of blocks in each other */

/* ---- statements ---- */

static void write_statements(int count, int depth);

static void write_block(int depth)
{
    indent++;
    write_statements(2, depth - 1);
    indent--;
}

static void write_statement(int depth)
{
    static const struct kinds *const tables[] = {&ordinary_statements, &memory_statements, &thread_statements};
    unsigned which = pick(26);
    draw();
    if (!depth || which < 23) {
        write_one_of(tables, sizeof tables / sizeof *tables);
    } else if (which < 25) {
        write_text("if ($x % 3 == $3) {");
        write_block(depth);
        write_text("} else {");
        write_block(depth);
        write_text("}");
    } else {
        write_text("for (int i$n = 0; i$n <= $3; i$n++) {");
        write_block(depth);
        write_text("}");
    }
}

static void write_statements(int count, int depth)
{
    for (int i = 0; i < count; i++)
        write_statement(depth);
}

/* ---- functions ---- */

static void define(void)
{
    unsigned parameters = 4 + function % 3 * 3;
    printf("%snode f%u_%u(", pick(2) ? "static __attribute__((noinline)) " : "static ", function, program);
    for (unsigned i = 0; i < parameters; i++)
        printf(i % 2 ? "long a%u, " : "node a%u, ", i);
    printf("int depth)\n{\n");
    write_text("vector v = {1, 2};\n"
               "wide w = {3, 4, 5, 6};");
    for (unsigned i = 0; i < REFERENCES; i++)
        printf(i % 2            ? "    node r%u = globals[1];\n"
               : i < parameters ? "    node r%u = a%u;\n"
                                : "    node r%u = NULL;\n",
               i, i);
    for (unsigned i = 0; i < NUMBERS; i++)
        printf(2 * i + 1 < parameters ? "    long x%u = a%u;\n" : "    long x%u = 5;\n", i, 2 * i + 1);
    write_text("if (depth <= 0)\n"
               "    return $r;");
    write_statements(4 + (int)pick(6), DEPTH);
    for (unsigned i = 0; i < REFERENCES; i++)
        printf("    note(sum(r%u));\n", i);
    write_text("note((long)(v[0] + v[1]) % 1000003 + (long)(w[0] + w[1] + w[2] + w[3]));\n"
               "return $r;");
    printf("}\n\n");
}

/* The same as a function that threads can run. */
static void define_work(void)
{
    printf("static node w%u_%u(node a, node b, long x)\n{\n    return f%u_%u(", function, program, function, program);
    for (unsigned i = 0; i < 4 + function % 3 * 3; i++)
        printf("%s, ", i % 2 ? "x" : i % 4 ? "b" : "a");
    printf("1);\n}\n\n");
}

/* Functions that end with exceptions in the middle of changes that their deferred blocks read. These blocks
 * declare no variables: clang 22 would use those of its other copy of the block. */
static void define_unwound(unsigned number)
{
    static const char *const changes[] = {
        "k = cons(x + $100, k);",
        "k = cons(x + $100, l);",
        "{ node t = k; k = l; l = t; }",
        "for (int i = 0; i < $N; i++) {\n"
        "    throws(k, x + i);\n"
        "    node t = k; k = l; l = cons(i, t);\n"
        "}",
        "p = x & $N ? &pairs->items[$3] : p;",
        "throws(k, x + $3);",
        "throws(l, x + $3);",
    };
    printf("static __attribute__((noinline)) node u%u_%u(node a, node b, long x)\n{\n", number, program);
    write_text("node k = a, l = b;\n"
               "struct pairs tn_ref *pairs = make_pairs(3, a);\n"
               "struct pair tn_ref *p = x & 1 ? &pairs->items[1] : &pairs->items[2];\n"
               "_Defer {\n"
               "    p->first = cons(x, k);\n"
               "    note(sum(k) + sum(l) * 3 + sum(p->first) + p->number);\n"
               "}");
    for (unsigned i = 3 + pick(4); i; i--) {
        draw();
        write_text(changes[pick(sizeof changes / sizeof *changes)]);
    }
    write_text("return x % 5 ? k : l;");
    printf("}\n\n");
}

static void define_main(void)
{
    printf("static void p%u(void)\n{\n", program);
    write_text("begin();\n"
               "node r0 = cons(1, NULL), r1 = cons(2, r0), r2 = r1, r3 = NULL, r4 = r0;\n"
               "long x0 = 1, x1 = 2, x2 = 3;\n"
               "int depth = 3;");
    for (function = 1; function <= FUNCTIONS; function++)
        write_text("$r = $g;\n"
                   "note(sum($r) + $x);");
    write_text("note(sum(r0) + sum(r1) + sum(r2) + sum(r3) + sum(r4) + x0 + x1 + x2);");
    printf("    end(%u);\n}\n\n", program);
}

/* ---- programs ---- */

static void write_program(void)
{
    seed_with(program + 1000000);
    if (language == C)
        printf("#ifdef TN_UNMANAGED\n");
    define_in_ir();
    if (language == IR)
        return;
    printf("#else\n");
    for (unsigned i = 0; i < IN_IR; i++)
        printf("node v%u_%u(node a, node b, struct nodes tn_ref *memory, long x);\n", i, program);
    printf("#endif\n\n");
    seed_with(program);
    for (unsigned i = 0; i < UNWOUND; i++)
        define_unwound(i);
    for (function = 0; function < FUNCTIONS; function++) {
        define();
        define_work();
    }
    define_main();
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: generate c|ir FIRST COUNT [KIND]\n");
        return 1;
    }
    unsigned first = (unsigned)atoi(argv[2]), after = first + (unsigned)atoi(argv[3]);
    language = strcmp(argv[1], "ir") == 0 ? IR : C;
    wanted = argv[4];
    if (language == IR)
        declare_for_ir();
    else
        printf("#include \"prologue.h\"\n\n");
    for (program = first; program < after; program++)
        write_program();
    if (language == IR)
        return 0;
    printf("int main(void)\n{\n");
    for (program = first; program < after; program++)
        printf("    p%u();\n", program);
    printf("    return 0;\n}\n");
    return 0;
}
