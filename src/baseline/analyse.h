/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiling has to know of a flat function before its first instruction: the order of blocks, and how long values
 * live. One pass over blocks, and one over instructions. */

#ifndef TENON_BASELINE_ANALYSE_H
#define TENON_BASELINE_ANALYSE_H

#include "baseline/ir.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

enum { TN__FLAT_NOWHERE = UINT32_MAX };

/* The arrays are kept from one function to the next. */
struct tn__flat_analysis {
    uint32_t *order;        /* the blocks that can be reached, in reverse post-order */
    uint32_t *position;     /* of each block there; TN__FLAT_NOWHERE: it cannot be reached */
    uint32_t *predecessors; /* of each block: how many edges lead to it from blocks that can be reached */
    uint32_t reached;
    /* Of each value: how many uses it has in such blocks, the positions of the first and the last block in which it
     * lives, and whether another block than that of its definition uses it. Those of phis are written, and may live,
     * before their block. */
    uint32_t *uses, *defined, *last;
    bool *crosses;
    uint32_t *block_memory, *value_memory; /* where the others are */
    size_t block_room, value_room, cross_room;
};

/* Of a function that is well-formed. False: out of memory. */
bool tn__flat_analyse(const struct tn__flat *flat, struct tn__flat_analysis *analysis);
void tn__flat_analysis_free(struct tn__flat_analysis *analysis);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
