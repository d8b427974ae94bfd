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
    printf("%d ", mprotect(memory, 4096, PROT_READ));
    printf("%c\n", memory[100]);
    printf("%d ", madvise(memory + 4096, 4096, MADV_DONTNEED));
    printf("%d\n", memory[5000]);
    memory = mremap(memory, size, 5 * 4096, MREMAP_MAYMOVE);
    printf("%d ", memory != MAP_FAILED);
    printf("%d\n", munmap(memory, 5 * 4096));
    char name[50];
    snprintf(name, sizeof name, "/tenon-%d", getpid());
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    printf("%d ", ftruncate(fd, 4096));
    printf("%d\n", shm_unlink(name));
    char *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *b = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    strcpy(a, "seen twice");
    printf("%s ", b);
    printf("%d\n", msync(a, 4096, MS_SYNC));
    printf("%d\n", memfd_create("x", MFD_CLOEXEC) > 2);
    return 0;
}
