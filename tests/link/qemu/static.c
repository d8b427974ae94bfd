/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For a host without a dynamic linker: thread-local variables in two threads, an indirect function, calls of the
 * host. */

#include <pthread.h>
#include <stdio.h>

static __thread int counted = 40;
__thread long zeroed;

static int three(void)
{
    return 3;
}

static int (*choose(void))(void)
{
    return three;
}

int chosen(void) __attribute__((ifunc("choose")));
extern int missing __attribute__((weak));

/* In a program, module 1 is the program itself. */
#ifdef __riscv
__asm__(".pushsection .data\n"
        ".balign 8\n"
        "variable_index: .dword 1\n"
        ".reloc ., R_RISCV_TLS_DTPREL64, zeroed\n"
        ".dword 0\n"
        "beyond: .reloc ., R_RISCV_TLS_DTPREL32, zeroed + 0x804\n"
        ".word 0\n"
        ".popsection\n");
extern const long variable_index[2];
extern const int beyond;
extern char *__tls_get_addr(const long variable_index[2]);

static int finds_by_index(void)
{
    return __tls_get_addr(variable_index) == (char *)&zeroed && beyond == variable_index[1] + 0x804;
}
#else
static int finds_by_index(void)
{
    return 1;
}
#endif

static void *count(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        counted++, zeroed += chosen();
    printf("%d %ld %d\n", counted, zeroed, finds_by_index());
    return NULL;
}

int main(int argc, char **argv)
{
    int times = 5;
    pthread_t thread;
    counted++;
    if (pthread_create(&thread, NULL, count, &times) || pthread_join(thread, NULL))
        return 1;
    count(&argc);
    puts(&missing ? "there" : argv[1]);
    return 7;
}
