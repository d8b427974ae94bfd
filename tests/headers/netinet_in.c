/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
    char text[INET6_ADDRSTRLEN];
    puts(inet_ntop(AF_INET6, &in6addr_any, text, sizeof text));
    printf("%d %d\n", IN6_IS_ADDR_LOOPBACK(&loopback), IN6_ARE_ADDR_EQUAL(&loopback, &in6addr_loopback));
    printf("%d\n", IN_MULTICAST(ntohl(inet_addr("224.0.0.1"))));
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), one = 1, value = 0;
    socklen_t size = sizeof value;
    printf("%d ", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    printf("%d ", getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size));
    printf("%d\n", value);
    close(fd);
    return 0;
}
