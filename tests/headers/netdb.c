/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list;
    printf("%d\n", getaddrinfo("127.0.0.1", "80", &hints, &list));
    char host[100], service[100];
    printf("%d ", getnameinfo(list->ai_addr, list->ai_addrlen, host, sizeof host, service, sizeof service,
                              NI_NUMERICHOST | NI_NUMERICSERV));
    printf("%s ", host);
    printf("%s\n", service);
    freeaddrinfo(list);
    printf("%s\n", gai_strerror(getaddrinfo("not a number", NULL, &hints, &list)));
    printf("%s\n", hstrerror(HOST_NOT_FOUND));
    struct hostent *local = gethostbyname("127.0.0.1");
    printf("%s\n", local ? inet_ntoa(*(struct in_addr *)local->h_addr_list[0]) : "none");
    return 0;
}
