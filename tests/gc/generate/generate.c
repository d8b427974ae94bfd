/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints a program in collected C that prints a trace of its computations. The program depends only on the seed.
 *     generate SEED        the program; its functions of vectors.c are in C, which only ordinary compilers understand
 *     generate SEED ir     these functions in IR
 * Functions call earlier ones. Each has references, numbers and vectors in local variables, and statements that are hard for a
 * moving collector: derived pointers that are live across allocations, in loops and selected from several; many arguments;
 * structs by value; setjmp; unwinding; pins; weak references; callbacks from the C library. */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

enum { FUNCTIONS = 6, REFERENCES = 5, NUMBERS = 3, DEPTH = 3 };

static uint64_t state;
static int indent = 1, names, function;

uint64_t seeded(uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
    for (int i = 0; i < 8; i++)
        pick_from(&state, 2);
    return state;
}

unsigned pick_from(uint64_t *from, unsigned count)
{
    *from ^= *from << 13;
    *from ^= *from >> 7;
    *from ^= *from << 17;
    return (unsigned)(*from >> 11) % count;
}

static unsigned pick(unsigned count)
{
    return pick_from(&state, count);
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

/* Stores the result of a call in a local variable. */
static void call(int callee)
{
    printf("%*sr%u = f%d(", 4 * indent, "", reference(), callee);
    for (int i = 0; i < 4 + callee % 3 * 3; i++)
        printf(i % 2 ? "x%u, " : "r%u, ", i % 2 ? number() : reference());
    printf("depth - 1);\n");
}

static void call_one(void)
{
    if (function)
        call((int)pick((unsigned)function));
}

/* ---- statements ---- */

static void statements(int count, int depth);

static void derived_loop(void)
{
    int n = names++;
    line("if (r%u) {", reference());
    indent++;
    unsigned rounds = 1 + pick(8);
    line("struct pairs tn_ref *a%d = make_pairs(%u, r%u);", n, rounds, reference());
    line("struct pairs tn_ref *b%d = make_pairs(%u, r%u);", n, rounds + 2, reference());
    line("struct pair tn_ref *p%d = x%u & 1 ? &a%d->items[0] : &b%d->items[%u];", n, number(), n, n, pick(3));
    line("for (long i = 0; i < %u; i++, p%d++) {", rounds, n);
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

static void couples(void)
{
    int n = names++;
    line("struct couple c%d = swapped((struct couple){r%u, r%u});", n, reference(), reference());
    line("r%u = cons(x%u, c%d.a);", reference(), number(), n);
    line("note(sum(c%d.a) - sum(c%d.b));", n, n);
}

/* Addresses of references in an array, selected from two, and one that is live across the allocation of the value
 * stored there. */
static void slots(void)
{
    int n = names++;
    unsigned count = 2 + pick(6), at = pick(count);
    line("struct nodes tn_ref *n%d = make_nodes(%u, r%u);", n, count, reference());
    line("node tn_ref *s%d = x%u & 1 ? &n%d->items[%u] : &n%d->items[%u];", n, number(), n, at, n, pick(count));
    line("node old%d = *s%d;", n, n);
    line("*s%d = cons(x%u, old%d);", n, number(), n);
    line("for (size_t i = 1; i < n%d->length; i++)", n);
    line("    n%d->items[i] = cons((long)i, n%d->items[i - 1]);", n, n);
    line("note(sum(n%d->items[%u]) + sum(old%d));", n, at, n);
}

/* At each call in it, the deferred block is a landing pad that uses the current values of its variables. */
static void unwound(void)
{
    line("r%u = caught(u%u, r%u, r%u, x%u);", reference(), pick(2), reference(), reference(), number());
}

static void vectors(void)
{
    int n = names++;
    line("node m%d = r%u ? r%u : cons(%u, NULL);", n, n % REFERENCES, n % REFERENCES, pick(50));
    line("r%u = v%u(m%d, cons(x%u, r%u), make_nodes(4, m%d), x%u %% 1000003);", reference(), pick(VECTORS), n, number(),
         reference(), n, number());
}

static void calls_out(void)
{
    unsigned r = reference();
    switch (pick(3)) {
    case 0:
        line("note(tn_call_blocking((void *)count_nodes, x%u & 7, 2, 3, 4) + value(r%u));", number(), r);
        break;
    case 1:
        line("note(digits(x%u %% 1000, value(r%u), 1.5));", number(), r);
        break;
    default:
        line("r%u = left(r%u, %u);", r, reference(), 2 + pick(6));
    }
}

/* One line each; they use two references, a number and a random number. */
static const char *const lines[] = {
    "r%1$u = cons(x%3$u + %4$u, r%2$u);",
    "r%1$u = cons(x%3$u, r%2$u);",
    "if (r%1$u) r%1$u->other = r%2$u;",
    "if (r%2$u) r%1$u = r%2$u->next;",
    "if (r%2$u) r%1$u = r%2$u->other;",
    "if (r%1$u && r%2$u) *r%1$u = *r%2$u;",
    "x%3$u = x%3$u * 3 + sum(r%1$u);",
    "v = v * 2 + (vector){x%3$u %% 1000, value(r%1$u)};",
    "w = w + (wide){x%3$u %% 100, 1, value(r%1$u), 2};",
    "r%1$u = sorted(r%2$u, 2 + %4$u %% 6);",
    "globals[%4$u %% 4] = r%1$u;",
};

static void (*const pieces[])(void) = {derived_loop, walk_array, slots,   pins,    weak,      structs,
                                       couples,      jump,       unwound, vectors, calls_out, call_one};

static void block(int depth)
{
    indent++;
    statements(2, depth - 1);
    indent--;
}

static void statement(int depth)
{
    unsigned which = pick(depth ? 26 : 22);
    if (which < 11) {
        unsigned r = reference(), s = reference(), x = number(), any = pick(1000);
        line(lines[which], r, s, x, any);
    } else if (which < 23) {
        pieces[pick(sizeof pieces / sizeof *pieces)]();
    } else if (which < 25) {
        line("if (x%u %% 3 == %u) {", number(), pick(3));
        block(depth);
        line("} else {");
        block(depth);
        line("}");
    } else {
        line("for (int i%d = 0; i%d < %u; i%d++) {", depth, depth, 1 + pick(3), depth);
        block(depth);
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
    line("wide w = {3, 4, 5, 6};");
    for (int i = 0; i < REFERENCES; i++)
        line("node r%d = %s;", i, i % 2 ? "globals[1]" : i < parameters ? (char[]){'a', (char)('0' + i), 0} : "NULL");
    for (int i = 0; i < NUMBERS; i++)
        line("long x%d = %s;", i, 2 * i + 1 < parameters ? (char[]){'a', (char)('1' + 2 * i), 0} : "5");
    line("if (depth <= 0)");
    line("    return r%u;", reference());
    statements(4 + (int)pick(6), DEPTH);
    for (int i = 0; i < REFERENCES; i++)
        line("note(sum(r%d));", i);
    line("note((long)(v[0] + v[1]) %% 1000003 + (long)(w[0] + w[1] + w[2] + w[3]));");
    line("return r%u;", reference());
    printf("}\n\n");
}

/* Functions that end with exceptions in the middle of changes that their deferred blocks read. These blocks declare no
 * variables: clang 22 would use those of its other copy of the block. */
static void define_unwound(int number_of_it)
{
    printf("static __attribute__((noinline)) node u%d(node a, node b, long x)\n{\n", number_of_it);
    line("node k = a, l = b;");
    line("struct pairs tn_ref *pairs = make_pairs(3, a);");
    line("struct pair tn_ref *p = x & 1 ? &pairs->items[1] : &pairs->items[2];");
    line("_Defer {");
    line("    p->first = cons(x, k);");
    line("    note(sum(k) + sum(l) * 3 + sum(p->first) + p->number);");
    line("}");
    for (unsigned i = 3 + pick(4); i; i--)
        switch (pick(5)) {
        case 0:
            line("k = cons(x + %u, %s);", pick(100), pick(2) ? "l" : "k");
            break;
        case 1:
            line("{ node t = k; k = l; l = t; }");
            break;
        case 2:
            line("for (int i = 0; i < %u; i++) {", 1 + pick(3));
            line("    throws(k, x + i);");
            line("    node t = k; k = l; l = cons(i, t);");
            line("}");
            break;
        case 3:
            line("p = x & %u ? &pairs->items[%u] : p;", 1 + pick(4), pick(3));
            break;
        default:
            line("throws(%s, x + %u);", pick(2) ? "l" : "k", pick(3));
        }
    line("return x %% 5 ? k : l;");
    printf("}\n\n");
}

static void define_main(void)
{
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
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    if (argc > 2 && strcmp(argv[2], "ir") == 0) {
        define_vectors(seed, 1);
        return 0;
    }
    state = seeded(seed);
    printf("#include \"prologue.h\"\n\n#ifdef TN_UNMANAGED\n");
    define_vectors(seed, 0);
    printf("#endif\n\n");
    for (int i = 0; i < 2; i++)
        define_unwound(i);
    for (function = 0; function < FUNCTIONS; function++)
        define();
    define_main();
    return 0;
}
