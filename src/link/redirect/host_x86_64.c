/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy stubs of x86-64.
 *
 * The entry preserves every register that any calling convention passes arguments in, except r11, which linkers may use
 * between caller and callee (psABI, "Register Usage"). These are all call-clobbered general registers, and the vector
 * and mask registers in full (xsave.h). The x87 stack is empty at a call. */

#include "link/arch/x86_64/xsave.h"
#include "link/redirect/cell.h"

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
_Static_assert(offsetof(struct tn__lazy_frame, cell) == 8, "pushed last but one");
_Static_assert(offsetof(struct tn__lazy_frame, managed_registers) == 16, "");
_Static_assert(offsetof(struct tn__lazy_frame, managed_stack) == 24, "");
_Static_assert(offsetof(struct tn__lazy_frame, registers) == 32, "144 bytes before what %rbp points at");
_Static_assert(offsetof(struct tn__lazy_frame, frame_pointer) == 176, "");
_Static_assert(offsetof(struct tn__lazy_frame, return_address) == 184, "");
_Static_assert(offsetof(struct tn__lazy_frame, stack) == 192, "");
_Static_assert(sizeof(struct tn__lazy_way) == 32 && offsetof(struct tn__lazy_way, components) == 8, "");

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
            "    andq $-64, %rsp\n" TN__XSAVE_CLEAR_HEADER /* */                                                       \
            "    movl tn__lazy_ways+" #way "+8(%rip), %eax\n"                                                          \
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

enum { FXSAVE, XSAVE, XSAVEC };

static struct tn__lazy_way ways[] __asm__("tn__lazy_ways") __attribute__((used)) = {
    [FXSAVE] = {.size = TN__FXSAVE_SIZE + TN__XSAVE_HEADER_SIZE, .name = "fxsave", .entry = tn__lazy_entry_fxsave},
    [XSAVE] = {.name = "xsave", .entry = tn__lazy_entry_xsave},
    [XSAVEC] = {.name = "xsavec", .entry = tn__lazy_entry_xsavec},
};

static void look(void)
{
    struct tn__xsave found = tn__xsave_look();
    ways[XSAVE].components = ways[XSAVEC].components = found.components;
    ways[XSAVE].size = found.size;
    ways[XSAVEC].size = found.compact_size;
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
