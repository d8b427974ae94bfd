/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char name[50], text[64] = {0};
    snprintf(name, sizeof name, "/tenon-%d", getpid());
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (queue == (mqd_t)-1) { /* not in every container */
        printf("%d\n", errno);
        return 0;
    }
    printf("%d ", mq_send(queue, "low", 3, 1));
    printf("%d\n", mq_send(queue, "high", 4, 9));
    unsigned priority;
    printf("%zd ", mq_receive(queue, text, sizeof text, &priority));
    printf("%s %u\n", text, priority);
    return mq_close(queue) | mq_unlink(name);
}
