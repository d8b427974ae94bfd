/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Retires an image again and again, while attached threads call its functions: by their addresses, through a stub of a
 * session, and through a function of another image. The arguments are the file of the image, that of the other one, and
 * the number of times. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenon.h"
#include "tenon_image.h"

#include "leading_host.h"

enum { THREADS = 2 };

typedef int number(int n);

static struct tn_image *stays;
static struct tn_library *library;
static number *_Atomic direct; /* NULL: there is no image */
static number *stub;
static atomic_bool is_over;
static atomic_long calls, wrong;
static atomic_uint reached; /* bit by bit: by which way a call has reached the image's code, since it was opened */

static struct tn_image *open_file(const char *path)
{
    struct tn_image *image;
    struct tn_image_load_options options = {.size = sizeof options, .resolver = resolve};
    check(tn_image_open(path, &options, &image, &err));
    return image;
}

/* `depth`(3) of the image is 3; the stub then is `no_function`, and `leaf` of the image that stays is 4. */
static void count(unsigned way, int got, int other)
{
    wrong += got != 3 && got != other;
    calls++;
    if (got == 3)
        atomic_fetch_or(&reached, way);
}

/* When the image is being retired, the first thread calls the function again, and leads the stub there again, before it
 * is quiescent. */
static void *call_on(void *is_first)
{
    tn_thread_attach();
    number *leaf = (number *)tn_image_lookup(stays, "leaf");
    while (!is_over) {
        number *function = direct;
        if (function)
            count(1, function(3), 3);
        count(2, stub(3), 2);
        count(4, leaf(3), 4);
        while (is_first && function && direct == function)
            sched_yield();
        if (is_first && function) {
            usleep(200); /* which is when it would be unmapped */
            count(1, function(3), 3);
            check(tn_redirect(library, "stub", (const void *)function, NULL)); /* as a first call that began before */
        }
        tn_thread_quiescent();
    }
    tn_thread_detach();
    return NULL;
}

static void wait_until_reached(unsigned ways)
{
    while ((reached & ways) != ways)
        sched_yield();
}

/* Whether nothing is mapped at the function's page. */
static bool is_unmapped(const void *function)
{
    uintptr_t page = (uintptr_t)function & ~(uintptr_t)4095;
    return msync((void *)page, 1, MS_ASYNC) && errno == ENOMEM;
}

static void retire_once(const char *path)
{
    struct tn_image *image = open_file(path);
    number *function = (number *)tn_image_lookup(image, "depth");
    reached = 0;
    check(tn_redirect(library, "stub", (const void *)function, &err));
    check(tn_image_redirect(stays, "leaf", (const void *)function, &err));
    direct = function;
    wait_until_reached(7);
    direct = NULL;
    tn_image_retire(image);
    if (!is_unmapped((const void *)function))
        printf("it is still there\n");
    if (stub(3) != 2 || ((number *)tn_image_lookup(stays, "leaf"))(3) != 4)
        printf("something still leads there\n");
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct tn_session *session;
    struct tn_stub_options options = {.size = sizeof options, .on_failure = (void (*)(void))no_function};
    void *found;
    if (argc != 4)
        return 1;
    stays = open_file(argv[2]);
    check(tn_session_create(NULL, &session, &err));
    check(tn_library_create(session, "stubs", &library, &err));
    check(tn_define_redirectable(library, "stub", NULL, &options, &err));
    check(tn_lookup(library, "stub", &found, &err));
    stub = (number *)found;
    tn_thread_attach();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, call_on, i ? NULL : &is_over))
            return 3;
    for (int i = 0; i < atoi(argv[3]); i++)
        retire_once(argv[1]);
    is_over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld calls were wrong\n", (long)wrong);
    tn_image_retire(NULL);
    tn_image_retire(stays);
    tn_session_destroy(session);
    return 0;
}
