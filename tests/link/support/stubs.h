/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by the tests of lazy stubs: a library of names, and one with their targets. */

#ifndef TENON_TESTS_LINK_STUBS_H
#define TENON_TESTS_LINK_STUBS_H

#include "base/lazy_frame.h"
#include "support.h"

struct stubs {
    struct fixture f;          /* has the stubs */
    struct tn_library *bodies; /* objects of tests/link/data, not linked yet */
};

/* How often tests/link/data/lazy_once.c was called; `witness` returns its argument + 40. */
extern _Atomic int witnessed;
int witness(int n);

/* Called by the resolver of `bodies`, in the middle of a link, each time something needs `witness`. */
extern void (*while_linking)(void);

/* First calls of this thread that wait for their function, newest first. */
extern _Thread_local struct tn__lazy_frame *waiting;

/* Counts failing calls, which return -1. */
extern _Atomic int failed_calls;
int failed_call(void);

/* With lazy.o and lazy_once.o among the bodies. */
struct stubs open_stubs(const struct tn_session_options *options);
/* Under emulation (tests/run) files are too small for the strategies that map one twice. */
bool files_are_limited(void);
void close_stubs(struct stubs *s);

/* Defines a lazy function with the target's name; returns its address. */
void *define_lazy(const struct stubs *s, const char *name);

/* For tn_define_lazy and tn_define_redirectable: failing calls go to failed_call. */
extern const struct tn_stub_options stub_options;

/* Calls an int function with one int. */
int call_int(const void *address, int n);

#endif
