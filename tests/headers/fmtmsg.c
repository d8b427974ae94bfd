/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fmtmsg.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    dup2(1, 2);
    int rc = fmtmsg(MM_PRINT, "tenon:test", MM_WARNING, "a message", "an action", "tag:1");
    printf("%d\n", rc == MM_OK);
    return 0;
}
