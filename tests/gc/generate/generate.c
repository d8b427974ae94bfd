/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints a program in collected C, which prints a trace of what it computes: the same for the same seed.
 *     generate SEED
 * Functions call those that come before them. Each has references, numbers and a vector in local variables, and its statements do what is hard for
 * a moving collector: derived pointers that live over allocations, in loops and chosen among several; many arguments;
 * structs by value; setjmp; pins; weak references; functions called back by the C library. */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 6, REFERENCES = 5, NUMBERS = 3, DEPTH = 3 };

static uint64_t state;
static int indent = 1, names, function;

static unsigned pick(unsigned count)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % count;
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    va_list arguments;
    printf("%*s", 4 * indent, "");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ---- expressions ---- */

static unsigned reference(void)
{
    return pick(REFERENCES);
}

static unsigned number(void)
{
    return pick(NUMBERS);
}

/* What the function's result is used for. */
static void call(int callee)
{
    printf("%*sr%u = f%d(", 4 * indent, "", reference(), callee);
    for (int i = 0; i < 4 + callee % 3 * 3; i++)
        printf(i % 2 ? "x%u, " : "r%u, ", i % 2 ? number() : reference());
    printf("depth - 1);\n");
}

/* ---- statements ---- */

static void statements(int count, int depth);

static void derived_loop(void)
{
    int n = names++;
    line("if (r%u) {", reference());
    indent++;
    line("struct pairs tn_ref *a%d = make_pairs(%u, r%u);", n, 1 + pick(8), reference());
    line("struct pairs tn_ref *b%d = make_pairs(%u, r%u);", n, 9 + pick(3), reference());
    line("struct pair tn_ref *p%d = x%u & 1 ? &a%d->items[0] : &b%d->items[%u];", n, number(), n, n, pick(3));
    line("for (long i = 0; i < 1; i++, p%d++) {", n);
    indent++;
    line("node g = cons(x%u, p%d->first);", number(), n);
    line("p%d->number += value(g) + i;", n);
    line("p%d->first = r%u;", n, reference());
    indent--;
    line("}");
    line("note(sum_pairs(a%d) + sum_pairs(b%d));", n, n);
    indent--;
    line("}");
}

static void walk_array(void)
{
    int n = names++;
    line("struct pairs tn_ref *w%d = make_pairs(%u, r%u);", n, 1 + pick(12), reference());
    line("struct pair tn_ref *q%d = &w%d->items[0];", n, n);
    line("for (size_t i = 0; i < w%d->length; i++, q%d++) {", n, n);
    indent++;
    line("r%u = cons(q%d->number, q%d->first);", reference(), n, n);
    line("x%u += q%d->number;", number(), n);
    indent--;
    line("}");
}

static void jump(void)
{
    int n = names++;
    line("{");
    indent++;
    line("jmp_buf here%d, *outer%d = target;", n, n);
    line("node kept%d = r%u;", n, reference());
    line("target = &here%d;", n);
    line("if (setjmp(here%d) == 0)", n);
    line("    thrower(kept%d, %u);", n, pick(4));
    line("target = outer%d;", n);
    line("note(sum(kept%d));", n);
    indent--;
    line("}");
}

static void pins(void)
{
    int n = names++;
    unsigned r = reference();
    line("if (r%u) {", r);
    indent++;
    line("TN_PIN(raw%d, r%u);", n, r);
    line("long before%d = value(r%u);", n, r);
    line("r%u = cons(before%d, NULL);", (r + 1) % REFERENCES, n);
    line("note(((const long *)raw%d)[2] == before%d);", n, n);
    indent--;
    line("}");
}

static void weak(void)
{
    int n = names++;
    unsigned r = reference();
    line("struct tn_weak tn_ref *weak%d = tn_new_weak(r%u);", n, r);
    line("node strong%d = r%u;", n, r);
    line("r%u = cons(%u, r%u);", reference(), pick(100), reference());
    line("note(weak%d->target == (void tn_ref *)strong%d);", n, n);
}

static void structs(void)
{
    int n = names++;
    line("struct triple t%d = make_triple(r%u, r%u, x%u);", n, reference(), reference(), number());
    line("r%u = cons(t%d.number, t%d.a);", reference(), n, n);
    line("note(sum(t%d.a) + sum(t%d.b));", n, n);
}

static void statement(int depth)
{
    unsigned r = reference(), s = reference(), x = number();
    switch (pick(depth ? 15 : 11)) {
    case 0:
    case 1:
        line("r%u = cons(x%u + %u, r%u);", r, x, pick(1000), s);
        break;
    case 2:
        line("if (r%u) r%u->other = r%u;", r, r, s);
        break;
    case 3:
        line("if (r%u) r%u = r%u->%s;", s, r, s, pick(2) ? "next" : "other");
        break;
    case 4:
        line("v = v * 2 + (vector){x%u %% 1000, value(r%u)};", x, r);
        break;
    case 5:
        line("x%u = x%u * 3 + sum(r%u);", x, number(), r);
        break;
    case 6:
        derived_loop();
        break;
    case 7:
        walk_array();
        break;
    case 8:
        pick(2) ? pins() : weak();
        break;
    case 9:
        structs();
        break;
    case 10:
        if (function)
            call((int)pick((unsigned)function));
        else
            line("globals[%u] = r%u;", pick(4), r);
        break;
    case 11:
        jump();
        break;
    case 12:
        line("r%u = sorted(r%u, %u);", r, s, 2 + pick(6));
        break;
    case 13:
        line("for (int i%d = 0; i%d < %u; i%d++) {", depth, depth, 1 + pick(3), depth);
        indent++;
        statements(2, depth - 1);
        indent--;
        line("}");
        break;
    default:
        line("if (x%u %% 3 == %u) {", x, pick(3));
        indent++;
        statements(2, depth - 1);
        indent--;
        line("} else {");
        indent++;
        statements(2, depth - 1);
        indent--;
        line("}");
    }
}

static void statements(int count, int depth)
{
    for (int i = 0; i < count; i++)
        statement(depth);
}

/* ---- functions ---- */

static void define(void)
{
    int parameters = 4 + function % 3 * 3;
    printf("%snode f%d(", pick(2) ? "static __attribute__((noinline)) " : "static ", function);
    for (int i = 0; i < parameters; i++)
        printf(i % 2 ? "long a%d, " : "node a%d, ", i);
    printf("int depth)\n{\n");
    line("vector v = {1, 2};");
    for (int i = 0; i < REFERENCES; i++)
        line("node r%d = %s;", i, i % 2 ? "globals[1]" : i < parameters ? (char[]){'a', (char)('0' + i), 0} : "NULL");
    for (int i = 0; i < NUMBERS; i++)
        line("long x%d = %s;", i, 2 * i + 1 < parameters ? (char[]){'a', (char)('1' + 2 * i), 0} : "5");
    line("if (depth <= 0)");
    line("    return r%u;", reference());
    statements(4 + (int)pick(6), DEPTH);
    for (int i = 0; i < REFERENCES; i++)
        line("note(sum(r%d));", i);
    line("note((long)(v[0] + v[1]) %% 1000003);");
    line("return r%u;", reference());
    printf("}\n\n");
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    state = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
    for (int i = 0; i < 8; i++)
        pick(2);
    printf("#include \"prologue.h\"\n\n");
    for (function = 0; function < FUNCTIONS; function++)
        define();
    printf("int main(void)\n{\n");
    line("node r0 = cons(1, NULL), r1 = cons(2, r0), r2 = r1, r3 = NULL, r4 = r0;");
    line("long x0 = 1, x1 = 2, x2 = 3;");
    line("int depth = 3;");
    for (int i = 0; i < FUNCTIONS; i++) {
        call(i);
        line("note(sum(r%d) + x%d);", i % REFERENCES, i % NUMBERS);
    }
    line("note(sum(r0) + sum(r1) + sum(r2) + sum(r3) + sum(r4) + x0 + x1 + x2);");
    line("printf(\"%%lx after %%ld\\n\", trace, notes);");
    line("return 0;");
    printf("}\n");
    return 0;
}
