/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Leads functions of two open images and stubs of two sessions to each other. What would close a circle is refused,
 * whichever link of it comes last. The argument is the file of the images. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"
#include "tenon_image.h"

#include "leading_host.h"

enum { IMAGES = 2, SESSIONS = 2, TURNS = 3000 };

typedef int number(int n);

static struct tn_image *images[IMAGES];
static struct tn_session *sessions[SESSIONS];
static struct tn_library *libraries[SESSIONS];

/* What leads on: a function of either image, a stub of either session. */
enum place { LEAF_0, DEPTH_0, LEAF_1, STUB_0, STUB_1, PLACES };

static const void *address_of(enum place place)
{
    void *found = NULL;
    if (place < STUB_0)
        return tn_image_lookup(images[place == LEAF_1], place == DEPTH_0 ? "depth" : "leaf");
    check(tn_lookup(libraries[place - STUB_0], "stub", &found, &err));
    return found;
}

static int lead(enum place place, const void *address)
{
    if (place < STUB_0)
        return tn_image_redirect(images[place == LEAF_1], place == DEPTH_0 ? "depth" : "leaf", address, &err);
    return tn_redirect(libraries[place - STUB_0], "stub", address, &err);
}

/* Links in the order in which they are made, each from a place to a place; the last one closes the circle. */
static const struct {
    const char *name;
    enum place links[4][2];
    int count;
} circles[] = {
    {"two images", {{LEAF_0, LEAF_1}, {LEAF_1, LEAF_0}}, 2},
    {"three functions", {{LEAF_0, LEAF_1}, {LEAF_1, DEPTH_0}, {DEPTH_0, LEAF_0}}, 3},
    {"a stub, the image last", {{STUB_0, LEAF_0}, {LEAF_0, STUB_0}}, 2},
    {"a stub, the stub last", {{LEAF_0, STUB_0}, {STUB_0, LEAF_0}}, 2},
    {"a stub and two images, the stub last", {{LEAF_0, LEAF_1}, {LEAF_1, STUB_0}, {STUB_0, LEAF_0}}, 3},
    {"stubs of two sessions, the image last", {{STUB_0, STUB_1}, {STUB_1, LEAF_0}, {LEAF_0, STUB_0}}, 3},
    {"all, the image last", {{STUB_0, LEAF_1}, {LEAF_1, STUB_1}, {STUB_1, LEAF_0}, {LEAF_0, STUB_0}}, 4},
};

static void close_one_by_one(void)
{
    for (size_t i = 0; i < sizeof circles / sizeof *circles; i++) {
        int code = 0;
        for (int k = 0; k < circles[i].count && !code; k++) {
            code = lead(circles[i].links[k][0], address_of(circles[i].links[k][1]));
            if (code && k + 1 < circles[i].count)
                check(code);
        }
        /* What did not become a circle ends: after the image's function, or where the stub leads nowhere. */
        int got = ((number *)address_of(circles[i].links[0][0]))(3);
        printf("%s: %s, %s\n", circles[i].name, tn_error_name(code), got == 4 || got == 3 || got == 2 ? "ends" : "?");
        for (enum place place = 0; place < PLACES; place++)
            check(lead(place, NULL));
    }
}

/* Two threads close a circle of a stub and a function together. */
static void *lead_stub(void *barrier)
{
    pthread_barrier_wait(barrier);
    for (int i = 0; i < TURNS; i++) {
        (void)tn_redirect(libraries[0], "stub", address_of(LEAF_0), NULL);
        (void)tn_redirect(libraries[0], "stub", NULL, NULL);
    }
    return NULL;
}

static void close_together(void)
{
    pthread_t thread;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, lead_stub, &barrier))
        exit(3);
    const void *stub = address_of(STUB_0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TURNS; i++) {
        (void)tn_image_redirect(images[0], "leaf", stub, NULL);
        ((number *)address_of(LEAF_0))(3);
        (void)tn_image_redirect(images[0], "leaf", NULL, NULL);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    printf("calls end\n");
}

int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .resolver = resolve};
    struct tn_stub_options stubs = {.size = sizeof stubs, .on_failure = (void (*)(void))no_function};
    if (argc != 2)
        return 1;
    for (int i = 0; i < IMAGES; i++)
        check(tn_image_open(argv[1], &options, &images[i], &err));
    for (int i = 0; i < SESSIONS; i++) {
        check(tn_session_create(NULL, &sessions[i], &err));
        check(tn_library_create(sessions[i], "stubs", &libraries[i], &err));
        check(tn_define_redirectable(libraries[i], "stub", NULL, &stubs, &err));
    }
    close_one_by_one();
    close_together();
    for (int i = 0; i < IMAGES; i++)
        tn_image_close(images[i]);
    for (int i = 0; i < SESSIONS; i++)
        tn_session_destroy(sessions[i]);
    return 0;
}
