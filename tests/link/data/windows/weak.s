# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Weak names for symbols of other objects, and for each other.

        .weak   of_other, of_weak, anti
        .set    of_other, host_add
        .set    of_weak, of_other
        .weak_anti_dep anti
        .set    anti, here
        .text
        .globl  here
here:   movl    $5, %eax
        retq
