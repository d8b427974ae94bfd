/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
    char path[] = "/tmp/tenon-uio-XXXXXX", a[4] = {0}, b[10] = {0};
    int fd = mkstemp(path);
    unlink(path);
    struct iovec out[] = {{(void *)"vec", 3}, {(void *)"tored", 5}}, in[] = {{a, 3}, {b, 9}};
    printf("%zd ", writev(fd, out, 2));
    printf("%zd ", preadv(fd, in, 2, 0));
    printf("%s %s\n", a, b);
    return 0;
}
