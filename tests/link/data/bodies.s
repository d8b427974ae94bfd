# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Functions named like managed code: `f` is an entry and `f.m` its body; so are `g` and `g.m` unless, as here, the latter has a body.

.macro function name
.globl "\name"
.type "\name", @function
"\name": ret
.size "\name", . - "\name"
.endm
.text
function f.m
function f
function g
function g.m
function g.m.m
function h.m
function i
function ii.m
function .m
.section .note.GNU-stack,"",@progbits
