/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_TESTS_FUZZ_H
#define TENON_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry. The bytes are in memory that ends where they end. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
