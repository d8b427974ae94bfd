/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by the linker's tests. Every step of a test that uses these functions ends with a check of /proc/self/maps: no
 * mapping may be both writable and executable, ever. */

#ifndef TENON_TESTS_LINK_SUPPORT_H
#define TENON_TESTS_LINK_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tenon.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the checks ---- */

/* Fails the test if a mapping of this process is writable and executable. */
void check_maps(void);

/* Fails the test unless `code` is 0; the message is the error's text. */
#define assert_ok(code, err) assert_ok_at((code), (err), __FILE__, __LINE__)
void assert_ok_at(int code, const struct tn_error *err, const char *file, int line);

/* Fails the test unless `code` is `wanted` and the error's text contains every one of the NULL-terminated words. */
#define assert_error(code, wanted, err, ...)                                                                           \
    assert_error_at((code), (wanted), (err), (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
void assert_error_at(int code, int wanted, const struct tn_error *err, const char *const *words, const char *file,
                     int line);

/* ---- sessions ---- */

struct fixture {
    struct tn_session *session;
    struct tn_library *library;
};

/* Resolves host symbols with dlsym. `options` may be NULL. */
struct fixture open_fixture(const struct tn_session_options *options);
void close_fixture(struct fixture *f);
struct tn_stats stats_of(const struct fixture *f);

/* `name`: an object in this program's data folder (data_file), or a path. */
void add_file(const struct fixture *f, const char *name);
int try_add_bytes(const struct fixture *f, const char *name, const void *bytes, size_t size, struct tn_error *err);
void add_bytes(const struct fixture *f, const char *name, const void *bytes, size_t size);
void define(const struct fixture *f, const char *name, const void *address);
void link_all(const struct fixture *f);
void *lookup(const struct fixture *f, const char *name);
int call(const struct fixture *f, const char *name); /* int name(void) */

struct tn_tracker *new_tracker(const struct fixture *f);

/* Links a small good object in a new library and calls it; used after errors. */
void check_still_works(const struct fixture *f);
/* Links x.o, an object of this size, and expects `code` and an error with `word`; 0: none. */
struct size_row {
    const char *name;
    uint64_t size, alignment;
    int code;
    const char *word;
};
void check_size(const struct fixture *f, const struct size_row *row, const void *bytes, size_t size);

/* Fails the test unless both report the same memory in use. */
void assert_same_memory(const struct tn_stats *before, const struct tn_stats *after);

/* ---- files ---- */

/* The path of an object that the build made from tests/link/data; static until the next call. */
const char *data_file(const char *name);
bool data_exists(const char *name);

struct bytes {
    uint8_t *at;
    size_t size;
};

struct bytes read_bytes(const char *path); /* release with free() */
void write_bytes(const char *path, const void *bytes, size_t size);
/* The path of a new file in a folder that is removed at the end of the program; static until the next call. */
const char *scratch_file(const char *name);

/* ---- rows ---- */

/* Runs one cmocka test per row, named "group: row". `rows` begin with the name, a const char *. */
int run_rows(const char *group, const void *rows, size_t count, size_t size, CMUnitTestFunction run);
#define RUN_ROWS(group, rows, run) run_rows(group, rows, COUNT(rows), sizeof((rows)[0]), run)

/* Runs `body` in a forked child with `argument` as its state. Returns its exit status (1 if an assertion failed), or
 * 128 + the signal. */
int in_child(CMUnitTestFunction body, void *argument);

/* How many descriptors are open, with the entries that every folder has. */
unsigned count_descriptors(void);

#endif
