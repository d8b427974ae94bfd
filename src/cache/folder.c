/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Packs as files of a folder, called by their keys. Readers take no lock. A writer takes the folder's lock without
 * waiting for it, writes a new file, and renames it; a file with another name is what a killed writer has left. Nothing
 * is synchronised with the disk: after a crash of the system, checksums tell what is missing. */

#include <errno.h>
#include <stdio.h>

#include "base/os.h"
#include "cache/cache.h"

struct folder {
    struct tn_store store;
    int fd;
    uint64_t limit;
    uint64_t bytes; /* of all files, as far as this process knows; UINT64_MAX: it has not counted them */
};

enum { NAME_SIZE = 2 * TN__SHA256_SIZE + 1 };
static const char new_name[] = ".new";

static bool is_pack(const char *name)
{
    return strlen(name) == NAME_SIZE - 1 && strspn(name, "0123456789abcdef") == NAME_SIZE - 1;
}

/* ---- reading ---- */

static int read_file(const struct folder *folder, const char *name, struct tn_buffer *out)
{
    uint64_t size;
    bool is_ours;
    int fd, error = tn__os_open_in(folder->fd, name, &fd);
    if (error)
        return error == ENOENT ? TN_EUNDEF : TN_EIO;
    error = tn__os_file_status(fd, &size, &is_ours);
    if (!error && folder->limit && size > folder->limit) /* no pack; it may be larger than memory */
        error = EFBIG;
    out->data = error ? NULL : tn__alloc(NULL, (size_t)size + 1);
    if (!error && !out->data)
        error = ENOMEM;
    if (!error)
        error = tn__os_read_open(fd, 0, out->data, (size_t)size, &out->size);
    if (!error && folder->store.put)
        tn__os_note_use(fd);
    tn__os_close(fd);
    if (error)
        tn_buffer_free(out);
    return error == ENOMEM ? TN_ENOMEM : error ? TN_EIO : TN_OK;
}

static int get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    char name[NAME_SIZE];
    tn__key_write(key, name);
    return read_file(context, name, out);
}

/* ---- removing what was not used for longest ---- */

struct listing {
    struct tn__arena arena;
    struct listed {
        struct listed *next;
        char name[NAME_SIZE];
        uint64_t size, used;
    } * files;
    size_t count;
    uint64_t bytes;
    const struct folder *folder;
    bool clears; /* under the lock: what is no pack is removed */
    uint64_t removed;
    bool failed;
};

static bool list_file(void *context, const char *name, uint64_t size, uint64_t used)
{
    struct listing *l = context;
    if (!is_pack(name)) {
        if (l->clears && strncmp(name, new_name, sizeof new_name - 1) == 0)
            l->removed += !tn__os_remove_in(l->folder->fd, name);
        return true;
    }
    struct listed *file = tn__arena_alloc(&l->arena, sizeof *file);
    l->failed = !file;
    if (!file)
        return false;
    *file = (struct listed){.next = l->files, .size = size, .used = used};
    memcpy(file->name, name, NAME_SIZE);
    l->files = file;
    l->count++;
    l->bytes += size;
    return true;
}

static int list_files(struct listing *l)
{
    int error = tn__os_each_in(l->folder->fd, list_file, l);
    return error ? TN_EIO : l->failed ? TN_ENOMEM : TN_OK;
}

static struct listed *merge(struct listed *a, struct listed *b)
{
    struct listed *first = NULL, **end = &first;
    for (; a && b; end = &(*end)->next) {
        struct listed **from = a->used <= b->used ? &a : &b;
        *end = *from;
        *from = (*from)->next;
    }
    *end = a ? a : b;
    return first;
}

/* Merge sort, oldest first. */
static struct listed *sort(struct listed *files, size_t count)
{
    if (count < 2)
        return files;
    struct listed *middle = files;
    for (size_t i = 1; i < count / 2; i++)
        middle = middle->next;
    struct listed *second = middle->next;
    middle->next = NULL;
    return merge(sort(files, count / 2), sort(second, count - count / 2));
}

/* With the lock. */
static int shrink(struct listing *l, uint64_t most)
{
    if (l->bytes <= most)
        return TN_OK;
    l->files = sort(l->files, l->count);
    for (struct listed *file = l->files; file && l->bytes > most; file = file->next)
        if (!tn__os_remove_in(l->folder->fd, file->name)) {
            l->bytes -= file->size;
            l->removed++;
        }
    return TN_OK;
}

/* ---- writing ---- */

/* The part after the point keeps threads and processes apart that write without each other's lock. */
static int write_new(const struct folder *folder, const char *name, const void *bytes, size_t length)
{
    char temporary[40];
    uint64_t random;
    int fd, error = tn__os_random(&random);
    if (error)
        return error;
    snprintf(temporary, sizeof temporary, "%s.%016llx", new_name, (unsigned long long)random);
    error = tn__os_create_in(folder->fd, temporary, &fd);
    if (error)
        return error;
    error = tn__os_append(fd, bytes, length);
    tn__os_close(fd);
    if (!error)
        error = tn__os_rename_in(folder->fd, temporary, name);
    if (error)
        tn__os_remove_in(folder->fd, temporary);
    return error;
}

static void make_room(struct folder *folder)
{
    uint64_t known = __atomic_load_n(&folder->bytes, __ATOMIC_RELAXED);
    if (known != UINT64_MAX && (!folder->limit || known <= folder->limit))
        return;
    struct listing l = {.folder = folder, .clears = true};
    if (list_files(&l) == TN_OK) {
        if (folder->limit && l.bytes > folder->limit)
            shrink(&l, folder->limit / 10 * 9);
        __atomic_store_n(&folder->bytes, l.bytes, __ATOMIC_RELAXED);
    }
    tn__arena_free(&l.arena);
}

static int put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    struct folder *folder = context;
    char name[NAME_SIZE];
    int lock;
    tn__key_write(key, name);
    if (folder->limit && length > folder->limit / 10 * 9)
        return TN_ERANGE;
    if (tn__os_lock_folder(folder->fd, &lock))
        return TN_EIO;
    int error = write_new(folder, name, bytes, length);
    if (!error) {
        if (__atomic_load_n(&folder->bytes, __ATOMIC_RELAXED) != UINT64_MAX)
            __atomic_fetch_add(&folder->bytes, length, __ATOMIC_RELAXED);
        make_room(folder);
    }
    tn__os_close(lock);
    return error ? TN_EIO : TN_OK;
}

/* ---- opening ---- */

int tn_store_open_folder(const struct tn_folder_options *given, struct tn_store **out, struct tn_error *err)
{
    struct tn_folder_options options;
    if (!out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_folder_options", err);
    if (code != TN_OK)
        return code;
    if (!options.path)
        return tn__fail(err, TN_EINVAL, "tn_store_open_folder: no path given");
    struct folder *folder = tn__alloc_zeroed(NULL, 1, sizeof *folder);
    if (!folder)
        return tn__no_memory(err, options.path);
    int error = tn__os_open_folder(options.path, !options.read_only, options.read_only, &folder->fd);
    if (error) {
        tn__free(NULL, folder);
        code = error == EPERM ? TN_EPERM : error == ENOMEM ? TN_ENOMEM : TN_EIO;
        return tn__fail(err, code, "%s: %s", options.path,
                        error == EPERM ? "a cache's folder has to be a folder of this user's that only they can write"
                                       : strerror(error));
    }
    folder->store = (struct tn_store){
        .size = sizeof folder->store, .context = folder, .get = get, .put = options.read_only ? NULL : put};
    folder->limit = options.limit;
    folder->bytes = UINT64_MAX;
    *out = &folder->store;
    return TN_OK;
}

void tn_store_close_folder(struct tn_store *store)
{
    if (!store)
        return;
    struct folder *folder = store->context;
    tn__os_close(folder->fd);
    tn__free(NULL, folder);
}

/* ---- looking at it ---- */

static bool parse_key(const char *name, uint8_t key[TN__SHA256_SIZE])
{
    for (size_t i = 0; i < TN__SHA256_SIZE; i++) {
        unsigned value = 0;
        for (size_t digit = 0; digit < 2; digit++) {
            char c = name[2 * i + digit];
            value = value * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        key[i] = (uint8_t)value;
    }
    return true;
}

static bool is_sound(const struct folder *folder, const char *name, uint64_t *objects)
{
    uint8_t key[TN__SHA256_SIZE];
    struct tn_buffer bytes = {0};
    struct tn__pack pack;
    bool good = parse_key(name, key) && read_file(folder, name, &bytes) == TN_OK &&
                tn__pack_read(bytes.data, bytes.size, key, &pack);
    *objects = 0;
    for (uint32_t i = 0; good && i < pack.count; i++) {
        struct tn__pack_item item = tn__pack_item(&pack, i);
        good = tn__pack_is_sound(&item);
        *objects += (item.kind & TN__PACK_KIND) == TN__PACK_OBJECT;
    }
    tn_buffer_free(&bytes);
    return good;
}

static int open_listing(struct tn_store *store, struct listing *l, struct tn_error *err)
{
    if (!store || store->get != get)
        return tn__fail(err, TN_EINVAL, "the store is not a folder");
    l->folder = store->context;
    int code = list_files(l);
    return code ? tn__fail(err, code, "the folder of a cache cannot be listed") : TN_OK;
}

int tn_store_each_file(struct tn_store *store, int (*visit)(void *context, const struct tn_cache_file *file),
                       void *context, struct tn_error *err)
{
    struct listing l = {0};
    if (!visit)
        return tn__no_argument(err);
    int code = open_listing(store, &l, err);
    bool goes_on = true;
    for (struct listed *file = l.files = sort(l.files, l.count); file && !code && goes_on; file = file->next) {
        struct tn_cache_file shown = {
            .size = sizeof shown, .name = file->name, .bytes = file->size, .used = file->used};
        shown.is_sound = is_sound(l.folder, file->name, &shown.objects);
        goes_on = !visit(context, &shown);
    }
    tn__arena_free(&l.arena);
    return code;
}

int tn_store_prune(struct tn_store *store, uint64_t limit, uint64_t *removed, struct tn_error *err)
{
    struct listing l = {.clears = true};
    int lock;
    if (!removed)
        return tn__no_argument(err);
    *removed = 0;
    if (!store || store->get != get)
        return tn__fail(err, TN_EINVAL, "the store is not a folder");
    struct folder *folder = store->context;
    if (!store->put)
        return tn__fail(err, TN_EPERM, "it is read-only");
    int error = tn__os_lock_folder(folder->fd, &lock);
    if (error)
        return tn__fail(err, TN_EPERM, "%s",
                        error == EWOULDBLOCK ? "another process is writing to the folder" : strerror(error));
    int code = open_listing(store, &l, err);
    for (struct listed *file = l.files; file && !code; file = file->next) {
        uint64_t objects;
        if (!is_sound(folder, file->name, &objects) && !tn__os_remove_in(folder->fd, file->name)) {
            l.removed++;
            l.bytes -= file->size;
            file->size = 0;
        }
    }
    if (!code)
        code = shrink(&l, limit);
    *removed = l.removed;
    tn__arena_free(&l.arena);
    tn__os_close(lock);
    return code;
}
