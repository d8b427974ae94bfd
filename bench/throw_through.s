# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The object of which bench/throw.c makes many: a function that calls another, int f(int (*function)(void *), void *context).

	.text
	.globl	f0000000
	.type	f0000000, @function
f0000000:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	f0000000, .-f0000000
	.section .note.GNU-stack,"",@progbits
