/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames of managed code on AArch64. */

#include "gc/threads/threads.h"

const int tn__frame_record = 0;

/* xpaclri, which is no operation on processors without FEAT_PAuth: functions may sign their return address. */
uintptr_t tn__plain_address(uintptr_t address)
{
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
}
