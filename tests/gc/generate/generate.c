/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints programs in collected C that print a trace of their computations. Each depends only on its number, the seed.
 *     generate c FIRST COUNT [KIND]     COUNT programs, as one; functions of ir.c are in C, for ordinary compilers
 *     generate ir FIRST COUNT [KIND]    these functions in IR
 *     generate other FIRST COUNT [KIND] their second module; both define some weak functions
 *     generate other-ir 1 1             its function in IR
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
    static const struct kinds *const tables[] = {&ordinary_statements, &memory_statements, &thread_statements,
                                                 &loop_statements, &leaf_statements};
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

static void define_body(int statements)
{
    write_text("if (depth <= 0)\n"
               "    return $r;");
    write_statements(statements, DEPTH);
    for (unsigned i = 0; i < REFERENCES; i++)
        printf("    note(sum(r%u));\n", i);
    write_text("note((long)(v[0] + v[1]) % 1000003 + (long)(w[0] + w[1] + w[2] + w[3]));\n"
               "return $r;");
    printf("}\n\n");
}

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
    define_body(4 + (int)pick(6));
}

/* A function that another module calls or that two modules define. */
static void define_outer(const char *kind)
{
    printf("%snode g%u_%u(node r0, node r1, long x0)\n{\n", kind, outer, program);
    write_text("vector v = {1, 2};\n"
               "wide w = {3, 4, 5, 6};\n"
               "node r2 = r0, r3 = globals[2], r4 = NULL;\n"
               "long x1 = 7, x2 = x0 * 3;\n"
               "int depth = 1;");
    define_body(2 + (int)pick(3));
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
    printf("__attribute__((weak)) node u%u_%u(node a, node b, long x)\n{\n", number, program);
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

/* What both modules define. */
static void define_weak(void)
{
    seed_with(program + 2000000);
    function = outer = 0;
    for (unsigned i = 0; i < IN_IR; i++)
        printf("node v%u_%u(node a, node b, struct nodes tn_ref *memory, long x);\n", i, program);
    for (unsigned i = 0; i < UNWOUND; i++)
        define_unwound(i);
    for (; outer < WEAK; outer++)
        define_outer("__attribute__((weak)) ");
}

static void write_other_module(void)
{
    define_weak();
    seed_with(program + 3000000);
    for (; outer < WEAK + OTHERS; outer++)
        define_outer("");
}

static void write_ir_module(void)
{
    seed_with(program + 1000000);
    define_in_ir();
}

static void write_nothing(void)
{
}

static void write_module(void)
{
    printf("#ifdef TN_UNMANAGED\n");
    write_ir_module();
    printf("#endif\n\n");
    define_weak();
    for (; outer < WEAK + OTHERS; outer++)
        printf("node g%u_%u(node a, node b, long x);\n", outer, program);
    seed_with(program);
    for (function = 0; function < FUNCTIONS; function++) {
        define();
        define_work();
    }
    define_main();
}

static void write_main(unsigned first, unsigned after)
{
    printf("int main(void)\n{\n");
    for (program = first; program < after; program++)
        printf("    p%u();\n", program);
    printf("    return 0;\n}\n");
}

int main(int argc, char **argv)
{
    static const struct file {
        const char *name, *beginning;
        void (*write)(void);
        enum language language;
    } files[] = {
        {"c", "#include \"prologue.h\"\n\n", write_module, C},
        {"ir", "", write_ir_module, IR},
        {"other-ir", "", write_nothing, IR},
        {"other", "#define OTHER_MODULE\n#include \"prologue.h\"\n\n", write_other_module, C},
    };
    const struct file *file = files, *end = files + sizeof files / sizeof *files;
    while (argc > 3 && file < end && strcmp(file->name, argv[1]) != 0)
        file++;
    if (argc < 4 || file == end) {
        fprintf(stderr, "usage: generate c|ir|other|other-ir FIRST COUNT [KIND]\n");
        return 1;
    }
    unsigned first = (unsigned)atoi(argv[2]), after = first + (unsigned)atoi(argv[3]);
    language = file->language;
    wanted = argv[4];
    fputs(file->beginning, stdout);
    if (language == IR)
        declare_for_ir(file->write == write_nothing);
    for (program = first; program < after; program++)
        file->write();
    if (file == files)
        write_main(first, after);
    return 0;
}
