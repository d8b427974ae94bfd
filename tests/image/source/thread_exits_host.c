/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* thread_exits_host BASE USER: threads enter the image USER, which registers destructors of their thread_local
 * objects, and which calls BASE from these. The threads end before the images are closed, or after it, or do not
 * exist in the child of a fork. Prints for each case what was noted, and how many mappings of code there are more
 * than before. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon_image.h"
#include "entered_threads.h"

static const char *const *paths;

static void *find(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "note") == 0 ? (void *)note : NULL;
}

static int code_mappings(void)
{
    char line[1024];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "r-xp") != NULL;
    fclose(maps);
    return count;
}

/* ---- images ---- */

static struct tn_image *images[2];
static int mappings;

static void open_images(void)
{
    struct tn_error err;
    mappings = code_mappings();
    for (int i = 0; i < 2; i++) {
        const struct tn_image_load_options options = {
            .size = sizeof options, .resolver = find, .images = images, .image_count = (size_t)i};
        if (tn_image_open(paths[i], &options, &images[i], &err)) {
            printf("%s: %s\n", tn_error_name(err.code), err.text);
            exit(1);
        }
    }
    enter = (void (*)(const char *))tn_image_lookup(images[1], "enter_thread");
    heard[0] = 0;
}

static void close_images(void)
{
    tn_image_close(images[1]);
    tn_image_close(images[0]);
}

static void report(const char *what)
{
    printf("%s:%s, %d\n", what, heard, code_mappings() - mappings);
    fflush(stdout);
    heard[0] = 0;
}

/* ---- threads ---- */

static void in_child(void (*run)(void))
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        alarm(30);
        run();
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status)
        printf("the child ended with %d\n", status);
}

static void close_in_child(void)
{
    close_images();
    report("closed in a child");
}

static void open_in_child(void)
{
    int before = mappings;
    open_images();
    close_images();
    mappings = before;
    report("opened again in a child");
}

int main(int argc, char **argv)
{
    char one[] = "one", two[] = "two";
    (void)argc;
    paths = (const char *const *)argv + 1;
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);

    open_images();
    finish(start(one));
    report("a thread ended");
    enter("main");
    close_images();
    report("closed");

    open_images();
    pthread_t thread = start(one);
    enter("main");
    in_child(close_in_child);
    close_images();
    report("closed before a thread ends");
    in_child(open_in_child);
    finish(thread);
    report("it ended");

    for (int i = 0; i < 2; i++) { /* two generations of the same code */
        open_images();
        thread = start(i ? one : two);
        close_images();
        finish(thread);
    }
    report("again");
    return 0;
}
