# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What code.c refers to, for oracle_lld.c and lld-link: each in 16 bytes of a section of their own.

        .section .host,"xr"
        .globl  host_add, host_mul, host_var, other_static, _fltused, defined_twice, entry
host_add:
        .zero   16
host_mul:
        .zero   16
host_var:
        .zero   16
other_static:
        .zero   16
_fltused:
        .zero   16
defined_twice:
        .zero   16
entry:
        .zero   16
