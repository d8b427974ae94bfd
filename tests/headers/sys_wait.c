/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(23);
    printf("%d ", waitpid(child, &status, 0) == child);
    printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
    fflush(stdout);
    child = fork();
    if (!child)
        for (;;)
            pause();
    kill(child, SIGTERM);
    siginfo_t info;
    printf("%d ", waitid(P_PID, (id_t)child, &info, WEXITED));
    printf("%d ", info.si_code == CLD_KILLED);
    printf("%d\n", info.si_status);
    fflush(stdout);
    if (!fork()) {
        puts("a child runs loaded code and leaves through exit");
        exit(5);
    }
    wait(&status);
    printf("%d ", WEXITSTATUS(status));
    printf("%d\n", wait(NULL));
    return 0;
}
