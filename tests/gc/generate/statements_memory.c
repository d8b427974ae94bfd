/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statements in C with references in stack memory: arrays, structs of all sizes that are returned and copied,
 * memory of other types, addresses of local variables that functions store through. */

#include "generate.h"

static const struct kind rows[] = {
    {"local array", "node l$n[4] = {$r, $r, $r, $r};\n"
                    "for (long i = 0; i < 2 + $4; i++)\n"
                    "    l$n[i & 3] = cons(i, l$n[(i + $N) & 3]);\n"
                    "$r = l$n[$x & 3];"},
    {"filled array", "node l$n[3];\n"
                     "fill(l$n, 3, $r, $x);\n"
                     "$r = cons($x, l$n[$x & 1]);\n"
                     "note(sum(l$n[$3]));"},
    {"address of a local", "exchange(&$A, &$B, $x);"},
    {"address of one of two", "node *p$n = $X & 1 ? &$A : &$B;\n"
                              "*p$n = cons($x, *p$n);\n"
                              "exchange(p$n, &$r, $X);"},
    {"returned array", "struct row w$n = make_row($r, $r, $x);\n"
                       "$r = cons(w$n.number, w$n.items[$3]);\n"
                       "note(sum(w$n.items[$X & 1]));"},
    {"copied struct", "struct row w$n = make_row($r, $r, $x), y$n = w$n;\n"
                      "w$n.items[$3] = cons($x, y$n.items[$3]);\n"
                      "y$n = $x & 1 ? w$n : y$n;\n"
                      "$r = cons(w$n.number, y$n.items[$3]);\n"
                      "note(sum(y$n.items[$3]) + sum(w$n.items[$3]));"},
    {"nested structs", "struct nested m$n = {{$r, $r}, $x, make_row($r, $r, $x)};\n"
                       "m$n.pair = swapped(m$n.pair);\n"
                       "struct nested k$n[2] = {m$n, m$n};\n"
                       "k$n[$2].row.items[$3] = cons($x, k$n[$2].pair.a);\n"
                       "note(sum(k$n[$2].row.items[$3]) + sum(k$n[$2].pair.b) + k$n[1].number % 1000003);"},
    {"moved array", "node l$n[4] = {$r, $r, $r, cons($x, $r)};\n"
                    "memmove(l$n + 1, l$n, 3 * sizeof *l$n);\n"
                    "l$n[0] = cons($x, l$n[3]);\n"
                    "note(sum(l$n[$4]) + sum(l$n[$4]));"},
    {"conditional struct", "struct node o$n = {$r, $r, 5}, *q$n = &o$n;\n"
                           "if ($A)\n"
                           "    o$n = *$A;\n"
                           "$r = cons(q$n->value, q$n->next);\n"
                           "q$n->other = cons($x, q$n->other);\n"
                           "if ($A)\n"
                           "    *$A = o$n;"},
    {"array in a loop", "for (long i = 0; i < 3; i++) {\n"
                        "    node in$n[2] = {$r, cons(i, $r)};\n"
                        "    fill(in$n, (int)i, $r, $x);\n"
                        "    $r = cons(i, in$n[$2]);\n"
                        "}"},
    /* The C library hands the address of stack memory to a function that reads and changes references there. */
    {"context of a callback", "struct context s$n = {{$r, $r}, $x & 3};\n"
                              "note(search(&s$n));\n"
                              "note(sum(s$n.pair.a) + sum(s$n.pair.b));"},
    {"words", "struct couple e$n = {$r, $r};\n"
              "long words$n[2];\n"
              "memcpy(words$n, &e$n, sizeof e$n);\n"
              "e$n.a = cons($x, e$n.b);\n"
              "memcpy(&e$n.b, &words$n[$2], sizeof e$n.b);\n"
              "note(sum(e$n.a) + sum(e$n.b));"},
    {"bytes", "struct row e$n = make_row($r, $r, $x);\n"
              "char bytes$n[sizeof e$n] __attribute__((aligned(8)));\n"
              "memcpy(bytes$n, &e$n, sizeof e$n);\n"
              "e$n = make_row($r, e$n.items[$3], $x);\n"
              "memcpy(&e$n, bytes$n, 16);\n"
              "note(sum(e$n.items[$3]) + sum(e$n.items[$3]) + e$n.number % 1000003);"},
    {"bytes of an object", "struct nodes tn_ref *from$n = make_nodes(4, $r);\n"
                           "node words$n[4];\n"
                           "long numbers$n[4];\n"
                           "memcpy(words$n, &from$n->items[0], sizeof words$n);\n"
                           "memcpy(numbers$n, &from$n->items[0], sizeof numbers$n);\n"
                           "$r = cons($x, $r);\n"
                           "struct nodes tn_ref *to$n = make_nodes(9, NULL);\n"
                           "memcpy(&to$n->items[$2], words$n, sizeof words$n);\n"
                           "memcpy(&to$n->items[5], numbers$n, sizeof numbers$n);\n"
                           "note(sum(to$n->items[$4]) + sum(to$n->items[$4]) + sum(to$n->items[5 + $K]));"},
    {"struct by value", "struct row w$n = make_row($r, $r, $x);\n"
                        "note(sum_row($x, w$n, $r));\n"
                        "$r = cons($x, w$n.items[$3]);"},
    {"struct in, struct out", "struct row w$n = rotated(make_row($r, $r, $x), $x & 3);\n"
                              "$r = cons(w$n.number, w$n.items[$3]);\n"
                              "note(sum(w$n.items[$3]));"},
    {"result into bytes", "char bytes$n[sizeof(struct row)] __attribute__((aligned(8)));\n"
                          "*(struct row *)bytes$n = make_row($r, $r, $x);\n"
                          "$r = cons($x, $r);\n"
                          "$r = ((struct row *)bytes$n)->items[$3];"},
};
const struct kinds memory_statements = KINDS(rows);
