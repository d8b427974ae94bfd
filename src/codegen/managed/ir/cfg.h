/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The blocks of a function, and which lie on every way to others. */

#ifndef TENON_CODEGEN_CFG_H
#define TENON_CODEGEN_CFG_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)

struct tn__cfg {
    struct tn__block {
        LLVMBasicBlockRef block;
        uint32_t *predecessors, predecessor_count; /* each once */
        uint32_t dominator;                        /* immediate */
    } * blocks;                                    /* in reverse postorder */
    uint32_t count;
    struct tn__map numbers; /* of blocks */
};

/* Every block of the function must be reachable. */
struct tn__cfg *tn__cfg_build(struct tn__gc *gc, LLVMValueRef function);
uint32_t tn__cfg_number(const struct tn__cfg *cfg, LLVMBasicBlockRef block);
/* Whether the call lies in the region of this gc_preserve_begin: the call's block must be reachable. */
bool tn__region_covers(const struct tn__cfg *cfg, LLVMValueRef begin, LLVMValueRef call);

#pragma GCC visibility pop
#endif
