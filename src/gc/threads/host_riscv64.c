/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames of managed code on RISC-V. */

#include "gc/threads/threads.h"

/* The frame pointer is the stack pointer at the beginning of the function. */
const int tn__frame_record = -16;

uintptr_t tn__plain_address(uintptr_t address)
{
    return address;
}
