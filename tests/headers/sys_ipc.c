/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(void)
{
    int shared = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    if (shared >= 0) {
        char *memory = shmat(shared, NULL, 0);
        shmctl(shared, IPC_RMID, NULL);
        strcpy(memory, "shared");
        printf("%s\n", memory);
        printf("%d\n", shmdt(memory));
    }
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (queue >= 0) {
        struct {
            long type;
            char text[16];
        } message = {3, "message"};
        printf("%d ", msgsnd(queue, &message, 8, 0));
        message.text[0] = 0;
        printf("%zd ", msgrcv(queue, &message, 16, 3, 0));
        printf("%s %d\n", message.text, msgctl(queue, IPC_RMID, NULL));
    }
    int set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
    if (set >= 0) {
        struct sembuf up = {.sem_num = 1, .sem_op = 4};
        printf("%d ", semop(set, &up, 1));
        printf("%d ", semctl(set, 1, GETVAL));
        printf("%d\n", semctl(set, 0, IPC_RMID));
    }
    printf("%d %d %d\n", shared >= 0, queue >= 0, set >= 0);
    return ftok("/nonexistent", 1) == -1 ? 0 : 1;
}
