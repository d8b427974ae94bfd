/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product that loads objects, built in every way products are built (runtime_hosts.sh): finds its own functions
 * without a dynamic linker, runs loaded code in threads started before and after loading, prints what it sees. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon.h"

static void say(const char *text, long number)
{
    printf("%s %ld\n", text, number);
    fflush(stdout);
}
TN_EXPORT(say);

static long table[4] = {10, 20, 30, 40};
TN_EXPORT(table);

static long (*work)(long);
static pthread_barrier_t loaded;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static long sums[8];

static void *worker(void *argument)
{
    long number = (long)argument;
    tn_thread_attach();
    if (number < 4)
        pthread_barrier_wait(&loaded);
    pthread_mutex_lock(&order);
    for (int i = 0; i < 3; i++)
        sums[number] = work(number);
    pthread_mutex_unlock(&order);
    tn_thread_detach();
    return NULL;
}

static long nobody(void)
{
    return -1;
}

static void die(const struct tn_error *err)
{
    fprintf(stderr, "%s: %s\n", tn_error_name(err->code), err->text);
    exit(1);
}

static void *find(struct tn_library *library, const char *name)
{
    struct tn_error err;
    void *address;
    if (tn_lookup(library, name, &address, &err))
        die(&err);
    return address;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    pthread_barrier_init(&loaded, NULL, 5);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);

    struct tn_error err;
    struct tn_session *session;
    struct tn_library *library;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "plugins", &library, &err) ||
        tn_add_resolver(library, tn_resolve_exports, NULL, &err))
        die(&err);
    const struct tn_lazy_symbol later = {.name = "chosen_later", .target = "chosen"};
    const struct tn_stub_options stub = {.size = sizeof stub, .on_failure = (void (*)(void))nobody};
    if (tn_define_lazy(library, &later, 1, library, &stub, &err))
        die(&err);
    for (int i = 1; i < argc; i++)
        if (tn_add_file(library, argv[i], &err))
            die(&err);
    work = (long (*)(long))find(library, "work");
    if (tn_run_initializers(library, argc, argv, NULL, &err))
        die(&err);
    pthread_barrier_wait(&loaded);
    for (long i = 4; i < 8; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        say("sum", sums[i]);
    }
    say("chosen", ((long (*)(void))find(library, "chosen"))());
    say("chosen later", ((long (*)(void))find(library, "chosen_later"))());
    say("through a pointer", ((long (*)(void))find(library, "call_chosen"))());
    tn_run_finalizers(library);
    tn_session_destroy(session);
    return 0;
}
