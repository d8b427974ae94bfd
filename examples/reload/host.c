/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A server that replaces a plugin while its threads run it. Each version has a library of its own. The threads call
 * `answer`, whose address never changes; a new version is linked and initialised first, and then takes its place. The
 * old one is removed when no thread runs it any more. A version that cannot be linked changes nothing.
 *
 *     host PLUGIN.o...      each is the next version */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <tenon.h>

enum { THREADS = 2 };

typedef int answer_function(int question);

static _Atomic int stop;
static answer_function *answer;

/* Called before there is a first version. */
static int no_answer(int question)
{
    (void)question;
    return 0;
}

/* A thread says when it is between two calls: a version that was replaced before is not in use by it then. */
static void *serve(void *unused)
{
    (void)unused;
    tn_thread_attach();
    while (!stop) {
        answer(1);
        tn_thread_quiescent();
    }
    return NULL;
}

/* Called when the old version is gone: its finalizers have run, and its memory is free. */
static void gone(void *version, const struct tn_error *err)
{
    if (!err)
        tn_library_destroy(version, NULL);
}

/* Puts the version in `path` into the place of the one in *current. */
static int load(struct tn_session *session, struct tn_library *front, const char *path, struct tn_library **current,
                struct tn_error *err)
{
    struct tn_library *fresh, *old = *current;
    void *address;
    if (tn_library_create(session, path, &fresh, err))
        return err->code;
    if (tn_add_resolver(fresh, tn_resolve_exports, NULL, err) || tn_add_file(fresh, path, err) ||
        tn_lookup(fresh, "answer", &address, err) || tn_run_initializers(fresh, 0, NULL, NULL, err) ||
        tn_redirect(front, "answer", address, err)) {
        tn_library_remove(fresh, NULL);
        tn_library_destroy(fresh, NULL);
        return err->code;
    }
    *current = fresh;
    return old ? tn_library_remove_start(old, gone, old, err) : 0;
}

int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_session *session;
    struct tn_library *front, *current = NULL;
    pthread_t threads[THREADS];
    void *address;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "front", &front, &err) ||
        tn_define_redirectable(front, "answer", (const void *)no_answer, NULL, &err) ||
        tn_lookup(front, "answer", &address, &err)) {
        fprintf(stderr, "host: %s\n", err.text);
        return 1;
    }
    answer = (answer_function *)address;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, serve, NULL);
    for (int i = 1; i < argc; i++) {
        if (load(session, front, argv[i], &current, &err))
            printf("kept the old version: %s\n", err.text);
        printf("the answer is %d\n", answer(20));
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tn_session_destroy(session);
    return 0;
}
