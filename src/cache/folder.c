/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Packs as files of a folder, called by their keys. Readers take no lock. A writer takes the folder's lock without
 * waiting for it, writes a new file, and renames it; a file with another name is what a killed writer has left. Nothing
 * is synchronised with the disk: after a crash of the system, checksums tell what is missing. */

#include <errno.h>

#include "cache/cache.h"
#include "cache/digest.h"
#include "cache/files.h"

struct folder {
    struct tn_store store;
    int fd;
    uint64_t limit;
    uint64_t bytes; /* of all files, as far as this process knows; UINT64_MAX: it has not counted them */
};

enum { NAME_SIZE = 2 * TN__SHA256_SIZE + 1, LOCK = 0 };

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
    return error == ENOMEM ? TN_ENOMEM : error ? TN_EIO : 0;
}

static int get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    char name[NAME_SIZE];
    tn__digest_write(key, TN__SHA256_SIZE, name);
    return read_file(context, name, out);
}

/* ---- writing ---- */

struct listing {
    struct tn__files files;
    const struct folder *folder;
    bool clears; /* under the lock: what is no pack is removed */
    uint64_t removed;
    bool failed;
};

static bool list_file(void *context, const struct tn__os_entry *entry)
{
    struct listing *l = context;
    if (entry->is_folder)
        return true;
    if (is_pack(entry->name)) {
        l->failed = !tn__files_add(&l->files, "", entry);
        return !l->failed;
    }
    if (l->clears && strncmp(entry->name, TN__FILES_NEW, strlen(TN__FILES_NEW)) == 0)
        l->removed += !tn__os_remove_in(l->folder->fd, entry->name);
    return true;
}

static int list_files(struct listing *l)
{
    int error = tn__os_each_in(l->folder->fd, list_file, l);
    return error ? TN_EIO : l->failed ? TN_ENOMEM : 0;
}

static void make_space(struct folder *folder)
{
    uint64_t known = __atomic_load_n(&folder->bytes, __ATOMIC_RELAXED);
    if (known != UINT64_MAX && (!folder->limit || known <= folder->limit))
        return;
    struct listing l = {.folder = folder, .clears = true};
    if (list_files(&l) == 0) {
        if (folder->limit && l.files.bytes > folder->limit)
            tn__files_shrink(&l.files, folder->fd, folder->limit / 10 * 9);
        __atomic_store_n(&folder->bytes, l.files.bytes, __ATOMIC_RELAXED);
    }
    tn__arena_free(&l.files.arena);
}

static int put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    struct folder *folder = context;
    char name[NAME_SIZE];
    int lock;
    tn__digest_write(key, TN__SHA256_SIZE, name);
    if (folder->limit && length > folder->limit / 10 * 9)
        return TN_ERANGE;
    if (tn__os_lock_in(folder->fd, LOCK, false, &lock))
        return TN_EIO;
    int error = tn__files_write(folder->fd, TN__FILES_NEW, name, bytes, length, false);
    if (!error) {
        if (__atomic_load_n(&folder->bytes, __ATOMIC_RELAXED) != UINT64_MAX)
            __atomic_fetch_add(&folder->bytes, length, __ATOMIC_RELAXED);
        make_space(folder);
    }
    tn__os_unlock(lock);
    return error ? TN_EIO : 0;
}

/* ---- opening ---- */

int tn_store_open_folder(const struct tn_folder_options *given, struct tn_store **out, struct tn_error *err)
{
    struct tn_folder_options options;
    if (!out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_folder_options", err);
    if (code)
        return code;
    if (!options.path)
        return tn__fail(err, TN_EINVAL, "tn_store_open_folder: no path given");
    struct folder *folder = tn__alloc_zeroed(NULL, 1, sizeof *folder);
    if (!folder)
        return tn__no_memory(err, options.path);
    int error = tn__os_open_folder(TN__OS_HERE, options.path, !options.read_only, options.read_only, &folder->fd);
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
    return 0;
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

static bool is_sound(const struct folder *folder, const char *name, uint64_t *objects)
{
    uint8_t key[TN__SHA256_SIZE];
    struct tn_buffer bytes = {0};
    struct tn__pack pack;
    tn__digest_read(name, key, sizeof key);
    bool good = read_file(folder, name, &bytes) == 0 && tn__pack_read(bytes.data, bytes.size, key, &pack);
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
    return code ? tn__fail(err, code, "the folder of a cache cannot be listed") : 0;
}

int tn_store_each_file(struct tn_store *store, int (*visit)(void *context, const struct tn_cache_file *file),
                       void *context, struct tn_error *err)
{
    struct listing l = {0};
    if (!visit)
        return tn__no_argument(err);
    int code = open_listing(store, &l, err);
    bool goes_on = true;
    tn__files_sort(&l.files);
    for (struct tn__file *file = l.files.first; file && !code && goes_on; file = file->next) {
        struct tn_cache_file shown = {
            .size = sizeof shown, .name = file->name, .bytes = file->size, .used = file->used};
        shown.is_sound = is_sound(l.folder, file->name, &shown.objects);
        goes_on = !visit(context, &shown);
    }
    tn__arena_free(&l.files.arena);
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
    int error = tn__os_lock_in(folder->fd, LOCK, false, &lock);
    if (error)
        return tn__fail(err, TN_EPERM, "%s",
                        error == EWOULDBLOCK ? "another process is writing to the folder" : strerror(error));
    int code = open_listing(store, &l, err);
    for (struct tn__file *file = l.files.first; file && !code; file = file->next) {
        uint64_t objects;
        if (!is_sound(folder, file->name, &objects) && !tn__os_remove_in(folder->fd, file->name)) {
            l.removed++;
            l.files.bytes -= file->size;
            file->size = 0;
        }
    }
    if (!code)
        l.removed += tn__files_shrink(&l.files, folder->fd, limit);
    *removed = l.removed;
    tn__arena_free(&l.files.arena);
    tn__os_unlock(lock);
    return code;
}
