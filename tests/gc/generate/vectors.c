/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What clang never makes from C: vectors of references and of derived pointers, and landing pads after which the function
 * continues. The same random numbers write each function in two languages: in IR its four references are a vector, in C an array.
 *     node vN(node a, node b, struct nodes tn_ref *memory, long x)        a and b are not null, memory holds four */

#include <stdarg.h>
#include <stdio.h>

#include "generate.h"

#define V "<4 x ptr addrspace(10)>"
#define D "<4 x ptr addrspace(11)>"
#define P "ptr addrspace(10)"

static uint64_t state;
static int as_ir;
static int value, vector, number, block; /* the last value number; those of the vector, of x and of the current block */

static unsigned pick(unsigned count)
{
    return pick_from(&state, count);
}

__attribute__((format(printf, 1, 2))) static void c(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!as_ir) {
        printf("    ");
        vprintf(format, arguments);
        putchar('\n');
    }
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void ir(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (as_ir) {
        printf("  ");
        vprintf(format, arguments);
        putchar('\n');
    }
    va_end(arguments);
}

static void begin_block(int new)
{
    block = new;
    if (as_ir)
        printf("b%d:\n", block);
}

/* ---- pieces of IR; each answers the number of its value ---- */

static int extract(int from, unsigned lane)
{
    ir("%%n%d = extractelement " V " %%n%d, i64 %u", value + 1, from, lane);
    return ++value;
}

static int insert(int into, int element, unsigned lane)
{
    ir("%%n%d = insertelement " V " %%n%d, " P " %%n%d, i64 %u", value + 1, into, element, lane);
    return ++value;
}

struct order {
    unsigned lane[4];
};

static struct order pick_order(void)
{
    return (struct order){{pick(4), pick(4), pick(4), pick(4)}};
}

static int shuffled(int from, struct order o)
{
    ir("%%n%d = shufflevector " V " %%n%d, " V " poison, <4 x i32> <i32 %u, i32 %u, i32 %u, i32 %u>", value + 1, from,
       o.lane[0], o.lane[1], o.lane[2], o.lane[3]);
    return ++value;
}

/* A new node: a safepoint. */
static int cons(int x, int next)
{
    ir("%%n%d = call " P " @ir_cons(i64 %%n%d, " P " %%n%d)", value + 1, x, next);
    return ++value;
}

/* ---- what a function does ---- */

static void insert_one(void)
{
    unsigned lane = pick(4), other = pick(4), from = pick(3);
    static const char *const names[] = {"a", "b"};
    if (from < 2)
        c("v[%u] = %s;", lane, names[from]);
    else
        c("v[%u] = ir_cons(x, v[%u]);", lane, other);
    vector = insert(vector, from < 2 ? (int)from : cons(number, extract(vector, other)), lane);
}

static void shuffle(void)
{
    struct order o = pick_order();
    c("shuffle(v, %u, %u, %u, %u);", o.lane[0], o.lane[1], o.lane[2], o.lane[3]);
    vector = shuffled(vector, o);
}

/* Selects one of two vectors, as a whole or lane by lane. */
static void choose(void)
{
    struct order o = pick_order();
    unsigned bit = pick(4), mask = pick(16), whole = pick(2);
    c("{");
    c("    node w[] = {v[0], v[1], v[2], v[3]};");
    c("    shuffle(w, %u, %u, %u, %u);", o.lane[0], o.lane[1], o.lane[2], o.lane[3]);
    for (unsigned i = 0; i < 4; i++)
        if (whole)
            c("    v[%u] = x & %u ? v[%u] : w[%u];", i, 1u << bit, i, i);
        else if (mask >> i & 1)
            c("    v[%u] = w[%u];", i, i);
    c("}");
    int other = shuffled(vector, o);
    if (whole) {
        ir("%%n%d = and i64 %%n%d, %u", value + 1, number, 1u << bit);
        ir("%%n%d = icmp ne i64 %%n%d, 0", value + 2, value + 1);
        ir("%%n%d = select i1 %%n%d, " V " %%n%d, " V " %%n%d", value + 3, value + 2, vector, other);
        vector = value += 3;
    } else {
        ir("%%n%d = select <4 x i1> <i1 %u, i1 %u, i1 %u, i1 %u>, " V " %%n%d, " V " %%n%d", value + 1, mask & 1,
           mask >> 1 & 1, mask >> 2 & 1, mask >> 3 & 1, other, vector);
        vector = ++value;
    }
}

/* Stores the vector and loads it after a safepoint. */
static void through_memory(void)
{
    unsigned lane = pick(4);
    c("for (int i = 0; i < 4; i++)");
    c("    memory->items[i] = v[i];");
    c("memory->items[%u] = ir_cons(x, v[0]);", lane);
    c("for (int i = 0; i < 4; i++)");
    c("    v[i] = memory->items[i];");
    int base = value + 1;
    ir("%%n%d = addrspacecast " P " %%n2 to ptr addrspace(11)", base);
    ir("%%n%d = getelementptr i8, ptr addrspace(11) %%n%d, i64 8", base + 1, base);
    ir("store " V " %%n%d, ptr addrspace(11) %%n%d, align 8", vector, base + 1);
    ir("%%n%d = getelementptr i8, ptr addrspace(11) %%n%d, i64 %u", base + 2, base, 8 + 8 * lane);
    value += 3;
    int made = cons(number, extract(vector, 0));
    ir("store " P " %%n%d, ptr addrspace(11) %%n%d", made, base + 2);
    ir("%%n%d = load " V ", ptr addrspace(11) %%n%d, align 8", value + 1, base + 1);
    vector = ++value;
}

/* A vector of derived pointers that is live across a safepoint. */
static void derive(void)
{
    unsigned lane = pick(4), fixed = pick(2);
    c("ir_cons(x, v[%u]);", lane);
    if (fixed)
        c("x = x * 3 + v[%u]->value;", lane);
    else
        c("x = x * 3 + v[x & 3]->value;");
    int at = value + 2;
    ir("%%n%d = addrspacecast " V " %%n%d to " D, at - 1, vector);
    ir("%%n%d = getelementptr i8, " D " %%n%d, i64 16", at, at - 1);
    value += 2;
    cons(number, extract(vector, lane));
    ir("%%n%d = and i64 %%n%d, %u", value + 1, number, fixed ? 0 : 3);
    ir("%%n%d = or i64 %%n%d, %u", value + 2, value + 1, fixed ? lane : 0);
    ir("%%n%d = extractelement " D " %%n%d, i64 %%n%d", value + 3, at, value + 2);
    ir("%%n%d = load i64, ptr addrspace(11) %%n%d", value + 4, value + 3);
    ir("%%n%d = mul i64 %%n%d, 3", value + 5, number);
    ir("%%n%d = add i64 %%n%d, %%n%d", value + 6, value + 5, value + 4);
    number = value += 6;
}

static void loop(void)
{
    unsigned rounds = 1 + pick(4), lane = pick(4);
    struct order o = pick_order();
    c("for (long i = 0; i < %u; i++) {", rounds);
    c("    node made = ir_cons(i, v[%u]);", lane);
    c("    shuffle(v, %u, %u, %u, %u);", o.lane[0], o.lane[1], o.lane[2], o.lane[3]);
    c("    v[%u] = made;", lane);
    c("}");
    /* The loop has a fixed shape, so the numbers of the values that its phis receive are known in advance. */
    int body = ++value, i = value + 1, all = value + 2, next = value + 6, done = value + 9;
    ir("br label %%b%d", body);
    int before = block;
    begin_block(body);
    ir("%%n%d = phi i64 [0, %%b%d], [%%n%d, %%b%d]", i, before, next + 1, body);
    ir("%%n%d = phi " V " [%%n%d, %%b%d], [%%n%d, %%b%d]", all, vector, before, next, body);
    value += 2;
    int made = cons(i, extract(all, lane));
    vector = insert(shuffled(all, o), made, lane);
    ir("%%n%d = add i64 %%n%d, 1", value + 1, i);
    ir("%%n%d = icmp ult i64 %%n%d, %u", value + 2, value + 1, rounds);
    ir("br i1 %%n%d, label %%b%d, label %%b%d", value + 2, body, done);
    value = done;
    begin_block(done);
}

/* A call that may continue at the landing pad, from where the function continues with another vector. */
static void landing_pad(void)
{
    unsigned lane = pick(4);
    struct order o = pick_order();
    c("if (ir_throws(v[%u], x))", lane);
    c("    shuffle(v, %u, %u, %u, %u);", o.lane[0], o.lane[1], o.lane[2], o.lane[3]);
    int thrown = extract(vector, lane), good = value + 2, pad = value + 3, join = value + 4;
    ir("%%n%d = invoke i64 @ir_throws(" P " %%n%d, i64 %%n%d) to label %%b%d unwind label %%b%d", value + 1, thrown,
       number, good, pad);
    value += 4;
    begin_block(good);
    ir("br label %%b%d", join);
    begin_block(pad);
    ir("%%n%d = landingpad { ptr, i32 } cleanup", value + 1);
    value++;
    int other = shuffled(vector, o);
    ir("br label %%b%d", join);
    begin_block(join);
    ir("%%n%d = phi " V " [%%n%d, %%b%d], [%%n%d, %%b%d]", value + 1, vector, good, other, pad);
    vector = ++value;
}

static void define(int function)
{
    static void (*const steps[])(void) = {insert_one, shuffle, choose, through_memory, derive, loop, landing_pad};
    if (as_ir)
        printf("define " P " @v%d(" P " %%n0, " P " %%n1, " P
               " %%n2, i64 %%n3) personality ptr @__gcc_personality_v0 {\n",
               function);
    else
        printf("node v%d(node a, node b, struct nodes tn_ref *memory, long x)\n{\n", function);
    value = number = 3;
    begin_block(0);
    c("node v[] = {a, b, b, a};");
    ir("%%n4 = insertelement " V " poison, " P " %%n0, i64 0");
    value++;
    for (unsigned lane = 1; lane < 4; lane++)
        vector = insert(value, lane < 3, lane);
    for (unsigned i = 4 + pick(6); i; i--)
        steps[pick(sizeof steps / sizeof *steps)]();
    for (unsigned lane = 0; lane < 4; lane++) {
        c("ir_note(v[%u]);", lane);
        ir("call void @ir_note(" P " %%n%d)", extract(vector, lane));
    }
    unsigned lane = pick(4);
    c("return v[%u];", lane);
    ir("ret " P " %%n%d", extract(vector, lane));
    printf("}\n\n");
}

void define_vectors(uint64_t seed, int ir_wanted)
{
    state = seeded(seed + 1000000);
    as_ir = ir_wanted;
    if (as_ir)
        printf("declare " P " @ir_cons(i64, " P ")\ndeclare void @ir_note(" P ")\n"
               "declare i64 @ir_throws(" P ", i64)\ndeclare i32 @__gcc_personality_v0(...)\n\n");
    for (int function = 0; function < VECTORS; function++)
        define(function);
}
