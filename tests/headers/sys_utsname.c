/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

int main(void)
{
    struct utsname name;
    printf("%d ", uname(&name));
    printf("%s ", name.sysname);
    printf("%s\n", name.machine);
    printf("%d %d\n", get_nprocs() > 0, get_phys_pages() > 0);
    return 0;
}
