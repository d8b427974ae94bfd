/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    size_t size = 3 * 4096;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 'm', size);
    printf("%d %c\n", mprotect(memory, 4096, PROT_READ), memory[100]);
    printf("%d %d\n", madvise(memory + 4096, 4096, MADV_DONTNEED), memory[5000]);
    memory = mremap(memory, size, 5 * 4096, MREMAP_MAYMOVE);
    printf("%d %d\n", memory != MAP_FAILED, munmap(memory, 5 * 4096));
    char name[50];
    snprintf(name, sizeof name, "/tenon-%d", getpid());
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    printf("%d %d\n", ftruncate(fd, 4096), shm_unlink(name));
    char *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *b = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    strcpy(a, "seen twice");
    printf("%s %d\n", b, msync(a, 4096, MS_SYNC));
    printf("%d\n", memfd_create("x", MFD_CLOEXEC) > 2);
    return 0;
}
