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
    printf("%d %d %d\n", copy >= 50, fcntl(copy, F_GETFD), fcntl(fd, F_GETFL) & O_ACCMODE);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    printf("%d\n", fcntl(fd, F_SETLK, &lock));
    printf("%d %d\n", posix_fallocate(fd, 0, 1000), posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
    printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
    int folder = open("/tmp", O_DIRECTORY | O_RDONLY);
    int again = openat(folder, path + 5, O_RDONLY);
    printf("%d\n", again >= 0);
    unlink(path);
    printf("%d\n", creat("/nonexistent/x", 0600));
    return 0;
}
