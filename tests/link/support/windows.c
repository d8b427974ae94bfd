/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "windows.h"

#include <stdlib.h>

int host_var = 1000;
static int included_one;

WINDOWS int host_add(int a, int b)
{
    return a + b;
}

WINDOWS int host_mul(int a, int b)
{
    return a * b;
}

struct fixture open_empty_windows(void)
{
    static const struct tn_format *const formats[] = {&tn_format_coff_x86_64, NULL};
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f;
    struct tn_error err;
    assert_ok(tn_session_create(&options, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "windows", &f.library, &err), &err);
    return f;
}

struct fixture open_windows(void)
{
    struct fixture f = open_empty_windows();
    define(&f, "host_add", (void *)(uintptr_t)host_add);
    define(&f, "host_mul", (void *)(uintptr_t)host_mul);
    define(&f, "host_var", &host_var);
    define(&f, "included_one", &included_one);
    return f;
}

void add_windows_file(const struct fixture *f, const char *name)
{
    struct tn_error err;
    assert_ok(tn_add_file(f->library, data_file(name), &err), &err);
}

void add_windows(const struct fixture *f, const char *name, const char *kind)
{
    char path[64];
    snprintf(path, sizeof path, "windows/%s.%s.o", name, kind);
    add_windows_file(f, path);
}

static void release_built(void *unused, const void *bytes, size_t length)
{
    (void)unused, (void)length;
    free((void *)(uintptr_t)bytes);
}

void add_built(const struct fixture *f, const char *name, const struct coff *coff)
{
    struct bytes object = coff_build(coff, NULL);
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.at, .length = object.size, .release = release_built};
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

int call_windows(const struct fixture *f, const char *name)
{
    return ((of_nothing *)(uintptr_t)lookup(f, name))();
}
