/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Statements in C for which there are several threads, which allocate, share objects and wait in native code. */

#include "generate.h"

static const struct kind rows[] = {
    {"threads", "$r = together($w, $r, $r, $x);"},
    {"share", "share($r, $x);"},
    {"waiting thread", "$r = through_thread($r, $N);"},
    {"wait", "note(wait_a_little($r, $N));"},
};
const struct kinds thread_statements = KINDS(rows);
