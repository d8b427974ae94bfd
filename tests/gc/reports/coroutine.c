/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code that changes to a coroutine's stack in the middle of a function, and back. coroutine low: the other
 * stack is below the thread's; high: above it. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <tenon_managed.h>

enum { SIZE = 1 << 20 };

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

static ucontext_t home, away;
static char *stacks;
static int is_high;
static long got;

static void generate(void)
{
    struct node tn_ref *list = NULL;
    for (long i = 1;; i++) {
        struct node tn_ref *n = tn_new(struct node);
        n->value = i;
        n->next = list;
        list = n;
        got = list->value;
        swapcontext(&away, &home);
    }
}

static void *run(void *unused)
{
    getcontext(&away);
    away.uc_stack.ss_sp = stacks + (is_high ? SIZE : 0);
    away.uc_stack.ss_size = SIZE;
    makecontext(&away, generate, 0);
    for (int i = 0; i < 5; i++) {
        swapcontext(&home, &away);
        printf("%ld\n", got);
        fflush(stdout);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    is_high = argc > 1 && strcmp(argv[1], "high") == 0;
    stacks = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED || pthread_attr_init(&attributes) ||
        pthread_attr_setstack(&attributes, stacks + (is_high ? 0 : SIZE), SIZE) ||
        pthread_create(&thread, &attributes, run, NULL))
        return 2;
    return pthread_join(thread, NULL);
}
