/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What watch_maps has to find: a page that is writable and executable for the blink of an eye. */

#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return 1;
    mprotect(page, 4096, PROT_READ);
    return puts("was writable and executable") < 0;
}
