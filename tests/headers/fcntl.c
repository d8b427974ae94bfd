/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    char path[] = "/tmp/tenon-fcntl-XXXXXX";
    int fd = mkstemp(path), copy = fcntl(fd, F_DUPFD_CLOEXEC, 50);
    printf("%d ", copy >= 50);
    printf("%d ", fcntl(copy, F_GETFD));
    printf("%d\n", fcntl(fd, F_GETFL) & O_ACCMODE);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    printf("%d\n", fcntl(fd, F_SETLK, &lock));
    printf("%d ", posix_fallocate(fd, 0, 1000));
    printf("%d\n", posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
    printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
    int folder = open("/tmp", O_DIRECTORY | O_RDONLY);
    int again = openat(folder, path + 5, O_RDONLY);
    printf("%d\n", again >= 0);
    unlink(path);
    printf("%d\n", creat("/nonexistent/x", 0600));
    return 0;
}
