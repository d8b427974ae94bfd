/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Answers `GET /NAME` and `GET /number/INDEX`. */

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "catalogue.h"

struct catalogue {
    const struct articles *by_name, *by_number;
    uint64_t (*price)(const struct article *article);
};

static const struct article *find(const struct catalogue *c, const char *name, uint64_t length)
{
    const struct article *article = c->by_name->items[hash_of(name, length) & (c->by_name->length - 1)];
    while (article && (article->name->length != length + 1 || memcmp(article->name->bytes, name, length) != 0))
        article = article->next;
    return article;
}

static const struct article *find_what(const struct catalogue *c, const char *path, uint64_t length)
{
    static const char prefix[] = "number/";
    size_t size = sizeof prefix - 1;
    if (length <= size || memcmp(path, prefix, size) != 0)
        return find(c, path, length);
    unsigned long long index = strtoull(path + size, NULL, 10);
    return index < c->by_number->length ? c->by_number->items[index] : NULL;
}

static void answer(const struct catalogue *c, int client)
{
    char request[1024], text[512], body[256] = "not found\n";
    ssize_t size = read(client, request, sizeof request - 1);
    const struct article *article = NULL;
    request[size > 0 ? size : 0] = '\0';
    if (strncmp(request, "GET /", 5) == 0)
        article = find_what(c, request + 5, strcspn(request + 5, " \r\n"));
    if (article) {
        unsigned long long price = c->price ? c->price(article) : article->price;
        snprintf(body, sizeof body, "%llu %s %llu.%02llu\n", (unsigned long long)article->number, article->name->bytes,
                 price / 100, price % 100);
    }
    int length = snprintf(text, sizeof text, "HTTP/1.0 %s\r\nContent-Length: %zu\r\n\r\n%s",
                          article ? "200 OK" : "404 Not Found", strlen(body), body);
    if (write(client, text, (size_t)length) != length)
        perror("catalogue");
    close(client);
}

int serve(const struct articles *by_name, const struct articles *by_number,
          uint64_t (*price)(const struct article *article), int port, long requests)
{
    const struct catalogue catalogue = {by_name, by_number, price};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1, server = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) || listen(server, 16))
        return perror("catalogue"), 1;
    for (; requests; requests -= requests > 0) {
        int client = accept(server, NULL, NULL);
        if (client >= 0)
            answer(&catalogue, client);
    }
    return 0;
}
