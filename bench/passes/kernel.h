/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the kernels of `make bench-passes` share. They are collected C in the naive form that a front end would emit:
 * small values are boxes, which are objects of the heap that never change. In the unmanaged twin (-DTN_UNMANAGED, clang
 * -O2), boxes are plain values, which is the most that removing allocations can give; other objects come from the
 * allocator of bench/gc/twin.h. */

#ifndef BENCH_PASSES_KERNEL_H
#define BENCH_PASSES_KERNEL_H

#include "bench/gc/workload.h"

/* BOX(type): a box, or its value. NEW_BOX(type, MEMBERS...) makes one, UNBOX(box) is its value. */
#ifdef TN_UNMANAGED
#define BOX(type)          type
#define NEW_BOX(type, ...) ((type){__VA_ARGS__})
#define UNBOX(box)         (box)
#else
#define BOX(type) type tn_ref *
#define NEW_BOX(type, ...)                                                                                             \
    ({                                                                                                                 \
        type tn_ref *new_box = tn_new(type);                                                                           \
        *new_box = (type){__VA_ARGS__};                                                                                \
        new_box;                                                                                                       \
    })
#define UNBOX(box) (*(box))
#endif

struct vector {
    size_t length;
    double items[];
};

#endif
