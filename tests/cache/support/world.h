/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache with a toy compiler behind it, in a folder of its own. */

#ifndef TENON_TESTS_CACHE_WORLD_H
#define TENON_TESTS_CACHE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/os.h"
#include "cache/cache.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of each module. */
enum { PARTS = 6 };

/* Its calls so far. An object of it says which module and which part it is of. */
struct toy {
    int opens, compiles; /* atomic */
};

struct world {
    char path[60];
    struct toy toy;
    struct tn_compiler compiler;
    struct tn_store *store;
    struct tn_compiler *cache;
};

extern const struct tn_compile_options defaults;

/* A new folder with an open cache; destroy removes both. */
void create(struct world *w);
void destroy(struct world *w);
void open_cache(struct world *w, uint64_t limit, bool read_only, bool alone);
void close_cache(struct world *w);
void remove_folder(const char *path);
struct tn_cache_stats stats_of(const struct world *w);
/* The sizes of all files in a store, in sum; `files` is their number. */
uint64_t bytes_in(struct tn_store *store, uint64_t *files);

int open_ir(const struct world *w, const char *text, const struct tn_compile_options *options, uint64_t copy,
            void **module, struct tn_buffer *description, struct tn_error *err);
/* What the toy compiler writes as part `part` of a module; -1: as its description. */
void toy_text(const char *ir, long part, char text[80]);
bool is_text(const struct tn_buffer *bytes, const char *ir, long part);
/* Compiles parts of a module. NULL: all was as it should be, or an error that the compiler itself has (out of
 * memory). */
const char *use(const struct world *w, const char *ir, long first, long count);
/* All parts; fails the test if something is wrong. */
void use_all(const struct world *w, const char *ir);
/* How often the compiler was called. */
void assert_work(const struct world *w, int opens, int compiles);

#endif
