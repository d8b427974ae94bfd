/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char path[] = "/tmp/tenon-aio-XXXXXX", text[20] = {0};
    int fd = mkstemp(path);
    unlink(path);
    struct aiocb block = {.aio_fildes = fd, .aio_buf = (void *)"asynchronous", .aio_nbytes = 12};
    const struct aiocb *list[] = {&block};
    aio_write(&block);
    while (aio_error(&block) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    printf("%zd\n", aio_return(&block));
    struct aiocb again = {
        .aio_fildes = fd, .aio_buf = text, .aio_nbytes = 5, .aio_offset = 1, .aio_lio_opcode = LIO_READ};
    struct aiocb *all[] = {&again};
    printf("%d ", lio_listio(LIO_WAIT, all, 1, NULL));
    printf("%zd ", aio_return(&again));
    printf("%s\n", text);
    return 0;
}
