/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statements in C whose functions call code without safepoints, or have native code and threads call it. */

#include "generate.h"

static const struct kind rows[] = {
    {"shape", "make_shape($r, $x);"},
    {"virtual calls", "$r = virtual_calls($r, $x, $N);"},
    {"getters by native code", "note(native_get($N));"},
    {"setters by native code", "note(native_set($x));"},
    {"pointers given to native code",
     "note(native_call(leaf_get, leaf_set, $x) + native_call(own_value, leaf_give, $x));"},
    {"leaf as a callback", "$r = sorted_by_leaf($r, 2 + $N);"},
    {"leaf as a thread", "note(started($r));"},
    {"atomic exchange", "note(exchange_atomically($x));"},
    {"atomic addition", "add_atomically($x);"},
    {"push", "push($x, $N);"},
    {"pop and push", "exchange_on_stack($N);"},
};
const struct kinds leaf_statements = KINDS(rows);
