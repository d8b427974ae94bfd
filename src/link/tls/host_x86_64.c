/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded x86-64 code calls with conventions of its own. These functions preserve every register but the one of
 * their result, so the rare case, in which initial values lack, or memory for dynamic variables, saves all that C may
 * change. */

#include "link/arch/x86_64/xsave.h"
#include "link/tls/tls.h"

_Static_assert(offsetof(struct tn__tls_header, newest) == 8, "");
_Static_assert(offsetof(struct tn__tls_own, bias) == 0 && offsetof(struct tn__tls_own, newest) == 8, "");
_Static_assert(offsetof(struct tn__tls_dynamic, descriptor) == 0, "");

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

/* %rax is a place (tls.h) and becomes a distance from the thread pointer. */
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
        "    movq %rax, %rdi\n"
        "    xorl %edx, %edx\n"
        "    movl tn__tls_saved+4(%rip), %ecx\n"
        "    testl %ecx, %ecx\n"
        "    jz 1f\n"
        "    subq %rcx, %rsp\n"
        "    andq $-64, %rsp\n" TN__XSAVE_CLEAR_HEADER /* */
        "    movl tn__tls_saved(%rip), %eax\n"
        "    xsave64 (%rsp)\n"
        "    call tn__tls_at\n"
        "    movq %rax, -8(%rbp)\n"
        "    movl tn__tls_saved(%rip), %eax\n"
        "    xorl %edx, %edx\n"
        "    xrstor64 (%rsp)\n"
        "    jmp 2f\n"
        "1:  subq $512, %rsp\n"
        "    andq $-64, %rsp\n"
        "    fxsave64 (%rsp)\n"
        "    call tn__tls_at\n"
        "    movq %rax, -8(%rbp)\n"
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
        "    subq %fs:0, %rax\n"
        "    popq %rbp\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    .cfi_restore %rbp\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tls_keeping, .-tn__tls_keeping\n"
        ".popsection\n");

/* TLS descriptor (Oliva and Araujo, "Thread-Local Storage Descriptors"): %rax points at {this function, place}; answers
 * the offset from the thread pointer in %rax and preserves every other register. Distances are negative here, but for
 * the 0 that local-dynamic code adds offsets to; places of dynamic variables are positive. */
__asm__(".pushsection .text.tn__tls_descriptor,\"ax\",@progbits\n"
        ".globl tn__tls_descriptor\n"
        ".hidden tn__tls_descriptor\n"
        ".type tn__tls_descriptor,@function\n"
        ".balign 16\n"
        "tn__tls_descriptor:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq 8(%rax), %rax\n"
        "    movq %rcx, -8(%rsp)\n" /* below the stack pointer, where signals leave 128 bytes alone */
        "    testq %rax, %rax\n"
        "    jg 1f\n"
        "    movq tn_tls_reserve@gottpoff(%rip), %rcx\n"
        "    movq %fs:8(%rcx), %rcx\n"
        "    cmpq tn__tls_newest(%rip), %rcx\n"
        "    movq -8(%rsp), %rcx\n"
        "    jne tn__tls_keeping\n"
        "    ret\n"
        "1:  movq tn__tls_dynamic(%rip), %rcx\n"
        "    jmp *(%rcx)\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor, .-tn__tls_descriptor\n"
        ".popsection\n");

/* %rcx is below the stack pointer. */
extern const char dynamic[] __asm__("tn__tls_descriptor_dynamic") __attribute__((visibility("hidden")));
__asm__(".pushsection .text.tn__tls_descriptor_dynamic,\"ax\",@progbits\n"
        ".globl tn__tls_descriptor_dynamic\n"
        ".hidden tn__tls_descriptor_dynamic\n"
        ".type tn__tls_descriptor_dynamic,@function\n"
        ".balign 16\n"
        "tn__tls_descriptor_dynamic:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq tn__tls_own@gottpoff(%rip), %rcx\n"
        "    movq %fs:8(%rcx), %rcx\n"
        "    cmpq tn__tls_dynamic_newest(%rip), %rcx\n"
        "    jne 2f\n"
        "    movq tn__tls_own@gottpoff(%rip), %rcx\n"
        "    addq %fs:(%rcx), %rax\n"
        "    movq -8(%rsp), %rcx\n"
        "    subq %fs:0, %rax\n"
        "    ret\n"
        "2:  movq -8(%rsp), %rcx\n"
        "    jmp tn__tls_keeping\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor_dynamic, .-tn__tls_descriptor_dynamic\n"
        ".popsection\n");

const void *const tn__tls_dynamic_descriptor = dynamic;

/* Descriptor of a variable in a Mach-O object (Darwin's convention): %rdi points at {this function, a number, the
 * place}; answers the address in %rax and preserves every other register. */
__asm__(".pushsection .text.tn__tlv_get_address,\"ax\",@progbits\n"
        ".globl tn__tlv_get_address\n"
        ".hidden tn__tlv_get_address\n"
        ".type tn__tlv_get_address,@function\n"
        ".balign 16\n"
        "tn__tlv_get_address:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    leaq 8(%rdi), %rax\n"
        "    call tn__tls_descriptor\n"
        "    addq %fs:0, %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tlv_get_address, .-tn__tlv_get_address\n"
        ".popsection\n");
