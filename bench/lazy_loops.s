# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Loops for bench/lazy.c: void NAME(long times) calls `body` so often, directly, through its stub, or through a pointer.

	.text
	.macro	loop name, callee
	.globl	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq	%rdi, %rbx
	.balign	32
1:	call	\callee
	decq	%rbx
	jnz	1b
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	\name, .-\name
	.endm

	loop	call_directly, body
	loop	call_stub, stub
	loop	call_pointer, *pointer(%rip)

	.globl	body
	.type	body, @function
	.balign	64
body:
	.cfi_startproc
	ret
	.cfi_endproc
	.size	body, .-body

	.section .data.rel,"aw"
	.balign	8
pointer:
	.quad	body
	.section .note.GNU-stack,"",@progbits
