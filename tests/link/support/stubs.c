/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "stubs.h"

#include <sys/resource.h>

_Atomic int witnessed, failed_calls;
void (*while_linking)(void);

int witness(int n)
{
    witnessed++;
    return n + 40;
}

int failed_call(void)
{
    failed_calls++;
    return -1;
}

_Thread_local struct tn__lazy_frame *waiting;

static bool begin_waiting(struct tn__lazy_frame *frame)
{
    frame->outer = waiting;
    waiting = frame;
    return true;
}

static void end_waiting(struct tn__lazy_frame *frame)
{
    assert_ptr_equal(waiting, frame);
    waiting = frame->outer;
}

const struct tn_stub_options stub_options = {.size = sizeof stub_options, .on_failure = (void (*)(void))failed_call};

static void *resolve_witness(void *unused, const char *name)
{
    (void)unused;
    if (strcmp(name, "witness"))
        return NULL;
    if (while_linking)
        while_linking();
    return __extension__(void *) witness;
}

struct stubs open_stubs(const struct tn_session_options *options)
{
    static const struct tn__lazy_watch watch = {begin_waiting, end_waiting};
    struct stubs s = {.f = open_fixture(options)};
    struct tn_error err;
    assert_ok(tn_library_create(s.f.session, "bodies", &s.bodies, &err), &err);
    assert_ok(tn_add_resolver(s.bodies, resolve_witness, NULL, &err), &err);
    assert_ok(tn_add_resolver(s.bodies, tn_resolve_dlsym, NULL, &err), &err);
    assert_ok(tn_add_file(s.bodies, data_file("lazy_once.o"), &err), &err);
    assert_ok(tn_add_file(s.bodies, data_file("lazy.o"), &err), &err);
    __atomic_store_n(&tn__lazy_watch, &watch, __ATOMIC_RELEASE);
    witnessed = failed_calls = 0;
    while_linking = NULL;
    return s;
}

bool files_are_limited(void)
{
    struct rlimit files;
    return !getrlimit(RLIMIT_FSIZE, &files) && files.rlim_cur != RLIM_INFINITY;
}

void close_stubs(struct stubs *s)
{
    close_fixture(&s->f);
}

void *define_lazy(const struct stubs *s, const char *name)
{
    const struct tn_lazy_symbol symbol = {.name = name};
    struct tn_error err;
    assert_ok(tn_define_lazy(s->f.library, &symbol, 1, s->bodies, &stub_options, &err), &err);
    return lookup(&s->f, name);
}

int call_int(const void *address, int n)
{
    int (*function)(int);
    memcpy(&function, &address, sizeof function);
    return function(n);
}
