/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    printf("%d %d %u %ld %lu %lld\n", CHAR_BIT, INT_MIN, UINT_MAX, LONG_MAX, ULONG_MAX, LLONG_MIN);
    printf("%d %d %d\n", SCHAR_MIN, MB_LEN_MAX, PATH_MAX);
    printf("%d %ld\n", sysconf(_SC_OPEN_MAX) > 0, sysconf(_SC_IOV_MAX));
    return 0;
}
