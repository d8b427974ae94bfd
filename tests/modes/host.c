/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A client that runs a program of the mode matrix through the C API, and removes it and adds it again.
 *
 *     host [OPTION...] FILE...
 *
 * FILEs are objects, archives and bitcode, or one file of `tenon build` with --open or --dlopen; with --open, after the
 * images that it depends on. The program is main, which gets the arguments of the host, and whose result is the host's.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon_codegen.h"
#include "tenon_image.h"

enum { FAILURE = 99, MOST_FILES = 64, ROUNDS = 2 };

typedef int entry(int argc, char **argv, char **envp);

struct client {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_jit *jit;
    struct tn_tracker *owner; /* of everything but archives */
    struct tn_image *image;
    struct tn_image *others[MOST_FILES]; /* that it depends on */
    size_t other_count;
    const struct tn_image *linked;
    void *handle; /* of dlopen */
    struct tn_error err;
};

static struct {
    int is_once; /* the program ends the process */
    int is_lazy;
    int is_open, is_dlopen;
    int is_retired; /* and the image is not closed, but retired */
    int is_thread;  /* a thread that is not attached makes the first call */
    int is_stub;    /* functions of objects are lazy, too */
    int is_opened;  /* a library of its own for each round is opened and closed */
    size_t threads; /* of the session */
    int argc;
    char **argv;
    char *files[MOST_FILES];
    int file_count;
} settings;

static struct client client;

TN_TLS_RESERVE(4096);

static void fail(const char *what, const struct tn_error *err)
{
    fflush(stdout);
    fprintf(stderr, "host: %s: %s\n", what, err ? err->text : "failed");
    _exit(FAILURE);
}

static void check(const char *what, int rc)
{
    if (rc)
        fail(what, &client.err);
}

static void on_error(void *context, const struct tn_error *err)
{
    (void)context;
    fprintf(stderr, "host: %s\n", err->text);
}

static void on_failure(void)
{
    fail("a first call", NULL);
}

/* ---- files ---- */

struct file {
    char *bytes;
    size_t length;
};

static struct file read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    struct file file = {NULL, 0};
    if (!stream || fseek(stream, 0, SEEK_END))
        fail(path, NULL);
    file.length = (size_t)ftell(stream);
    file.bytes = malloc(file.length);
    rewind(stream);
    if (!file.bytes || fread(file.bytes, 1, file.length, stream) != file.length)
        fail(path, NULL);
    fclose(stream);
    return file;
}

static void release(void *context, const void *bytes, size_t length)
{
    (void)context, (void)length;
    free((void *)bytes);
}

static void add_file(const char *path)
{
    struct file file = read_file(path);
    struct tn_input input = {.size = sizeof input,
                             .name = path,
                             .bytes = file.bytes,
                             .length = file.length,
                             .release = release,
                             .owner = client.owner};
    struct tn_jit_module module = {
        .size = sizeof module, .name = path, .ir = file.bytes, .length = file.length, .owner = client.owner};
    const struct tn_stub_options stubs = {.size = sizeof stubs, .owner = client.owner, .on_failure = on_failure};
    if (!strncmp(file.bytes, "BC", 2)) {
        check(path, tn_jit_add_module(client.jit, client.library, &module, &client.err));
        free(file.bytes);
    } else if (!strncmp(file.bytes, "!<arch>", 7)) {
        input.owner = NULL;
        check(path, tn_add_archive(client.library, &input, &client.err));
    } else if (settings.is_stub) {
        check(path, tn_add_lazy_object(client.library, &input, &stubs, &client.err));
    } else {
        check(path, tn_add_object(client.library, &input, &client.err));
    }
}

/* ---- one run ---- */

static entry *find_main(void)
{
    void *address = NULL;
    if (settings.is_dlopen)
        address = dlsym(client.handle, "main");
    else if (settings.is_open)
        address = tn_image_lookup(client.image, "main");
    else
        check("main", tn_lookup(client.library, "main", &address, &client.err));
    entry *function;
    memcpy(&function, &address, sizeof function);
    return function;
}

static void *call_main(void *status)
{
    entry *function = find_main();
    if (!function)
        fail("main", NULL);
    *(int *)status = function(settings.argc, settings.argv, environ);
    return NULL;
}

static void make_library(void)
{
    check("library", tn_library_create(client.session, "opened", &client.library, &client.err));
    check("resolver", tn_add_resolver(client.library, tn_resolve_dlsym, NULL, &client.err));
    check("tracker", tn_tracker_create(client.library, &client.owner, &client.err));
}

/* Stale functions are compiled again. */
static void open_images(void)
{
    for (int i = 0; i < settings.file_count; i++) {
        const struct tn_image_load_options options = {.size = sizeof options,
                                                      .resolver = tn_resolve_dlsym,
                                                      .images = client.others,
                                                      .image_count = client.other_count,
                                                      .compiler = tn_codegen_compiler(),
                                                      .recompiler = tn_image_recompiler(),
                                                      .on_error = on_error,
                                                      .on_failure = on_failure};
        check(settings.files[i], tn_image_open(settings.files[i], &options, &client.image, &client.err));
        if (i + 1 < settings.file_count)
            client.others[client.other_count++] = client.image;
    }
}

static void close_others(void)
{
    while (client.other_count)
        tn_image_close(client.others[--client.other_count]);
}

static void load(void)
{
    const char *main_name = "main";
    if (settings.is_dlopen) {
        client.handle = dlopen(settings.files[0], RTLD_NOW | RTLD_LOCAL);
        if (!client.handle)
            fail(dlerror(), NULL);
        check(settings.files[0],
              tn_image_open_linked(dlsym(client.handle, "tn_image"), NULL, &client.image, &client.err));
    } else if (settings.is_open) {
        open_images();
    } else {
        if (settings.is_opened)
            make_library();
        for (int i = 0; i < settings.file_count; i++)
            add_file(settings.files[i]);
        if (!settings.is_lazy && !settings.is_stub)
            check("link", tn_jit_link(client.jit, client.library, &main_name, 1, &client.err));
        check("initializers",
              tn_jit_run_initializers(client.jit, client.library, settings.argc, settings.argv, environ, &client.err));
        if (settings.is_opened)
            check("open", tn_library_open(client.library, 0, &client.err));
    }
}

/* Stubs keep the pages that the first round has taken. */
static void check_growth(int round)
{
    static uint64_t kept;
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(client.session, &stats);
    uint64_t bytes = stats.code_bytes + stats.rodata_bytes + stats.data_bytes;
    if (round > 0 && bytes != kept)
        fail("another round leaves more", NULL);
    if (stats.lingering_objects || (!settings.is_lazy && !settings.is_stub && bytes))
        fail("something of the program stays", NULL);
    kept = bytes;
}

static void unload(int round)
{
    (settings.is_retired ? tn_image_retire : tn_image_close)(client.image);
    client.image = NULL;
    close_others();
    if (settings.is_dlopen && dlclose(client.handle))
        fail(dlerror(), NULL);
    if (settings.is_dlopen || settings.is_open)
        return;
    if (settings.is_once)
        return;
    if (settings.is_opened) {
        check("close", tn_library_close(client.library, &client.err));
        check("destroy", tn_library_destroy(client.library, &client.err));
        check_growth(round);
        return;
    }
    tn_run_finalizers(client.library);
    if (round == 0)
        check("remove", tn_tracker_remove(client.owner, &client.err));
    check("clear", tn_library_clear(client.library, &client.err));
    check_growth(round);
}

static int run(int round)
{
    int status = 0;
    pthread_t thread;
    load();
    if (settings.is_thread) {
        if (pthread_create(&thread, NULL, call_main, &status) || pthread_join(thread, NULL))
            fail("pthread_create", NULL);
    } else {
        call_main(&status);
    }
    unload(round);
    return status;
}

/* ---- everything ---- */

static void run_finalizers(void *unused)
{
    (void)unused;
    if (client.library)
        tn_run_finalizers(client.library);
}

static void start(void)
{
#ifdef __x86_64__
    static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, &tn_format_elf_x86_64, NULL};
#else
    static const struct tn_format *const *const formats = NULL;
#endif
    const struct tn_session_options own = {
        .size = sizeof own, .threads = settings.threads, .on_error = on_error, .formats = formats};
    check("tn_session_create", tn_session_create(&own, &client.session, &client.err));
    tn_session_defer_signals(client.session);
    const struct tn_jit_options options = {.size = sizeof options,
                                           .session = client.session,
                                           .lazy = settings.is_lazy,
                                           .on_failure = on_failure,
                                           .resolver = tn_resolve_dlsym};
    check("tn_jit_create", tn_jit_create(&options, &client.jit, &client.err));
    client.library = tn_jit_library(client.jit);
    check("tracker", tn_tracker_create(client.library, &client.owner, &client.err));
    if (settings.is_once)
        check("tn_jit_at_exit", tn_jit_at_exit(client.jit, run_finalizers, NULL, &client.err));
}

static void parse(char **arguments)
{
    const struct {
        const char *name;
        int *is;
    } options[] = {{"--once", &settings.is_once},      {"--lazy", &settings.is_lazy},
                   {"--stubs", &settings.is_stub},     {"--open", &settings.is_open},
                   {"--dlopen", &settings.is_dlopen},  {"--thread", &settings.is_thread},
                   {"--retire", &settings.is_retired}, {"--opened", &settings.is_opened}};
    for (; *arguments; arguments++) {
        size_t i = 0, count = sizeof options / sizeof options[0];
        while (i < count && strcmp(options[i].name, *arguments))
            i++;
        if (i < count)
            *options[i].is = 1;
        else if (!strncmp(*arguments, "--threads=", 10))
            settings.threads = strtoul(*arguments + 10, NULL, 10);
        else if (settings.file_count < MOST_FILES)
            settings.files[settings.file_count++] = *arguments;
    }
}

int main(int argc, char **arguments)
{
    settings.argc = argc;
    settings.argv = arguments;
    parse(arguments + 1);
    tn_thread_attach();
    if (!settings.is_open && !settings.is_dlopen)
        start();
    int status = run(0);
    for (int round = 1; round < ROUNDS && !settings.is_once; round++)
        if (run(round) != status)
            fail("another status", NULL);
    if (!settings.is_once) {
        tn_jit_destroy(client.jit);
        tn_session_destroy(client.session);
    }
    return status;
}
