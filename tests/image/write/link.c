/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_link in a program without the code generator. What it refuses is for tests/codegen/files.c, and whether
 * larger files run for writer.sh. */

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tenon_image.h"

static struct tn_buffer read_object(const char *name)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = 0;
    *strrchr(path, '/') = 0; /* build/tests/image/write */
    char *end = strrchr(path, '/');
    snprintf(end, sizeof path - (size_t)(end - path), "/data/%s", name);
    FILE *file = fopen(path, "rbe");
    if (!file)
        fail_msg("cannot open %s", path);
    static char bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return (struct tn_buffer){bytes, size};
}

/* dlopen of a file with these bytes. */
static void *load(const struct tn_buffer *file)
{
    char path[64];
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(write(fd, file->data, file->size), (ssize_t)file->size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    close(fd);
    return library;
}

/* Destructors of a library run when it goes, once, and before its code does. */
static void destructors_run_at_dlclose(void **state)
{
    (void)state;
    struct tn_buffer object = read_object("exits.o"), file;
    struct tn_error err;
    const struct tn_input input = {
        .size = sizeof input, .name = "exits.o", .bytes = object.data, .length = object.size};
    const struct tn_image_link_options options = {.size = sizeof options, .name = "exits.so"};
    if (tn_image_link(&input, 1, &options, &file, &err))
        fail_msg("%s", err.text);
    void *library = load(&file);
    int calls = 0, (*register_exit)(int *calls);
    *(void **)&register_exit = dlsym(library, "register_exit");
    assert_non_null(register_exit);
    assert_int_equal(register_exit(&calls), 0);
    assert_int_equal(calls, 0);
    assert_int_equal(dlclose(library), 0);
    assert_int_equal(calls, 1);
    tn_buffer_free(&file);
    assert_null(file.data);
    tn_buffer_free(&file);
    tn_buffer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(destructors_run_at_dlclose)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
