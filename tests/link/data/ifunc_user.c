/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

int chosen(void);
int (*const other_pointer_to_chosen)(void) = chosen;

int call_from_elsewhere(void)
{
    return chosen() + (other_pointer_to_chosen == chosen ? 1000 : 0);
}
