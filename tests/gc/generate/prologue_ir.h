/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Third part of the prologue: what functions in IR call. */

node ir_cons(long value, node next)
{
    return cons(value, next);
}

void ir_note(node list)
{
    note(sum(list));
}

/* Throws where the plain program answers 1: its functions are in C. */
long ir_throws(node list, long x)
{
    node mine = cons(x, list);
    note(sum(mine));
    if ((unsigned long)(x + sum(list)) % 3)
        return 0;
#ifndef TN_UNMANAGED
    _Unwind_ForcedUnwind(&exception, go_on, NULL);
#endif
    return 1;
}

struct four {
    node items[4];
};

struct four ir_four(node a, node b, long x)
{
    struct four four = {{cons(x, a), b, cons(x + 1, b), a}};
    return four;
}

long ir_sum(node list)
{
    return sum(list);
}

struct mixed {
    node first;
    long number;
    node pair[2];
};

/* Looks at memory that does not move meanwhile: raw, or what an object owns. */
long ir_look(const long *raw, long x)
{
    cons(x, NULL);
    return raw[2];
}

#ifdef TN_UNMANAGED
#define owned

/* What ir.c defines: the conventions of C differ from machine to machine. */
static long ir_takes(struct four four, node list)
{
    node first = cons(1, list);
    four.items[1] = cons(2, four.items[3]);
    return sum(four.items[0]) + sum(four.items[1]) + sum(four.items[2]) + sum(first);
}

static struct couple ir_couple(node a, node b, long x)
{
    struct couple couple = {cons(x, a), b};
    return couple;
}
#else
#define owned __attribute__((address_space(13)))
#endif

long ir_read(const long owned *memory, long x)
{
    cons(x, NULL);
    return memory[2];
}

/* An object with raw pointers to memory that it owns: its own. */
struct buffer {
    long *data[2], words[8];
};
TN_LEAF(struct buffer);

struct buffer tn_ref *ir_buffer(long x)
{
    struct buffer tn_ref *buffer = tn_new(struct buffer);
    for (int i = 0; i < 8; i++)
        buffer->words[i] = x % 1000003 + i;
    return buffer;
}

struct holder {
    node *data, items[2];
};
TN_TYPE(struct holder, items[0], items[1]);

struct holder tn_ref *ir_holder(node a, node b)
{
    struct holder tn_ref *holder = tn_new(struct holder);
    holder->items[0] = a;
    holder->items[1] = b;
    return holder;
}

void ir_fill(node *items, node first, long x)
{
    for (int i = 0; i < 4; i += 1 + (x & 1))
        items[i] = first = cons(i, i % 2 ? items[i - 1] : first);
}

#ifdef TN_UNMANAGED
static void shuffle(node *v, int a, int b, int c, int d)
{
    node old[] = {v[0], v[1], v[2], v[3]};
    v[0] = old[a], v[1] = old[b], v[2] = old[c], v[3] = old[d];
}
#endif

#ifdef TN_UNMANAGED
/* In IR, both modules define it. */
node ir_once(node list, long x)
{
    return cons(x + 7, cons(x, list));
}
#endif
