/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache of packages in a folder of its own, whose builder writes samples (sample.h). */

#ifndef TENON_TESTS_IMAGE_PACKAGES_H
#define TENON_TESTS_IMAGE_PACKAGES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/os.h"
#include "sample.h"
#include "tenon_package.h"

struct packages {
    char path[60];
    const char *folders[3]; /* the first is the path */
    struct tn_package_cache_options options;
    struct tn_package_cache *cache;
    int rejections;      /* atomic */
    struct tn_error why; /* of the last one */
    char rejected[300];  /* its path */
};

/* What packages_build writes. */
struct recipe {
    uint32_t value;                                        /* what its function begins with; part of the build id */
    uint32_t base;                                         /* not 0: it depends on a sample with this value */
    bool wants_more;                                       /* than that offers: it is stale if that was rebuilt */
    int builds;                                            /* atomic: how often it was built */
    int (*meanwhile)(void *context, struct tn_error *err); /* may be NULL */
    void *context;
};

/* A new folder with an open cache; destroy removes both. */
void packages_create(struct packages *p);
void packages_destroy(struct packages *p);
/* Opens the cache with what the options are now. */
void packages_reopen(struct packages *p);

int packages_build(void *recipe, struct tn_buffer *file, struct tn_error *err);
uint32_t packages_value(const struct tn_image *image);
/* A key that has nothing but this name and this number. */
struct tn_package_key packages_key(const char *name, const uint32_t *number);
/* Builds or finds the image of a key, checks its value, and closes it. NULL, or what was wrong. */
const char *packages_use(const struct packages *p, const char *name, struct recipe *recipe);
/* The path of the only file of a package. */
void packages_only_file(const struct packages *p, const char *name, char path[300]);
/* How many files a shell pattern below the folder matches. */
int packages_count(const struct packages *p, const char *pattern);

/* Kills so many of 8 processes that build and trim at the same time. Fails the test if one of them, or the next user of
 * the folder, finds something wrong, or if something is left behind. */
void packages_kill_builders(int kills);

#endif
