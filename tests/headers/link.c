/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <link.h>
#include <stdio.h>

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    *(int *)context += info->dlpi_phnum > 0 && size >= sizeof info->dlpi_addr;
    return 0;
}

int main(void)
{
    int count = 0;
    printf("%d ", dl_iterate_phdr(visit, &count));
    printf("%d\n", count > 0);
    return 0;
}
