/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statements in C for the passes that make managed code fast: loops that count, objects that only their function sees
 * and among which it chooses, or that only one turn of a loop sees; and handlers, to which managed and native code
 * throws. A step in IR: a loop whose sum may be reordered. It adds whole numbers, so the order does not matter. */

#include "generate.h"

/* A handler around BODY, with an object that is kept meanwhile; AFTER follows when something was caught. */
#define GUARDED(HANDLER, OBJECT, VALUE, BODY, AFTER)                                                                   \
    "{\n"                                                                                                              \
    "    node " OBJECT " = " VALUE ";\n"                                                                               \
    "    HANDLER(" HANDLER ");\n"                                                                                      \
    "    if (TRY(" HANDLER ") == 0) {\n" BODY "        tenon_pop_handler(1);\n"                                        \
    "    } else {\n"                                                                                                   \
    "        tenon_pop_handler(1);\n"                                                                                  \
    "        note(sum(" OBJECT "));\n" AFTER "    }\n"                                                                 \
    "}\n"

static const struct kind statements[] = {
    {"counted loop", "unsigned long s$n = 0, to$n = (unsigned long)$x % ($I * 9 + 1);\n"
                     "for (unsigned long i = 0; i < to$n; i++)\n"
                     "    s$n = s$n * 3 + (i ^ $N);\n"
                     "note((long)(s$n % 1000003));"},
    {"counted loop over references", "struct nodes tn_ref *n$n = make_nodes(4 + $N, $r);\n"
                                     "long s$n = 0;\n"
                                     "for (int i = 0; i < $1000 * 7; i += $N) {\n"
                                     "    node tn_ref *at$n = &n$n->items[i & 3];\n"
                                     "    s$n += value(*at$n) * i;\n"
                                     "    if (i % 1000 == 999)\n"
                                     "        *at$n = cons(i, *at$n);\n"
                                     "}\n"
                                     "note(s$n % 1000003 + sum(n$n->items[$K]));"},
    {"counted loop along a list", "node l$n = $A;\n"
                                  "for (long i = 0; i != $I; i++)\n"
                                  "    l$n = l$n && l$n->next ? l$n->next : $B;\n"
                                  "note(sum(l$n));"},
    {"nested counted loops", "long s$n = 0;\n"
                             "for (long i = 0; i < 3 + $4; i++)\n"
                             "    for (long k = $x & 7; k < $I; k++) {\n"
                             "        if ((k * i & 1023) == 1000)\n"
                             "            break;\n"
                             "        s$n += k ^ i;\n"
                             "    }\n"
                             "note(s$n % 1000003);"},
    {"chosen in a loop", "node z$n = cons($x, $A);\n"
                         "for (long i = 0; i < 3 + $N; i++)\n"
                         "    z$n = (z$n->value + i) % 3 ? cons(z$n->value * 3 + i, i & 1 ? z$n->next : $B) : z$n;\n"
                         "note(z$n->value);\n"
                         "$r = cons($x, z$n->next);"},
    {"chosen of two", "node one$n = cons($x, $A), two$n = cons($x, $B), z$n = $X & 1 ? one$n : two$n;\n"
                      "$r = cons($x, $r);\n"
                      "note(z$n->value + sum(z$n->next));"},
    {"chosen and written", "node one$n = cons($x, $A), two$n = cons($x, $B), z$n = $X & 1 ? one$n : two$n;\n"
                           "for (long i = 0; i < 2 + $N; i++) {\n"
                           "    node y$n = z$n;\n"
                           "    one$n->value += z$n->value + i;\n"
                           "    z$n = i % 2 ? two$n : one$n;\n"
                           "    if (i == $E)\n"
                           "        two$n->next = cons(y$n->value, two$n->next);\n"
                           "}\n"
                           "note(z$n->value + sum(z$n->next));"},
    {"chosen or kept", "node one$n = cons($x, $A), z$n = $X & 1 ? one$n : cons($x, one$n);\n"
                       "if ($Y & 1)\n"
                       "    $r = z$n;\n"
                       "note(z$n->value + sum(one$n->next));"},
    {"object of each turn", "for (long i = 0; i < 2 + $N; i++) {\n"
                            "    struct scratch tn_ref *s$n = tn_new(struct scratch);\n"
                            "    s$n->numbers[i & 127] = $x + i;\n"
                            "    $r = cons(i, $r);\n"
                            "    note(s$n->numbers[i & 127] + s$n->numbers[(i - 1) & 127] + !s$n->kept);\n"
                            "}"},
    {"array of each turn", "size_t l$n = 200 + ($x & 63);\n"
                           "long s$n = 0;\n"
                           "for (long i = 0; i < 2 + $N; i++) {\n"
                           "    struct longs tn_ref *a$n = tn_new_array(struct longs, items, l$n);\n"
                           "    s$n = s$n * 3 + a$n->items[(i + 199) % 200] + (long)a$n->length;\n"
                           "    for (size_t k = (size_t)i; k < l$n; k += 3)\n"
                           "        a$n->items[k] = i + (long)k;\n"
                           "    s$n += a$n->items[i];\n"
                           "}\n"
                           "note(s$n % 1000003);"},
    {"handler", GUARDED("h$n", "kept$n", "$r", "throwing(kept$n, $4);\n", "")},
    {"nested handlers", GUARDED("h$n", "kept$n", "$r",
                                GUARDED("i$n", "inner$n", "cons($x, kept$n)", "throwing(inner$n, $4);\n",
                                        "throwing(cons($x, inner$n), $4);\n"),
                                "")},
    {"handlers in a loop",
     "for (int i = 0; i < 2 + $N; i++)\n" GUARDED("h$n", "kept$n", "cons(i, $r)", "throwing(kept$n, i);\n", "")},
    /* Only the function sees the object, which is not written to any more. */
    {"handler after a new object", "{\n"
                                   "    node own$n = cons($x, $A);\n"
                                   "    own$n->value += $I;\n"
                                   "    HANDLER(h$n);\n"
                                   "    if (TRY(h$n) == 0) {\n"
                                   "        throwing(own$n->next, $4);\n"
                                   "        note(own$n->value);\n"
                                   "    }\n"
                                   "    tenon_pop_handler(1);\n"
                                   "    note(own$n->value + sum(own$n->next));\n"
                                   "}"},
    /* The C library's frames are abandoned. */
    {"thrown by a callback", "{\n"
                             "    node kept$n = cons($x, $r);\n"
                             "    HANDLER(h$n);\n"
                             "    if (TRY(h$n) == 0)\n"
                             "        throwing_callback(2 + $6);\n"
                             "    tenon_pop_handler(1);\n"
                             "    note(sum(kept$n));\n"
                             "}"},
};
const struct kinds loop_statements = KINDS(statements);

static const struct kind steps[] = {
    {"sum in any order",
     "{\n"
     "    double sum = $I;\n"
     "    for (long i = 0, to = 1 + (x & 63); i < to; i++)\n"
     "        sum = sum + (double)i * 3.0;\n"
     "    x = x * 3 + (long)sum;\n"
     "}",
     "%low$n = and i64 $x, 63\n"
     "%to$n = add i64 %low$n, 1\n"
     "br label %loop$n\n"
     "loop$n:\n"
     "%i$n = phi i64 [ 0, %$b ], [ %next$n, %loop$n ]\n"
     "%sum$n = phi double [ $I.0, %$b ], [ %total$n, %loop$n ]\n"
     "%d$n = uitofp i64 %i$n to double\n"
     "%total$n = call double @llvm.fmuladd.f64(double %d$n, double 3.0, double %sum$n)\n"
     "%next$n = add nuw i64 %i$n, 1\n"
     "%more$n = icmp ult i64 %next$n, %to$n\n"
     "br i1 %more$n, label %loop$n, label %done$n, !llvm.loop !99\n"
     "done$n:\n"
     "%number$n = fptosi double %total$n to i64\n"
     "%times$n = mul i64 $x, 3\n"
     "%x$n = add i64 %times$n, %number$n\n"
     "=x %x$n"},
};
const struct kinds loop_steps = KINDS(steps);
