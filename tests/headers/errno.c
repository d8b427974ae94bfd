/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    errno = 0;
    FILE *file = fopen("/nonexistent/file", "r");
    printf("%d %d %s\n", file == NULL, errno == ENOENT, strerror(errno));
    errno = 0;
    unsigned long value = strtoul("99999999999999999999999", NULL, 10);
    printf("%lu %d\n", value, errno == ERANGE);
    errno = 0;
    volatile double minus_one = -1;
    printf("%d ", sqrt(minus_one) != 0);
    printf("%d\n", errno == EDOM);
    errno = EILSEQ;
    perror("perror");
    return 0;
}
