/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache of packages (doc/PACKAGES.md, "A cache"): FOLDER/NAME/KEY-BUILDID.image. A file is whole as soon as it has
 * its name, and never changes. The builder that holds the lock of its key may remove what an earlier builder has
 * left. */

#include <errno.h>
#include <stdio.h>

#include "base/os.h"
#include "cache/compiler.h"
#include "cache/digest.h"
#include "cache/files.h"
#include "image/load/image.h"
#include "tenon_package.h"

#define FORMAT "tenon package 1"
#define SUFFIX ".image"

enum {
    KEY = 2 * TN__SHA256_SIZE, /* digits */
    ID = 2 * TN__IMAGE_ID,
    NAME_SIZE = KEY + 1 + ID + sizeof SUFFIX,
    NEW_SIZE = sizeof TN__FILES_NEW + 1 + KEY, /* of the beginning of a name, which has the key */
    LONGEST_NAME = 200,
    TRIMMING = 0 /* the number of the lock for removing images */
};

struct folder {
    const char *path;
    int fd;
};

struct tn_package_cache {
    struct tn__arena arena; /* everything is in it */
    struct folder *folders;
    size_t count;
    const struct folder *written; /* NULL: none */
    uint64_t limit;
    struct tn_buffer identity;
    struct tn_cpu native;
    void (*rejected)(void *context, const char *path, const struct tn_error *why);
    void *context;
};

/* A call of tn_package_find or tn_package_build. */
struct search {
    const struct tn_package_cache *cache;
    const char *name; /* of the package */
    char key[KEY + 1], temporary[NEW_SIZE];
    uint64_t lock;
    const struct tn_image_load_options *options;
    struct tn_image **image;
    struct tn_error *err;
    struct tn__files found; /* in the folder that is searched */
    struct tn__file *tried; /* those that were rejected */
    const char *prefix;     /* of paths */
    const char *made;       /* the path of what was built; NULL: it was not kept */
    int fd;                 /* of the folder that is searched */
    bool clears;            /* with the lock: what earlier builders have left is removed */
    bool failed;
};

static void reject(const struct tn_package_cache *cache, const char *path, const struct tn_error *why)
{
    if (cache->rejected)
        cache->rejected(cache->context, path, why);
}

static void reject_by_errno(const struct tn_package_cache *cache, const char *path, int error)
{
    struct tn_error why;
    bool is_strange = error == EPERM || error == ELOOP;
    tn__fail(&why, is_strange ? TN_EPERM : TN_EIO, "%s: %s", path,
             error == EPERM ? "only this user, or root, may own it and write to it" : strerror(error));
    reject(cache, path, &why);
}

/* ---- names ---- */

static bool is_image(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    return strlen(name) == NAME_SIZE - 1 && strspn(name, digits) == KEY && name[KEY] == '-' &&
           strspn(name + KEY + 1, digits) == ID && strcmp(name + KEY + 1 + ID, SUFFIX) == 0;
}

/* As much of a key as a lock's number has space for; other keys with the same number only wait. */
static uint64_t lock_of(const char *key)
{
    uint8_t bytes[8];
    tn__digest_read(key, bytes, sizeof bytes);
    return (tn__get64(bytes) >> 2) + 1;
}

/* PATH/NAME/END. NULL: out of memory. */
static char *path_of(struct tn__arena *arena, const char *path, const char *name, const char *end)
{
    size_t size = strlen(path) + strlen(name) + strlen(end) + 3;
    char *text = tn__arena_alloc(arena, size);
    if (text)
        snprintf(text, size, "%s/%s/%s", path, name, end);
    return text;
}

/* ---- keys ---- */

static int begin(struct search *s, const struct tn_package_key *given)
{
    struct tn_package_key key;
    struct tn__sha256 sha;
    uint8_t digest[TN__SHA256_SIZE];
    int code = tn__take_options(&key, sizeof key, given, "struct tn_package_key", s->err);
    if (code)
        return code;
    if (!key.name || !*key.name || *key.name == '.' || strchr(key.name, '/') || strlen(key.name) > LONGEST_NAME ||
        (!key.bytes && key.length))
        return tn__fail(s->err, TN_EINVAL, "a package's key has no name that a folder can have, or no bytes");
    tn__sha256_begin(&sha);
    tn__digest_add_text(&sha, FORMAT);
    tn__digest_add_text(&sha, tn_version());
    tn__digest_add_number(&sha, TN__IMAGE_VERSION);
    tn__digest_add_number(&sha, TN_RUNTIME_ABI);
    tn__digest_add(&sha, s->cache->identity.data, s->cache->identity.size);
    tn__digest_add_text(&sha, key.name);
    tn__digest_add_text(&sha, key.targets);
    if (key.targets && strstr(key.targets, "native"))
        tn__digest_add_cpu(&sha, &s->cache->native);
    tn__digest_add_text(&sha, key.flags);
    tn__digest_add(&sha, key.bytes, key.length);
    tn__sha256_end(&sha, digest);
    tn__digest_write(digest, sizeof digest, s->key);
    snprintf(s->temporary, sizeof s->temporary, "%s.%s", TN__FILES_NEW, s->key);
    s->lock = lock_of(s->key);
    s->name = key.name;
    *s->image = NULL;
    return 0;
}

/* ---- finding ---- */

static bool list_candidate(void *context, const struct tn__os_entry *entry)
{
    struct search *s = context;
    if (entry->is_folder)
        return true;
    if (is_image(entry->name) && memcmp(entry->name, s->key, KEY) == 0)
        s->failed = !tn__files_add(&s->found, s->prefix, entry);
    else if (s->clears && strncmp(entry->name, s->temporary, sizeof s->temporary - 1) == 0)
        tn__os_remove_in(s->fd, entry->name);
    return !s->failed;
}

static bool was_tried(const struct search *s, const struct tn__file *file)
{
    const struct tn__file *tried = s->tried;
    while (tried && (tried->inode != file->inode || strcmp(tried->name, file->name)))
        tried = tried->next;
    return tried;
}

/* TN_EUNDEF: it was rejected, or is gone. */
static int try_file(const struct search *s, const char *path)
{
    const char *name = path + strlen(s->prefix);
    struct tn__image_source from = {.size = 0};
    struct tn_error why;
    uint8_t id[TN__IMAGE_ID];
    int error = tn__os_open_in(s->fd, name, &from.fd);
    if (error == ENOENT)
        return TN_EUNDEF;
    if (error) {
        reject_by_errno(s->cache, path, error);
        return TN_EUNDEF;
    }
    tn__digest_read(name + KEY + 1, id, sizeof id);
    int code = tn__image_open_source(&from, path, id, s->options, s->image, &why);
    if (!code)
        tn__os_note_use(from.fd);
    tn__os_close(from.fd);
    if (code == TN_ENOMEM || code == TN_EINVAL) { /* not the file's fault */
        if (s->err)
            *s->err = why;
    } else if (code) {
        reject(s->cache, path, &why);
        code = TN_EUNDEF;
    }
    return code;
}

/* The one that was used last first. */
static int try_files(struct search *s)
{
    struct tn__file *latest = NULL;
    int code = TN_EUNDEF;
    tn__files_sort(&s->found);
    for (struct tn__file *file = s->found.first, *next; file; file = next) {
        next = file->next;
        file->next = latest;
        latest = file;
    }
    for (struct tn__file *file = latest, *next; file && code == TN_EUNDEF; file = next) {
        next = file->next;
        if (was_tried(s, file))
            continue;
        code = try_file(s, file->name);
        file->next = s->tried;
        s->tried = file;
    }
    return code;
}

/* Opens the folder of the package; `make`: to write there. An errno value. */
static int enter(struct search *s, const struct folder *folder, bool make)
{
    s->prefix = path_of(&s->found.arena, folder->path, s->name, "");
    return s->prefix ? tn__os_open_folder(folder->fd, s->name, make, !make, &s->fd) : ENOMEM;
}

/* TN_EUNDEF: it has none that can be opened. */
static int search_folder(struct search *s, const struct folder *folder)
{
    s->found.first = NULL;
    s->found.count = 0;
    int error = enter(s, folder, false), code = TN_EUNDEF;
    if (!error) {
        error = tn__os_each_in(s->fd, list_candidate, s);
        if (s->failed)
            error = ENOMEM;
        else if (!error)
            code = try_files(s);
        tn__os_close(s->fd);
    }
    if (error == ENOMEM)
        return tn__no_memory(s->err, folder->path);
    if (error && error != ENOENT)
        reject_by_errno(s->cache, s->prefix, error);
    return code;
}

static int search_all(struct search *s)
{
    int code = TN_EUNDEF;
    for (size_t i = 0; i < s->cache->count && code == TN_EUNDEF; i++)
        code = search_folder(s, &s->cache->folders[i]);
    return code;
}

int tn_package_find(const struct tn_package_cache *cache, const struct tn_package_key *key,
                    const struct tn_image_load_options *options, struct tn_image **image, struct tn_error *err)
{
    struct search s = {.cache = cache, .options = options, .image = image, .err = err};
    if (!cache || !key || !image)
        return tn__no_argument(err);
    int code = begin(&s, key);
    if (!code)
        code = search_all(&s);
    if (code == TN_EUNDEF)
        tn__fail(err, code, "the cache has no image of the package '%s' with this key that can be opened", s.name);
    tn__arena_free(&s.found.arena);
    return code;
}

/* ---- removing ---- */

struct trimming {
    const struct folder *folder;
    struct tn__files files;
    const char *prefix; /* NAME/ */
    int fd;             /* of the package's folder */
    bool clears, failed;
};

/* What is left of a builder that has ended: no process holds the lock of its key. */
static void remove_abandoned(const struct trimming *t, const char *name)
{
    static const char new_name[] = TN__FILES_NEW ".";
    const char *key = name + sizeof new_name - 1;
    int lock;
    if (strncmp(name, new_name, sizeof new_name - 1) || strspn(key, "0123456789abcdef") != KEY ||
        tn__os_lock_in(t->folder->fd, lock_of(key), false, &lock))
        return;
    tn__os_remove_in(t->fd, name);
    tn__os_unlock(lock);
}

static bool list_file(void *context, const struct tn__os_entry *entry)
{
    struct trimming *t = context;
    if (!entry->is_folder && is_image(entry->name))
        t->failed = !tn__files_add(&t->files, t->prefix, entry);
    else if (!entry->is_folder && t->clears)
        remove_abandoned(t, entry->name);
    return !t->failed;
}

static bool list_package(void *context, const struct tn__os_entry *entry)
{
    struct trimming *t = context;
    size_t length = strlen(entry->name);
    if (!entry->is_folder || tn__os_open_folder(t->folder->fd, entry->name, false, false, &t->fd))
        return true; /* which is no package's */
    char *prefix = tn__arena_text(&t->files.arena, entry->name, length + 1);
    t->failed = !prefix;
    if (prefix) {
        memcpy(prefix + length, "/", 2);
        t->prefix = prefix;
        tn__os_each_in(t->fd, list_file, t);
    }
    tn__os_close(t->fd);
    return !t->failed;
}

/* One process after the other, where there are locks: or else two would remove twice as much. */
static int trim(const struct folder *folder, uint64_t limit, uint64_t most, bool clears, struct tn_error *err)
{
    struct trimming t = {.folder = folder, .clears = clears};
    int lock, code = 0;
    bool has_lock = !tn__os_lock_in(folder->fd, TRIMMING, true, &lock);
    int error = tn__os_each_in(folder->fd, list_package, &t);
    if (t.failed || error == ENOMEM)
        code = tn__no_memory(err, folder->path);
    else if (error)
        code = tn__fail(err, TN_EIO, "%s: cannot be listed: %s", folder->path, strerror(error));
    else if (t.files.bytes > limit)
        tn__files_shrink(&t.files, folder->fd, most);
    if (has_lock)
        tn__os_unlock(lock);
    tn__arena_free(&t.files.arena);
    return code;
}

int tn_package_trim(const struct tn_package_cache *cache, uint64_t bytes, struct tn_error *err)
{
    if (!cache)
        return tn__no_argument(err);
    if (!cache->written)
        return tn__fail(err, TN_EPERM, "tn_package_trim: the cache has no folder that this user may write");
    return trim(cache->written, bytes, bytes, true, err);
}

/* ---- building ---- */

/* Verifies what was built, and finds its build id. */
static int identify(const struct search *s, const struct tn_buffer *file, uint8_t id[TN__IMAGE_ID])
{
    const struct tn__image_source from = {.bytes = file->data, .size = file->size};
    const struct tn_image_load_options options = {.size = sizeof options, .flags = TN_IMAGE_VERIFY};
    struct tn_image *image;
    if (!file->size)
        return tn__fail(s->err, TN_EFORMAT, "%s: nothing was built", s->name);
    int code = tn__image_open_reading(&from, s->name, &options, &image, s->err);
    if (code)
        return code;
    memcpy(id, tn_image_build_id(image), TN__IMAGE_ID);
    tn__image_close_checked(image);
    return 0;
}

/* An errno value: it was not kept. */
static int keep(struct search *s, const struct tn_buffer *file, const char *name)
{
    const struct tn_package_cache *cache = s->cache;
    if (cache->limit && file->size > cache->limit / 10 * 9)
        return EFBIG;
    int error = enter(s, cache->written, true);
    if (error)
        return error;
    error = tn__files_write(s->fd, s->temporary, name, file->data, file->size, true);
    tn__os_close(s->fd);
    if (!error && cache->limit)
        trim(cache->written, cache->limit, cache->limit / 10 * 9, false, NULL);
    return error;
}

static int make(struct search *s, tn_package_builder *build, void *context, struct tn_buffer *file)
{
    uint8_t id[TN__IMAGE_ID];
    char digits[ID + 1], name[NAME_SIZE];
    int code = build(context, file, s->err);
    if (!code)
        code = identify(s, file, id);
    if (code || !s->cache->written)
        return code;
    tn__digest_write(id, sizeof id, digits);
    snprintf(name, sizeof name, "%s-%s" SUFFIX, s->key, digits);
    int error = keep(s, file, name);
    if (error)
        reject_by_errno(s->cache, s->cache->written->path, error);
    else
        s->made = path_of(&s->found.arena, s->cache->written->path, s->name, name);
    return 0;
}

/* From its file, if it is there. */
static int open_made(struct search *s, const struct tn_buffer *file)
{
    int code = TN_EUNDEF;
    if (s->made && !enter(s, s->cache->written, false)) {
        code = try_file(s, s->made);
        tn__os_close(s->fd);
    }
    return code == TN_EUNDEF ? tn_image_open_memory(s->name, file->data, file->size, s->options, s->image, s->err)
                             : code;
}

static int find_or_make(struct search *s, tn_package_builder *build, void *context)
{
    struct tn_buffer file = {0};
    const struct folder *folder = s->cache->written;
    int lock, code = TN_EUNDEF;
    s->clears = folder && !tn__os_lock_in(folder->fd, s->lock, true, &lock);
    if (s->clears)
        code = search_folder(s, folder);
    if (code == TN_EUNDEF)
        code = make(s, build, context, &file);
    if (s->clears)
        tn__os_unlock(lock);
    if (!code && !*s->image)
        code = open_made(s, &file);
    tn_buffer_free(&file);
    return code;
}

int tn_package_build(const struct tn_package_cache *cache, const struct tn_package_key *key, tn_package_builder *build,
                     void *context, const struct tn_image_load_options *options, struct tn_image **image,
                     struct tn_error *err)
{
    struct search s = {.cache = cache, .options = options, .image = image, .err = err};
    if (!cache || !key || !build || !image)
        return tn__no_argument(err);
    int code = begin(&s, key);
    if (!code)
        code = search_all(&s);
    if (code == TN_EUNDEF)
        code = find_or_make(&s, build, context);
    tn__arena_free(&s.found.arena);
    return code;
}

/* ---- opening ---- */

static int take_identity(struct tn_package_cache *cache, const struct tn_package_cache_options *options,
                         struct tn_error *err)
{
    struct tn_compiler compiler;
    if (!options->compiler == !options->identity)
        return tn__fail(err, TN_EINVAL, "tn_package_cache_open: either a compiler or an identity is needed");
    if (options->identity)
        return tn__buffer_fill(&cache->identity, options->identity, strlen(options->identity))
                   ? 0
                   : tn__no_memory(err, NULL);
    int code = tn__take_compiler(options->compiler, &compiler, err);
    if (!code && !compiler.identify)
        code = tn__fail(err, TN_ENOTSUP, "tn_package_cache_open: the compiler does not identify itself");
    return code ? code : compiler.identify(compiler.context, &cache->identity, err);
}

static int add_folder(struct tn_package_cache *cache, const char *path)
{
    struct folder *folder = &cache->folders[cache->count];
    folder->path = tn__arena_text(&cache->arena, path, strlen(path));
    if (!folder->path)
        return ENOMEM;
    int error = tn__os_open_folder(TN__OS_HERE, path, !cache->written, false, &folder->fd);
    bool is_ours = !error;
    if (error == EPERM)
        error = tn__os_open_folder(TN__OS_HERE, path, false, true, &folder->fd);
    if (error)
        return error;
    cache->count++;
    if (is_ours && !cache->written && tn__os_may_write_in(folder->fd))
        cache->written = folder;
    return 0;
}

static int fill(struct tn_package_cache *cache, const struct tn_package_cache_options *options, struct tn_error *err)
{
    int code = take_identity(cache, options, err);
    if (code)
        return code;
    cache->native.size = sizeof cache->native;
    if (options->native)
        cache->native = *options->native;
    else
        code = tn_cpu_host(&cache->native, err);
    cache->limit = options->limit;
    cache->rejected = options->rejected;
    cache->context = options->context;
    for (size_t i = 0; i < options->folder_count && !code; i++) {
        int error = add_folder(cache, options->folders[i]);
        if (error == ENOMEM)
            code = tn__no_memory(err, options->folders[i]);
        else if (error)
            reject_by_errno(cache, options->folders[i], error);
    }
    return code;
}

int tn_package_cache_open(const struct tn_package_cache_options *given, struct tn_package_cache **out,
                          struct tn_error *err)
{
    struct tn_package_cache_options options;
    struct tn__arena arena = {.from = NULL};
    if (!out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_package_cache_options", err);
    if (code)
        return code;
    for (size_t i = 0; i < options.folder_count && options.folders; i++)
        if (!options.folders[i])
            return tn__no_argument(err);
    if (!options.folders || !options.folder_count)
        return tn__fail(err, TN_EINVAL, "tn_package_cache_open: no folders");
    struct tn_package_cache *cache = tn__arena_array(&arena, 1, sizeof *cache);
    struct folder *folders = cache ? tn__arena_array(&arena, options.folder_count, sizeof *folders) : NULL;
    if (!folders) {
        tn__arena_free(&arena);
        return tn__no_memory(err, NULL);
    }
    cache->arena = arena;
    cache->folders = folders;
    code = fill(cache, &options, err);
    if (code)
        tn_package_cache_close(cache);
    else
        *out = cache;
    return code;
}

void tn_package_cache_close(struct tn_package_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        tn__os_close(cache->folders[i].fd);
    tn_buffer_free(&cache->identity);
    struct tn__arena arena = cache->arena; /* the cache is in it */
    tn__arena_free(&arena);
}
