/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <syslog.h>
#include <unistd.h>

int main(void)
{
    dup2(1, 2);
    int before = setlogmask(LOG_UPTO(LOG_ERR));
    openlog("tenon-test", LOG_CONS & 0, LOG_USER);
    syslog(LOG_DEBUG, "masked out, and never sent");
    closelog();
    printf("%x ", (unsigned)before);
    printf("%x\n", (unsigned)setlogmask(0));
    return 0;
}
