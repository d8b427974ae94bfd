/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) == 0) {
        int count = 0;
        for (struct ifaddrs *i = list; i; i = i->ifa_next)
            count++;
        printf("%d\n", count);
        freeifaddrs(list);
    }
    char name[IF_NAMESIZE];
    unsigned index = if_nametoindex("lo");
    printf("%u %s\n", index, if_indextoname(index, name) ? name : "none");
    struct if_nameindex *all = if_nameindex();
    printf("%d\n", all && all[0].if_index > 0);
    if_freenameindex(all);
    return 0;
}
