/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program of values.c and objects.c, with the objects that they use. With the argument `child`, a child uses them;
 * with `wait`, the program waits for the end of its input after it has read all of them. */

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon_image.h"
#include "tenon_managed.h"

struct node;

long sum(void), churn(long count), run_entry(void);
void push(long value);
struct node tn_ref *choose(long which);

static const char *place;

static int restore(struct tn_image *image, struct tn_error *err)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    (void)err;
    tn_image_memory(image, &memory);
    if (tn_image_type(image, "struct node") && memory.length)
        place = memory.address == memory.intended ? "it is where it should be" : "it is elsewhere";
    return 0;
}
TN_RESTORE(restore, 1);

static void check(int good, const char *what)
{
    printf("%s%s\n", good ? "" : "not ", what);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    int status = 0;
    pid_t child = strcmp(command, "child") == 0 ? fork() : 0;
    if (child)
        return waitpid(child, &status, 0) == child ? status : 1;
    check(place != NULL, place ? place : "it is restored");
    long before = sum();
    check(before % 5050 == 0, "it reads the saved list");
    if (strcmp(command, "wait") == 0) {
        fflush(stdout);
        return getchar() != EOF;
    }
    for (long i = 0; i < 100; i++)
        push(1);
    check(churn(1000) == 3 * 999, "it allocates");
    check(sum() == before + 100, "it stores into the saved list");
    check(choose(1) != choose(0), "it finds the object");
    check(run_entry() == before + 100, "and its own functions");
    return 0;
}
