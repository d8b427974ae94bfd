/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv, char **envp)
{
    char folder[100], text[20] = {0};
    int ends[2];
    printf("%d %d %d\n", argc, argv[argc] == NULL, envp == environ);
    printf("%d ", pipe(ends));
    printf("%zd ", write(ends[1], "piped", 5));
    printf("%zd %s\n", read(ends[0], text, sizeof text), text);
    printf("%d ", chdir("/usr"));
    printf("%s\n", getcwd(folder, sizeof folder));
    printf("%d ", access("/nonexistent", F_OK));
    printf("%d\n", errno == ENOENT);
    printf("%d %d %d\n", getpid() > 0, getppid() > 0, getuid() == geteuid());
    printf("%ld %ld\n", sysconf(_SC_PAGESIZE), pathconf("/", _PC_NAME_MAX));
    char path[] = "/tmp/tenon-unistd-XXXXXX";
    int fd = mkstemp(path);
    printf("%zd ", pwrite(fd, "abc", 3, 10));
    printf("%d ", ftruncate(fd, 12));
    printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
    printf("%zd ", pread(fd, text, 2, 10));
    printf("%s\n", text);
    printf("%d ", unlink(path));
    printf("%d\n", dup2(fd, 77));
    printf("%d ", gethostname(folder, sizeof folder));
    printf("%d\n", isatty(fd));
    static unsigned char from[4] = "abc", to[4];
    swab(from, to, 2);
    printf("%s %zd\n", to, readlink("/proc/self/exe", folder, 1));
    fflush(stdout);
    execlp("sh", "sh", "-c", "echo executed; exit 8", (char *)NULL);
    return 1;
}
