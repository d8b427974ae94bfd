/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
    char folder[] = "/tmp/tenon-un-XXXXXX", text[20] = {0};
    if (!mkdtemp(folder))
        return 1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    int server = socket(AF_UNIX, SOCK_DGRAM, 0), client = socket(AF_UNIX, SOCK_DGRAM, 0);
    printf("%d ", bind(server, (struct sockaddr *)&address, sizeof address));
    printf("%zd ", sendto(client, "datagram", 8, 0, (struct sockaddr *)&address, sizeof address));
    printf("%zd ", recvfrom(server, text, sizeof text, 0, NULL, NULL));
    printf("%s\n", text);
    unlink(address.sun_path);
    return rmdir(folder);
}
