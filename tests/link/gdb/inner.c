/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

int host_callback(int x);

int inner(int x)
{
    int doubled = host_callback(x);
    return doubled + 1;
}
