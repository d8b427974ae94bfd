/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <arpa/inet.h>
#include <stdio.h>

int main(void)
{
    struct in_addr address;
    struct in6_addr wide;
    char text[INET6_ADDRSTRLEN];
    printf("%d ", inet_aton("192.168.7.9", &address));
    printf("%s\n", inet_ntoa(address));
    printf("%x %x\n", ntohl(inet_addr("1.2.3.4")), htons(0x1234));
    printf("%d ", inet_pton(AF_INET6, "2001:db8::ff:0:1", &wide));
    printf("%s\n", inet_ntop(AF_INET6, &wide, text, sizeof text));
    printf("%d\n", inet_pton(AF_INET, "300.1.1.1", &address));
    return 0;
}
