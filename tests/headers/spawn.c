/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int ends[2], status;
    if (pipe(ends) < 0)
        return 1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    char *argv[] = {"sh", "-c", "echo spawned $1; exit 6", "sh", "child", NULL};
    pid_t child;
    printf("%d\n", posix_spawnp(&child, "sh", &actions, NULL, argv, environ));
    close(ends[1]);
    char text[50] = {0};
    ssize_t size = read(ends[0], text, sizeof text - 1);
    waitpid(child, &status, 0);
    printf("%zd %s%d\n", size, text, WEXITSTATUS(status));
    return 0;
}
