/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A compiler whose modules say what it does with them, and clients of servers with it. */

#ifndef TENON_TESTS_REMOTE_FAKE_H
#define TENON_TESTS_REMOTE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "tenon_remote.h"

/* IR is a word and any bytes behind it. All compile to objects that name module, part, level and the length of the IR,
 * and some do something first:
 *     crash, abort, hang, eat        when a part is compiled; eat: takes memory until it gets no more
 *     exit, chatter                  ends by itself; writes what is no frame before that
 *     once                           crashes the first time, in any process
 *     opencrash                      crashes when it is opened
 *     refuse                         is an error when it is opened
 *     large                          has an object of 1 MiB
 *     file, socket, fork, exec, owner, signal, async
 *                                    the object is the number of the error
 */
extern const struct tn_compiler fake;
int fake_serve(const struct tn_serve_options *options, struct tn_error *err);
void fake_reset(void); /* of `once` */

enum { FAKE_PARTS = 3 };

/* Sanitizers make calls of their own, which workers may not; ThreadSanitizer has a thread of its own, so that servers
 * are forked by hand. */
#if __SANITIZE_THREAD__ || __SANITIZE_ADDRESS__
enum { fake_is_sanitized = 1 };
#else
enum { fake_is_sanitized = 0 };
#endif
#if __SANITIZE_THREAD__
enum { fake_is_threaded = 1 };
#else
enum { fake_is_threaded = 0 };
#endif

struct tn_compiler *start(const struct tn_compile_server_options *options);
/* A server in a child of this process, which is connected by hand: *child is its number. */
struct tn_compiler *connect_child(const struct tn_compile_server_options *options, int *child);

/* What compile_ir is told besides the object is as it should be; false where requests and responses are changed. */
extern bool fake_is_strict;

/* Opens a module, compiles a part, and closes it; 0 and the object, or the error. */
int compile_ir(const struct tn_compiler *compiler, const void *ir, size_t length, unsigned part,
               struct tn_buffer *object, struct tn_error *err);
int compile(const struct tn_compiler *compiler, const char *ir, struct tn_buffer *object, struct tn_error *err);
void expect_object(const struct tn_compiler *compiler, const char *ir); /* the same as of `fake` */

/* What a test must not leave behind. */
struct left {
    unsigned descriptors;
};
struct left count_left(void);
void expect_left(struct left before); /* the same, and no child */

#endif
