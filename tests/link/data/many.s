# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The object of which support/churn.c makes many: each gets another name and answers another number.

	.text
	.globl	f0000000
	.type	f0000000, @function
f0000000:
	.cfi_startproc
	movl	$0x12345678, %eax
	ret
	.cfi_endproc
	.size	f0000000, .-f0000000
	.section .note.GNU-stack,"",@progbits
