/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames of managed code on x86-64. */

#include "gc/threads/threads.h"

const int tn__frame_record = 0;

uintptr_t tn__plain_address(uintptr_t address)
{
    return address;
}
