/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy stubs of x86-64.
 *
 * The entry preserves every register that any calling convention passes arguments in, except r11, which linkers may use
 * between caller and callee (psABI, "Register Usage"). These are all call-clobbered general registers, and the vector
 * and mask registers in full: whole components of XSAVE, so that a future register takes one more bit. The x87 stack is
 * empty at a call. */

#include <cpuid.h>

#include "link/lazy/lazy.h"

/* ---- stubs ---- */

enum { STUB_SIZE = 16, SLOT_FIELD = 7, SLOT_FROM = 11 };

/* endbr64; lea slot(%rip), %r11; jmp *(%r11); int3; int3 */
static void write_stub(uint8_t *out, uint64_t stub, uint64_t slot)
{
    static const uint8_t code[STUB_SIZE] = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d, 0x1d, 0,
                                            0,    0,    0,    0x41, 0xff, 0x23, 0xcc, 0xcc};
    memcpy(out, code, sizeof code);
    tn__put32(out + SLOT_FIELD, (uint32_t)(slot - (stub + SLOT_FROM)));
}

/* Version 1, no augmentation, code alignment 1, data alignment -8, return address in column 16;
 * DW_CFA_def_cfa rsp, 8; DW_CFA_offset rip at cfa-8: as at the first instruction of any function. */
static const uint8_t unwind[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};

/* ---- the entry ---- */

/* The pushes make the struct tn__lazy_frame behind the return address; %rbp points at its member frame_pointer. Ten of
 * its registers are for other processors. */
_Static_assert(offsetof(struct tn__lazy_frame, slot) == 8, "pushed last but one");
_Static_assert(offsetof(struct tn__lazy_frame, managed_registers) == 16, "");
_Static_assert(offsetof(struct tn__lazy_frame, managed_stack) == 24, "");
_Static_assert(offsetof(struct tn__lazy_frame, registers) == 32, "144 bytes before what %rbp points at");
_Static_assert(offsetof(struct tn__lazy_frame, frame_pointer) == 176, "");
_Static_assert(offsetof(struct tn__lazy_frame, return_address) == 184, "");
_Static_assert(offsetof(struct tn__lazy_frame, stack) == 192, "");
_Static_assert(sizeof(struct tn__lazy_way) == 32 && offsetof(struct tn__lazy_way, components) == 8, "");

/* XSAVE leaves most of its header as it was, and XRSTOR wants zeros there (Intel SDM, volume 1, section 13.4.2). */
#define CLEAR_HEADER                                                                                                   \
    "    movq %rdx, 512(%rsp)\n"                                                                                       \
    "    movq %rdx, 520(%rsp)\n"                                                                                       \
    "    movq %rdx, 528(%rsp)\n"                                                                                       \
    "    movq %rdx, 536(%rsp)\n"                                                                                       \
    "    movq %rdx, 544(%rsp)\n"                                                                                       \
    "    movq %rdx, 552(%rsp)\n"                                                                                       \
    "    movq %rdx, 560(%rsp)\n"                                                                                       \
    "    movq %rdx, 568(%rsp)\n"

/* `way`: its distance in tn__lazy_ways. */
#define ENTRY(name, way, save, restore)                                                                                \
    __asm__(".pushsection .text." #name ",\"ax\",@progbits\n"                                                          \
            ".globl " #name "\n"                                                                                       \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ",@function\n"                                                                              \
            ".balign 16\n" #name ":\n"                                                                                 \
            "    .cfi_startproc\n"                                                                                     \
            "    endbr64\n"                                                                                            \
            "    pushq %rbp\n"                                                                                         \
            "    .cfi_def_cfa_offset 16\n"                                                                             \
            "    .cfi_offset %rbp, -16\n"                                                                              \
            "    movq %rsp, %rbp\n"                                                                                    \
            "    .cfi_def_cfa_register %rbp\n"                                                                         \
            "    subq $80, %rsp\n"                                                                                     \
            "    pushq %rax\n"                                                                                         \
            "    pushq %r10\n"                                                                                         \
            "    pushq %r9\n"                                                                                          \
            "    pushq %r8\n"                                                                                          \
            "    pushq %rcx\n"                                                                                         \
            "    pushq %rdx\n"                                                                                         \
            "    pushq %rsi\n"                                                                                         \
            "    pushq %rdi\n"                                                                                         \
            "    xorl %edx, %edx\n"                                                                                    \
            "    pushq %rdx\n"                                                                                         \
            "    pushq %rdx\n"                                                                                         \
            "    pushq %r11\n"                                                                                         \
            "    pushq %rdx\n"                                                                                         \
            "    movq %rsp, %rdi\n"                                                                                    \
            "    subq tn__lazy_ways+" #way "(%rip), %rsp\n"                                                            \
            "    andq $-64, %rsp\n" CLEAR_HEADER "    movl tn__lazy_ways+" #way "+8(%rip), %eax\n"                     \
            "    " save " (%rsp)\n"                                                                                    \
            "    call tn__lazy_resolve\n"                                                                              \
            "    movq %rax, %r11\n"                                                                                    \
            "    movl tn__lazy_ways+" #way "+8(%rip), %eax\n"                                                          \
            "    xorl %edx, %edx\n"                                                                                    \
            "    " restore " (%rsp)\n"                                                                                 \
            "    leaq -144(%rbp), %rsp\n"                                                                              \
            "    popq %rdi\n"                                                                                          \
            "    popq %rsi\n"                                                                                          \
            "    popq %rdx\n"                                                                                          \
            "    popq %rcx\n"                                                                                          \
            "    popq %r8\n"                                                                                           \
            "    popq %r9\n"                                                                                           \
            "    popq %r10\n"                                                                                          \
            "    popq %rax\n"                                                                                          \
            "    addq $80, %rsp\n"                                                                                     \
            "    popq %rbp\n"                                                                                          \
            "    .cfi_def_cfa %rsp, 8\n"                                                                               \
            "    .cfi_restore %rbp\n"                                                                                  \
            "    jmp *%r11\n"                                                                                          \
            "    .cfi_endproc\n"                                                                                       \
            ".size " #name ", .-" #name "\n"                                                                           \
            ".popsection\n")

ENTRY(tn__lazy_entry_fxsave, 0, "fxsave64", "fxrstor64");
ENTRY(tn__lazy_entry_xsave, 32, "xsave64", "xrstor64");
ENTRY(tn__lazy_entry_xsavec, 64, "xsavec64", "xrstor64");

__asm__(".pushsection .text.tn__lazy_removed,\"ax\",@progbits\n"
        ".globl tn__lazy_removed\n"
        ".hidden tn__lazy_removed\n"
        ".type tn__lazy_removed,@function\n"
        ".balign 16\n"
        "tn__lazy_removed:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size tn__lazy_removed, .-tn__lazy_removed\n"
        ".popsection\n");

extern const char tn__lazy_entry_fxsave[], tn__lazy_entry_xsave[], tn__lazy_entry_xsavec[], tn__lazy_removed[];

/* ---- what this processor has ---- */

enum { LEGACY_SIZE = 512, HEADER_SIZE = 64, FIRST_EXTENDED = 2, COMPONENTS = 32 };

/* SSE, AVX, mask registers, upper halves of zmm0-15, zmm16-31, r16-r31. */
static const uint32_t wanted = 1u << 1 | 1u << 2 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 19;

enum { FXSAVE, XSAVE, XSAVEC };

static struct tn__lazy_way ways[] __asm__("tn__lazy_ways") __attribute__((used)) = {
    [FXSAVE] = {.size = LEGACY_SIZE + HEADER_SIZE, .name = "fxsave", .entry = tn__lazy_entry_fxsave},
    [XSAVE] = {.name = "xsave", .entry = tn__lazy_entry_xsave},
    [XSAVEC] = {.name = "xsavec", .entry = tn__lazy_entry_xsavec},
};

static uint32_t enabled_components(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Sizes and places of the components come from CPUID leaf 0xd (Intel SDM, volume 1, section 13.4). */
static void measure(struct tn__lazy_way *way, uint32_t components, bool compact)
{
    uint64_t end = LEGACY_SIZE + HEADER_SIZE;
    for (uint32_t i = FIRST_EXTENDED; i < COMPONENTS; i++) {
        uint32_t size, offset, flags, unused;
        if (!(components >> i & 1))
            continue;
        __cpuid_count(0xd, i, size, offset, flags, unused);
        (void)unused;
        end = compact ? tn__align_up(end, flags & 2 ? 64 : 1) + size : tn__max64(end, (uint64_t)offset + size);
    }
    way->components = components;
    way->size = tn__align_up(end, 64);
}

static void look(void)
{
    uint32_t eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
        return;
    uint32_t components = enabled_components() & wanted;
    measure(&ways[XSAVE], components, false);
    if (__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) && eax & bit_XSAVEC)
        measure(&ways[XSAVEC], components, true);
}

const struct tn__lazy_machine tn__lazy_machine = {
    .stub_size = STUB_SIZE,
    .write_stub = write_stub,
    .ways = ways,
    .way_count = TN_COUNT(ways),
    .look = look,
    .managed_registers = 0x7f,
    .removed = tn__lazy_removed,
    .unwind = unwind,
    .unwind_size = sizeof unwind,
};
