/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
    int pair[2];
    char text[50] = {0};
    printf("%d\n", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    struct iovec parts[] = {{.iov_base = (void *)"mess", .iov_len = 4}, {.iov_base = (void *)"age", .iov_len = 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    printf("%zd ", sendmsg(pair[0], &message, 0));
    printf("%zd ", recv(pair[1], text, sizeof text, 0));
    printf("%s\n", text);
    /* Not over IP: a machine without a network may have no loopback either. The kernel chooses the name. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    printf("%d ", bind(server, (struct sockaddr *)&address, sizeof address.sun_family));
    printf("%d\n", listen(server, 1));
    getsockname(server, (struct sockaddr *)&address, &size);
    printf("%d ", connect(client, (struct sockaddr *)&address, size));
    int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    printf("%d ", accepted >= 0);
    printf("%zd ", send(client, "to the server", 14, MSG_NOSIGNAL));
    printf("%zd ", recv(accepted, text, sizeof text, MSG_WAITALL & 0));
    printf("%s\n", text);
    return shutdown(client, SHUT_RDWR);
}
