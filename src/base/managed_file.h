/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The interface between the loader of files with managed code and the collector. Neither refers to the other: the
 * client passes the collector's pointer (tn_managed_runtime) to the loader. */

#ifndef TENON_MANAGED_FILE_H
#define TENON_MANAGED_FILE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Checks the sections "tenon_abi" of an object, file or program with managed code: for each part of it, the version of
 * the runtime ABI that it was compiled for, 4 bytes each. TN_ENOTSUP if one of them is not TN_GC_ABI, or there is
 * none. */
int tn__managed_check_abi(const char *name, const uint8_t *versions, uint64_t size, struct tn_error *err);

/* A file in memory. Everything stays in place until `leave`. */
struct tn__managed_file {
    const char *name;
    const uint8_t *abi, *maps, *roots; /* versions of the ABI, stack maps and root ranges (doc/GC.md) */
    uint64_t abi_size, maps_size, roots_size;
    struct tn_range code, data; /* functions and ranges outside of these are errors */
};

struct tn_managed_runtime {
    /* Looks up a symbol that compiled code needs. *value is its address or, if *is_variable, the distance of a
     * thread-local variable from the thread pointer. False if there is none of that name. */
    bool (*find)(const char *name, uint64_t *value, bool *is_variable);
    /* Registers a file before its code runs. After TN_EFORMAT or TN_ENOMEM nothing is registered. */
    int (*enter)(const struct tn__managed_file *file, struct tn_error *err);
    void (*leave)(const struct tn__managed_file *file);
};

#pragma GCC visibility pop
#endif
