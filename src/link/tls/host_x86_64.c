/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded x86-64 code calls with conventions of its own. These functions preserve every register but the one of
 * their result, so the rare case, in which the thread's block lacks initial values, saves all that C may change. */

#include "link/arch/x86_64/xsave.h"
#include "link/tls/tls.h"

_Static_assert(offsetof(struct tn__tls_header, newest) == 8, "");

static struct tn__xsave saved __asm__("tn__tls_saved") __attribute__((used));

_Static_assert(offsetof(struct tn__xsave, components) == 0 && offsetof(struct tn__xsave, size) == 4, "");

/* The x87 stack and its registers belong to the first component; code that asks for a variable may have some. */
void tn__tls_look(void)
{
    if (saved.size)
        return;
    saved = tn__xsave_look();
    saved.components |= 1;
}

__asm__(".pushsection .text.tn__tls_keeping,\"ax\",@progbits\n"
        ".type tn__tls_keeping,@function\n"
        ".balign 16\n"
        "tn__tls_keeping:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    pushq %rdx\n"
        "    pushq %rsi\n"
        "    pushq %rdi\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %r10\n"
        "    pushq %r11\n"
        "    xorl %edx, %edx\n"
        "    movl tn__tls_saved+4(%rip), %ecx\n"
        "    testl %ecx, %ecx\n"
        "    jz 1f\n"
        "    subq %rcx, %rsp\n"
        "    andq $-64, %rsp\n" TN__XSAVE_CLEAR_HEADER /* */
        "    movl tn__tls_saved(%rip), %eax\n"
        "    xsave64 (%rsp)\n"
        "    call tn__tls_catch_up\n"
        "    movl tn__tls_saved(%rip), %eax\n"
        "    xorl %edx, %edx\n"
        "    xrstor64 (%rsp)\n"
        "    jmp 2f\n"
        "1:  subq $512, %rsp\n"
        "    andq $-64, %rsp\n"
        "    fxsave64 (%rsp)\n"
        "    call tn__tls_catch_up\n"
        "    fxrstor64 (%rsp)\n"
        "2:  leaq -72(%rbp), %rsp\n"
        "    popq %r11\n"
        "    popq %r10\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rdi\n"
        "    popq %rsi\n"
        "    popq %rdx\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    popq %rbp\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    .cfi_restore %rbp\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tls_keeping, .-tn__tls_keeping\n"
        ".popsection\n");

/* TLS descriptor (Oliva and Araujo, "Thread-Local Storage Descriptors"): %rax points at {this function, offset};
 * answers the offset from the thread pointer in %rax and preserves every other register. */
__asm__(".pushsection .text.tn__tls_descriptor,\"ax\",@progbits\n"
        ".globl tn__tls_descriptor\n"
        ".hidden tn__tls_descriptor\n"
        ".type tn__tls_descriptor,@function\n"
        ".balign 16\n"
        "tn__tls_descriptor:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq %rcx, -8(%rsp)\n" /* below the stack pointer, where signals leave 128 bytes alone */
        "    movq tn_tls_reserve@gottpoff(%rip), %rcx\n"
        "    movq %fs:8(%rcx), %rcx\n"
        "    cmpq tn__tls_newest(%rip), %rcx\n"
        "    movq -8(%rsp), %rcx\n"
        "    jne 2f\n"
        "1:  movq 8(%rax), %rax\n"
        "    ret\n"
        "2:  call tn__tls_keeping\n"
        "    jmp 1b\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor, .-tn__tls_descriptor\n"
        ".popsection\n");

/* Descriptor of a variable in a Mach-O object (Darwin's convention): %rdi points at {this function, a number, the
 * distance from the thread pointer}; answers the address in %rax and preserves every other register. */
__asm__(".pushsection .text.tn__tlv_get_address,\"ax\",@progbits\n"
        ".globl tn__tlv_get_address\n"
        ".hidden tn__tlv_get_address\n"
        ".type tn__tlv_get_address,@function\n"
        ".balign 16\n"
        "tn__tlv_get_address:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq tn_tls_reserve@gottpoff(%rip), %rax\n"
        "    movq %fs:8(%rax), %rax\n"
        "    cmpq tn__tls_newest(%rip), %rax\n"
        "    jne 2f\n"
        "1:  movq 16(%rdi), %rax\n"
        "    addq %fs:0, %rax\n"
        "    ret\n"
        "2:  call tn__tls_keeping\n"
        "    jmp 1b\n"
        "    .cfi_endproc\n"
        ".size tn__tlv_get_address, .-tn__tlv_get_address\n"
        ".popsection\n");
