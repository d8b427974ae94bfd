/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Counters of calls and back edges, shared by the pass that inserts them (src/codegen/managed/lower/counters.c) and by
 * the function that code calls when one runs out (tiers_queue.c). Each part of a module has one such record in its own
 * data. Three symbols tell it apart, all of them absolute and local to the library, which the JIT defines when the
 * module is added: so objects do not depend on thresholds, and no address of the JIT is in them. */

#ifndef TENON_JIT_COUNTER_H
#define TENON_JIT_COUNTER_H

#include <stdint.h>

/* Prefixes of the symbols; what follows is struct tn_part_request.counters, for the first one after the level. */
#define TN__COUNTER_LIMITS "tenon.limits." /* LEVEL.COUNTERS: calls, and back edges that count as one << 32 */
#define TN__COUNTER_MODULE "tenon.module." /* the number of the module */
#define TN__COUNTER_TOLD   "tenon.told."   /* the function that is called */

struct tn__counter {
    int32_t calls, loops; /* how many are left: the code decrements them, relaxed, and calls when one is negative */
    uint64_t limits;      /* the first symbol */
    uint64_t module;      /* the second one */
    uint32_t part, level;
    uint32_t told, padding; /* how often the function was called; 0: the counters have not been set */
};

/* What distinguishes the counters of a part from those of others. */
struct tn__counters {
    const char *tag;
    uint32_t part;
    int level;
};

#endif
