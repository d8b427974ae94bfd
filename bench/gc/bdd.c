/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Binary decision diagrams (R. Bryant, "Graph-based algorithms for Boolean function manipulation", IEEE Trans.
 * Computers 1986): in how many ways can N queens be placed? Every node is in a table, so that equal ones are one;
 * results are in another, which forgets.
 *     bdd [N] */

#include "workload.h"

struct node {
    uint64_t variable;
    struct node tn_ref *low, *high, *chain;
};
TN_TYPE(struct node, low, high, chain);

typedef struct node tn_ref *node;

struct nodes {
    size_t length;
    node items[];
};
TN_ARRAY_OF_REFERENCES(struct nodes, items);

/* a AND b, or a OR b, is `result`. */
struct result {
    node a, b, result;
    uint64_t is_or;
};
TN_TYPE(struct result, a, b, result);

struct results {
    size_t length;
    struct result tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct results, items);

enum { TABLE = 1 << 16, CACHE = 1 << 14, LAST = 1 << 20 };

static node no, yes;
static struct nodes tn_ref *table;
static struct results tn_ref *cache;
static uint64_t made, board;

/* Objects move: their hashes are those of what is in them, which the low bits of `variable` do not need. */
static uint64_t hash_of(node n)
{
    return n->variable >> 24;
}

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    return ((a * 0x9E3779B97F4A7C15u + b) * 0xC2B2AE3D27D4EB4Fu + c) * 0x165667B19E3779F9u >> 24;
}

static uint64_t level_of(node n)
{
    return n->variable & (LAST * 16 - 1);
}

static node make(uint64_t level, node low, node high)
{
    if (low == high)
        return low;
    uint64_t hash = mix(level, hash_of(low), hash_of(high)), at = hash % TABLE;
    for (node n = table->items[at]; n; n = n->chain)
        if (level_of(n) == level && n->low == low && n->high == high)
            return n;
    node n = tn_new(struct node);
    n->variable = level | hash << 24;
    n->low = low;
    n->high = high;
    n->chain = table->items[at];
    table->items[at] = n;
    made++;
    return n;
}

static node combine(node a, node b, bool is_or)
{
    if (a == b || a == (is_or ? no : yes) || b == (is_or ? yes : no))
        return b;
    if (b == (is_or ? no : yes) || a == (is_or ? yes : no))
        return a;
    uint64_t at = mix(hash_of(a), hash_of(b), is_or) % CACHE;
    struct result tn_ref *known = cache->items[at];
    if (known && known->a == a && known->b == b && known->is_or == is_or)
        return known->result;
    uint64_t level = level_of(a) < level_of(b) ? level_of(a) : level_of(b);
    node low = combine(level_of(a) == level ? a->low : a, level_of(b) == level ? b->low : b, is_or);
    node high = combine(level_of(a) == level ? a->high : a, level_of(b) == level ? b->high : b, is_or);
    struct result tn_ref *result = tn_new(struct result);
    result->a = a;
    result->b = b;
    result->is_or = is_or;
    node n = make(level, low, high);
    result->result = n;
    cache->items[at] = result;
    return n;
}

static bool attacks(uint64_t a, uint64_t b)
{
    uint64_t row = a / board, column = a % board, other_row = b / board, other_column = b % board;
    return row == other_row || column == other_column || row + column == other_row + other_column ||
           row + other_column == other_row + column;
}

static node place(uint64_t square)
{
    node all = make(square, no, yes);
    for (uint64_t other = 0; other < board * board; other++)
        if (other != square && attacks(square, other))
            all = combine(all, make(other, yes, no), false);
    return all;
}

static double count(node n, uint64_t level)
{
    double scale = 1;
    uint64_t at = n == no || n == yes ? board * board : level_of(n);
    for (; level < at; level++)
        scale *= 2;
    if (n == no || n == yes)
        return n == yes ? scale : 0;
    return scale * (count(n->low, at + 1) + count(n->high, at + 1));
}

int main(int argc, char **argv)
{
    board = argument(argc, argv, 1, 8);
    table = tn_new_array(struct nodes, items, TABLE);
    cache = tn_new_array(struct results, items, CACHE);
    no = tn_new(struct node);
    yes = tn_new(struct node);
    no->variable = LAST;
    yes->variable = LAST | 1 << 24;
    node all = yes;
    for (uint64_t row = 0; row < board; row++) {
        node any = no;
        for (uint64_t column = 0; column < board; column++)
            any = combine(any, place(row * board + column), true);
        all = combine(all, any, false);
    }
    printf("queens %llu: %.0f ways, %llu nodes made\n", (unsigned long long)board, count(all, 0),
           (unsigned long long)made);
    return 0;
}
