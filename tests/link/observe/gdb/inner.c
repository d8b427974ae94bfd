/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

int host_callback(int x);
void abort(void); /* far away: through a stub */
int inner(int x)
{
    int doubled = host_callback(x);
    if (doubled < 0)
        abort();
    return doubled + 1;
}
