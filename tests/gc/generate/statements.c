/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statements in C that are hard for a moving collector: derived pointers that are live across allocations, in
 * loops and selected from several; many arguments; structs by value; setjmp; unwinding; pins; weak references;
 * callbacks from the C library. */

#include "generate.h"

static const struct kind rows[] = {
    {"cons", "$A = cons($x + $1000, $r);"},
    {"cons on itself", "$A = cons($x, $A);"},
    {"store", "if ($A) $A->other = $r;"},
    {"load next", "if ($A) $r = $A->next;"},
    {"load other", "if ($A) $r = $A->other;"},
    {"copy", "if ($A && $B) *$A = *$B;"},
    {"sum", "$X = $X * 3 + sum($r);"},
    {"vector", "v = v * 2 + (vector){$x % 1000, value($r)};"},
    {"wide vector", "w = w + (wide){$x % 100, 1, value($r), 2};"},
    {"global", "globals[$4] = $r;"},
    {"call", "$r = $f;"},
    {"call of another module", "$r = $h;"},
    {"linkonce function", "$r = ir_once($r, $x);"},
    {"callbacks", "$r = sorted($r, 2 + $6);"},
    {"abandoned callback", "$r = left($r, 2 + $6);"},
    {"blocking call", "note(tn_call_blocking((void *)count_nodes, $x & 7, 2, 3, 4) + value($r));"},
    {"variable arguments", "note(digits($x % 1000, value($r), 1.5));"},
    /* At each call in it, the deferred block is a landing pad that uses the current values of its variables. */
    {"unwinding", "$r = caught($u, $r, $r, $x);"},
    {"function in IR", "node m$n = $A ? $A : cons($50, NULL);\n"
                       "$r = $i(m$n, cons($x, $r), make_nodes(4, m$n), $x % 1000003);"},
    {"derived loop", "if ($A) {\n"
                     "    struct pairs tn_ref *a$n = make_pairs($N, $r);\n"
                     "    struct pairs tn_ref *b$n = make_pairs($N + 2, $r);\n"
                     "    struct pair tn_ref *p$n = $x & 1 ? &a$n->items[0] : &b$n->items[$3];\n"
                     "    for (long i = 0; i < $N; i++, p$n++) {\n"
                     "        node g = cons($x, p$n->first);\n"
                     "        p$n->number += value(g) + i;\n"
                     "        p$n->first = $r;\n"
                     "    }\n"
                     "    note(sum_pairs(a$n) + sum_pairs(b$n));\n"
                     "}"},
    {"walk an array", "struct pairs tn_ref *w$n = make_pairs(1 + $12, $r);\n"
                      "struct pair tn_ref *q$n = &w$n->items[0];\n"
                      "for (size_t i = 0; i < w$n->length; i++, q$n++) {\n"
                      "    $r = cons(q$n->number, q$n->first);\n"
                      "    $x += q$n->number;\n"
                      "}"},
    /* Addresses of references in an array, selected from two, and one that is live across the allocation of the value
     * stored there. */
    {"slots", "struct nodes tn_ref *n$n = make_nodes(4 + $N, $r);\n"
              "node tn_ref *s$n = $x & 1 ? &n$n->items[$K] : &n$n->items[$L];\n"
              "node old$n = *s$n;\n"
              "*s$n = cons($x, old$n);\n"
              "for (size_t i = 1; i < n$n->length; i++)\n"
              "    n$n->items[i] = cons((long)i, n$n->items[i - 1]);\n"
              "note(sum(n$n->items[$K]) + sum(old$n));"},
    {"jump", "{\n"
             "    jmp_buf here$n, *outer$n = target;\n"
             "    node kept$n = $r;\n"
             "    target = &here$n;\n"
             "    if (setjmp(here$n) == 0)\n"
             "        thrower(kept$n, $4);\n"
             "    target = outer$n;\n"
             "    note(sum(kept$n));\n"
             "}"},
    {"pin", "if ($A) {\n"
            "    TN_PIN(raw$n, $A);\n"
            "    long before$n = value($A);\n"
            "    $B = cons(before$n, NULL);\n"
            "    note(((const long *)raw$n)[2] == before$n);\n"
            "}"},
    {"weak reference", "struct tn_weak tn_ref *weak$n = tn_new_weak($A);\n"
                       "node strong$n = $A;\n"
                       "$r = cons($100, $r);\n"
                       "note(weak$n->target == (void tn_ref *)strong$n);"},
    {"triple", "struct triple t$n = make_triple($r, $r, $x);\n"
               "$r = cons(t$n.number, t$n.a);\n"
               "note(sum(t$n.a) + sum(t$n.b));"},
    {"couple", "struct couple c$n = swapped((struct couple){$r, $r});\n"
               "$r = cons($x, c$n.a);\n"
               "note(sum(c$n.a) - sum(c$n.b));"},
};
const struct kinds ordinary_statements = KINDS(rows);
