/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <utmpx.h>

int main(void)
{
    setutxent();
    struct utmpx *entry = getutxent();
    printf("%d\n", entry == NULL || entry->ut_type >= 0);
    endutxent();
    return 0;
}
