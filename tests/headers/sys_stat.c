/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int main(void)
{
    char path[] = "/tmp/tenon-stat-XXXXXX", other[100];
    int fd = mkstemp(path);
    struct stat status;
    printf("%zd ", write(fd, "12345", 5));
    printf("%d\n", fchmod(fd, 0640));
    fstat(fd, &status);
    printf("%ld %o %d\n", (long)status.st_size, status.st_mode & 07777, S_ISREG(status.st_mode));
    snprintf(other, sizeof other, "%s.link", path);
    printf("%d ", symlink(path, other));
    lstat(other, &status);
    printf("%d ", S_ISLNK(status.st_mode));
    stat(other, &status);
    printf("%d\n", S_ISREG(status.st_mode));
    struct timespec times[2] = {{1000, 5}, {2000, 6}};
    printf("%d ", utimensat(AT_FDCWD, path, times, 0));
    stat(path, &status);
    printf("%ld.%ld\n", (long)status.st_mtim.tv_sec, (long)status.st_mtim.tv_nsec);
    unlink(other);
    unlink(path);
    printf("%d ", mkdir(path, 0700));
    printf("%d\n", mkfifo(other, 0600));
    struct statvfs volume;
    printf("%d ", statvfs("/", &volume));
    printf("%d\n", volume.f_bsize > 0);
    struct statx more;
    printf("%d ", statx(AT_FDCWD, other, 0, STATX_TYPE, &more));
    printf("%d\n", S_ISFIFO(more.stx_mode));
    unlink(other);
    umask(027);
    printf("%o\n", umask(0));
    return rmdir(path);
}
