/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See packages.h. */

#include "packages.h"

#include <glob.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "image/format/format.h"

static void note_rejection(void *context, const char *path, const struct tn_error *why)
{
    struct packages *p = context;
    if (__atomic_fetch_add(&p->rejections, 1, __ATOMIC_RELAXED))
        return;
    p->why = *why;
    snprintf(p->rejected, sizeof p->rejected, "%s", path);
}

void packages_reopen(struct packages *p)
{
    struct tn_error err;
    tn_package_cache_close(p->cache);
    if (tn_package_cache_open(&p->options, &p->cache, &err))
        fail_msg("%s", err.text);
}

void packages_create(struct packages *p)
{
    *p = (struct packages){.path = "/tmp/tenon-packages-XXXXXX"};
    assert_non_null(mkdtemp(p->path));
    p->folders[0] = p->path;
    p->options = (struct tn_package_cache_options){.size = sizeof p->options,
                                                   .folders = p->folders,
                                                   .folder_count = 1,
                                                   .identity = "a compiler",
                                                   .rejected = note_rejection,
                                                   .context = p};
    packages_reopen(p);
}

void packages_destroy(struct packages *p)
{
    char command[100];
    tn_package_cache_close(p->cache);
    snprintf(command, sizeof command, "rm -r %s", p->path);
    assert_int_equal(system(command), 0);
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);
}

int packages_build(void *context, struct tn_buffer *file, struct tn_error *err)
{
    struct recipe *recipe = context;
    uint64_t sum, at;
    uint8_t *bytes = malloc(SAMPLE_SIZE);
    struct tn_buffer made = {bytes, SAMPLE_SIZE};
    __atomic_add_fetch(&recipe->builds, 1, __ATOMIC_RELAXED);
    if (recipe->meanwhile && recipe->meanwhile(recipe->context, err)) {
        free(bytes);
        return err->code;
    }
    sample_make(bytes, sample_machine());
    put(bytes + SAMPLE_IMAGE + TN__IMAGE_AT_BUILD_ID, recipe->value, 4);
    put(bytes + SAMPLE_IMAGE + TN__IMAGE_AT_BUILD_ID + 4, recipe->base, 4);
    put(bytes + SAMPLE_CODE, recipe->value, 4);
    if (recipe->base) {
        put(bytes + SAMPLE_DIRECTORY + 4 * 20 + 16, 1, 4);
        put(bytes + SAMPLE_DIRECTORY + 4 * 20 + 8, 32, 4);
        put(bytes + SAMPLE_DEPENDENCY + 4, recipe->base, 4);
        put(bytes + SAMPLE_DEPENDENCY + 20, 1, 4);
        if (recipe->wants_more)
            put(bytes + SAMPLE_EDGE + 4, 15, 4);
    }
    sample_sign(bytes);
    if (!tn__image_file_sum(bytes, SAMPLE_SIZE, &sum, &at))
        return TN_EINVAL;
    put(bytes + at, sum, 8);
    bool good = tn__buffer_fill(file, made.data, made.size);
    free(bytes);
    return good ? 0 : TN_ENOMEM;
}

uint32_t packages_value(const struct tn_image *image)
{
    uint32_t value;
    memcpy(&value, tn_image_lookup(image, "one"), sizeof value);
    return value;
}

struct tn_package_key packages_key(const char *name, const uint32_t *number)
{
    return (struct tn_package_key){
        .size = sizeof(struct tn_package_key), .name = name, .bytes = number, .length = sizeof *number};
}

const char *packages_use(const struct packages *p, const char *name, struct recipe *recipe)
{
    static const struct tn_image_load_options verified = {.size = sizeof verified, .flags = TN_IMAGE_VERIFY};
    static __thread struct tn_error err;
    struct tn_package_key key = packages_key(name, &recipe->value);
    struct tn_image *image;
    if (tn_package_build(p->cache, &key, packages_build, recipe, &verified, &image, &err))
        return err.text;
    bool good = packages_value(image) == recipe->value;
    tn_image_close(image);
    return good ? NULL : "another image";
}

int packages_count(const struct packages *p, const char *pattern)
{
    char path[200];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", p->path, pattern);
    int result = glob(path, 0, NULL, &found);
    int count = result ? 0 : (int)found.gl_pathc;
    globfree(&found);
    return count;
}

void packages_only_file(const struct packages *p, const char *name, char path[300])
{
    char pattern[200];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/*", p->path, name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(path, 300, "%s", found.gl_pathv[0]);
    globfree(&found);
}

/* ---- killed builders ---- */

enum { BUILDERS = 8, KEYS = 5 };

static int build_until_killed(const struct packages *p, unsigned seed)
{
    for (unsigned i = seed;; i++) {
        struct recipe recipe = {.value = 1 + i % KEYS};
        if (packages_use(p, i % 2 ? "odd" : "even", &recipe))
            return 1;
        if (i % 7 == 0 && tn_package_trim(p->cache, i % 3 ? 0 : 2 * SAMPLE_SIZE, NULL))
            return 2;
    }
}

static pid_t start_builder(const struct packages *p, unsigned seed)
{
    pid_t child = fork();
    if (!child)
        _exit(build_until_killed(p, seed));
    return child;
}

void packages_kill_builders(int kills)
{
    struct packages p;
    pid_t builders[BUILDERS];
    packages_create(&p);
    srand(1);
    for (unsigned i = 0; i < BUILDERS; i++)
        builders[i] = start_builder(&p, i);
    for (int i = 0; i < kills + BUILDERS; i++) {
        struct timespec pause = {.tv_nsec = rand() % 3000000};
        int status, which = i % BUILDERS;
        nanosleep(&pause, NULL);
        kill(builders[which], SIGKILL);
        assert_int_equal(waitpid(builders[which], &status, 0), builders[which]);
        assert_true(WIFSIGNALED(status)); /* it has not found anything wrong */
        if (i < kills)
            builders[which] = start_builder(&p, (unsigned)i);
    }
    for (uint32_t i = 0; i < 2 * KEYS; i++) {
        struct recipe recipe = {.value = 1 + i % KEYS};
        assert_null(packages_use(&p, i % 2 ? "odd" : "even", &recipe));
    }
    assert_int_equal(p.rejections, 0);
    assert_int_equal(tn_package_trim(p.cache, UINT64_MAX, NULL), 0);
    assert_int_equal(packages_count(&p, "*/.new*"), 0);
    assert_int_equal(packages_count(&p, "*/*"), 2 * KEYS);
    packages_destroy(&p);
}
