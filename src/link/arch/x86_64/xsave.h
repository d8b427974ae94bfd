/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How this processor's vector and mask registers are saved in full, by code that runs on it (host_x86_64.c): as whole
 * components of XSAVE, so that a future register takes one more bit. */

#ifndef TENON_XSAVE_H
#define TENON_XSAVE_H

#include <cpuid.h>

#include "base/base.h"

enum { TN__FXSAVE_SIZE = 512, TN__XSAVE_HEADER_SIZE = 64 };

/* Bytes of an area that holds these components; 0: there is no XSAVE, or no XSAVEC. */
struct tn__xsave {
    uint32_t components, size, compact_size;
};

/* SSE, AVX, mask registers, upper halves of zmm0-15, zmm16-31, r16-r31. */
enum { TN__XSAVE_WANTED = 1u << 1 | 1u << 2 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 19 };

static inline uint32_t tn__xsave_enabled(void)
{
    uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Sizes and places of the components come from CPUID leaf 0xd (Intel SDM, volume 1, section 13.4). */
static inline uint32_t tn__xsave_size(uint32_t components, bool compact)
{
    enum { FIRST_EXTENDED = 2, COMPONENTS = 32 };
    uint64_t end = TN__FXSAVE_SIZE + TN__XSAVE_HEADER_SIZE;
    for (uint32_t i = FIRST_EXTENDED; i < COMPONENTS; i++) {
        uint32_t size, offset, flags, unused;
        if (!(components >> i & 1))
            continue;
        __cpuid_count(0xd, i, size, offset, flags, unused);
        (void)unused;
        end = compact ? tn__align_up(end, flags & 2 ? 64 : 1) + size : tn__max64(end, (uint64_t)offset + size);
    }
    return (uint32_t)tn__align_up(end, 64);
}

static inline struct tn__xsave tn__xsave_look(void)
{
    struct tn__xsave found = {0};
    uint32_t eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
        return found;
    found.components = tn__xsave_enabled() & TN__XSAVE_WANTED;
    found.size = tn__xsave_size(found.components, false);
    if (__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) && eax & bit_XSAVEC)
        found.compact_size = tn__xsave_size(found.components, true);
    return found;
}

/* XSAVE leaves most of its header as it was, and XRSTOR wants zeros there (Intel SDM, volume 1, section 13.4.2). Of the
 * area at %rsp; %rdx is 0. */
#define TN__XSAVE_CLEAR_HEADER                                                                                         \
    "    movq %rdx, 512(%rsp)\n"                                                                                       \
    "    movq %rdx, 520(%rsp)\n"                                                                                       \
    "    movq %rdx, 528(%rsp)\n"                                                                                       \
    "    movq %rdx, 536(%rsp)\n"                                                                                       \
    "    movq %rdx, 544(%rsp)\n"                                                                                       \
    "    movq %rdx, 552(%rsp)\n"                                                                                       \
    "    movq %rdx, 560(%rsp)\n"                                                                                       \
    "    movq %rdx, 568(%rsp)\n"

#endif
