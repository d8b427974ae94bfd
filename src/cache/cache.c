/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A compiler that looks into stores first. A module's pack is read when the module is opened. The compiler behind sees
 * the module only when something is not in the pack; what it makes then is kept in memory until a new pack, with the
 * old one's contents, is written. */

#include <pthread.h>
#include <stdio.h>

#include "base/fork.h"
#include "base/os.h"
#include "cache/cache.h"
#include "cache/compiler.h"
#include "cache/description.h"
#include "cache/digest.h"

/* If so many bytes are pending and would double the pack, they are written before the module ends. So each byte is
 * written about twice at most. */
enum { PENDING_MOST = 1 << 20 };

struct cache {
    struct tn_compiler compiler;
    const struct tn_compiler *behind; /* NULL: none */
    struct tn_compiler given;         /* the client's, as far as this version knows it */
    char *identity;
    void *salt;
    size_t salt_length;
    struct tn_store **stores;
    size_t store_count;
    struct tn_cpu host;
    struct tn__list modules;        /* under the lock */
    struct tn_cache_stats counters; /* tn__count */
};

/* Something that was compiled and is not in the pack. */
struct pending {
    struct pending *next;
    uint32_t kind, part;
    size_t size;
    uint8_t bytes[];
};

struct cached {
    struct tn__list listed;
    struct cache *cache;
    const struct tn_compile_options *options;
    bool is_excluded; /* the compiler behind has it, but no store does */
    uint8_t key[TN__SHA256_SIZE];
    struct tn_buffer bytes; /* of the pack, as it was read */
    struct tn__pack pack;
    struct tn_module_description description; /* from the pack */
    struct tn__arena tables;                  /* of that */
    void *module; /* of the compiler behind; NULL: it has not seen it yet. Set once, under the lock */
    struct tn_ir ir;
    uint8_t digest[TN__SHA256_SIZE];
    struct pending *pending; /* under the lock */
    size_t pending_bytes;
    unsigned users;   /* under the lock: the JIT, and threads that write */
    unsigned holders; /* atomic: all users together, and each object that was lent */
    char *text;       /* copies of the IR and of its name, as long as they may be needed */
};

/* ---- the lock ---- */

/* One for all caches, held for moments: never while a store or a compiler works. */
static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_CACHES);

static void take_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_CACHES, &hooks);
    tn__mutex_lock(&lock);
}

static void give_lock(void)
{
    tn__mutex_unlock(&lock);
}

/* ---- stores ---- */

/* Reads the pack of the first store that has a sound one. */
static bool read_pack(struct cache *cache, const uint8_t key[TN__SHA256_SIZE], struct tn_buffer *bytes,
                      struct tn__pack *pack)
{
    for (size_t i = 0; i < cache->store_count; i++) {
        const struct tn_store *store = cache->stores[i];
        if (store->get(store->context, key, bytes) != 0)
            continue;
        if (tn__pack_read(bytes->data, bytes->size, key, pack))
            return true;
        tn__count(&cache->counters.damaged, 1);
        tn_buffer_free(bytes);
    }
    return false;
}

static void put_pack(struct cache *cache, const uint8_t key[TN__SHA256_SIZE], const struct tn_buffer *bytes)
{
    for (size_t i = cache->store_count; i-- > 0;) {
        const struct tn_store *store = cache->stores[i];
        if (!store->put || store->put(store->context, key, bytes->data, bytes->size) != 0)
            continue;
        tn__count(&cache->counters.puts, 1);
        tn__count(&cache->counters.put_bytes, bytes->size);
        return;
    }
    tn__count(&cache->counters.refused, 1);
}

static bool is_listed(const struct tn__pack_item *items, uint32_t count, const struct tn__pack_item *item)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i].kind == item->kind && items[i].part == item->part)
            return true;
    return false;
}

/* A pack of what was compiled and of what the stores have by now; another process may have added to it. */
static void write_pack(struct cache *cache, const uint8_t key[TN__SHA256_SIZE], const struct pending *pending)
{
    struct tn_buffer old = {0}, new = {0};
    struct tn__pack pack = {0};
    uint32_t count = 0, fresh = 0;
    read_pack(cache, key, &old, &pack);
    for (const struct pending *p = pending; p; p = p->next)
        fresh++;
    struct tn__pack_item *items = tn__alloc_zeroed(NULL, (size_t)pack.count + fresh, sizeof *items);
    for (const struct pending *p = pending; p && items; p = p->next)
        items[count++] = (struct tn__pack_item){p->kind, p->part, p->bytes, p->size, NULL};
    for (uint32_t i = 0; i < pack.count && items; i++) {
        struct tn__pack_item item = tn__pack_item(&pack, i);
        if (is_listed(items, fresh, &item))
            continue;
        if (tn__pack_is_sound(&item))
            items[count++] = item;
        else
            tn__count(&cache->counters.damaged, 1);
    }
    if (items && tn__pack_write(key, items, count, &new))
        put_pack(cache, key, &new);
    else
        tn__count(&cache->counters.refused, 1);
    tn__free(NULL, items);
    tn_buffer_free(&old);
    tn_buffer_free(&new);
}

static void write_pending(struct cached *c)
{
    take_lock();
    struct pending *pending = c->pending, *next;
    c->pending = NULL;
    c->pending_bytes = 0;
    give_lock();
    if (!pending)
        return;
    uint64_t begin = tn__os_now_ns();
    write_pack(c->cache, c->key, pending);
    tn__count(&c->cache->counters.put_ns, tn__os_now_ns() - begin);
    for (; pending; pending = next) {
        next = pending->next;
        tn__free(NULL, pending);
    }
}

/* Keeps a copy for the next pack. Without memory for it, it will be compiled again one day. */
static void keep(struct cached *c, uint32_t kind, uint32_t part, const struct tn_buffer *made)
{
    struct pending *p = c->is_excluded ? NULL : tn__alloc(NULL, sizeof *p + made->size);
    if (!p)
        return;
    *p = (struct pending){.kind = kind, .part = part, .size = made->size};
    memcpy(p->bytes, made->data, made->size);
    take_lock();
    p->next = c->pending;
    c->pending = p;
    c->pending_bytes += p->size;
    bool is_much = c->pending_bytes >= PENDING_MOST && c->pending_bytes >= c->bytes.size;
    give_lock();
    if (is_much)
        write_pending(c);
}

/* ---- modules ---- */

static void drop(struct cached *c)
{
    if (__atomic_sub_fetch(&c->holders, 1, __ATOMIC_ACQ_REL))
        return;
    tn_buffer_free(&c->bytes);
    tn__arena_free(&c->tables);
    tn__free(NULL, c->text);
    tn__free(NULL, c);
}

static void release(struct cached *c)
{
    take_lock();
    bool is_last = !--c->users;
    if (is_last)
        tn__list_remove(&c->listed);
    give_lock();
    if (!is_last)
        return;
    if (c->module)
        c->cache->behind->close(c->module);
    drop(c);
}

static void close_module(void *module)
{
    struct cached *c = module;
    write_pending(c);
    release(c);
}

static int miss(const struct cached *c, const char *name, struct tn_error *err)
{
    char key[65];
    tn__digest_write(c->key, TN__SHA256_SIZE, key);
    return tn__fail(err, TN_ENOTSUP, "%s: not in the cache under the key %s, and there is no compiler", name, key);
}

static int open_behind(struct cached *c, const char *name, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    const struct tn_compiler *behind = c->cache->behind;
    return behind ? behind->open(behind->context, &c->ir, c->options, module, description, err) : miss(c, name, err);
}

/* The compiler behind has seen the module; two threads that showed it at once have two modules, of which one stays. */
static void take_module(struct cached *c, void *module)
{
    take_lock();
    bool is_first = !c->module;
    if (is_first)
        __atomic_store_n(&c->module, module, __ATOMIC_RELEASE);
    give_lock();
    if (!is_first)
        c->cache->behind->close(module);
}

/* A pack with wrong contents may have another module's description. Names in it were promised, so this is an error. The
 * right description replaces it in the pack, so later runs do not see the error. */
static int reopen(struct cached *c, const char *name, struct tn_error *err)
{
    struct tn_buffer made = {0};
    const struct tn_module_description *description;
    struct tn__pack_item kept;
    bool is_damaged;
    void *module;
    int code = open_behind(c, name, &module, &description, err);
    if (code)
        return code;
    if (!tn__description_write(description, &made))
        code = tn__no_memory(err, name);
    else if (!tn__pack_find(&c->pack, TN__PACK_DESCRIPTION, 0, &kept, &is_damaged) || kept.size != made.size ||
             memcmp(kept.bytes, made.data, made.size) != 0) {
        tn__count(&c->cache->counters.damaged, 1);
        keep(c, TN__PACK_DESCRIPTION, 0, &made);
        code = tn__fail(err, TN_EFORMAT, "%s: the cache describes another module", name);
    }
    tn_buffer_free(&made);
    take_module(c, module);
    return code;
}

/* A copy: the client's IR may be there during this call only, and the compiler behind may see it later or never. */
static bool keep_ir(struct cached *c, const struct tn_ir *ir)
{
    size_t name_size = strlen(ir->name) + 1, length = ir->stays ? 0 : ir->length;
    c->text = tn__alloc(NULL, length + name_size);
    if (!c->text)
        return false;
    memcpy(c->digest, ir->digest, sizeof c->digest);
    c->ir.digest = c->digest;
    c->ir.name = memcpy(c->text + length, ir->name, name_size);
    if (!ir->stays)
        c->ir.bytes = memcpy(c->text, ir->bytes, length);
    return true;
}

/* Without `out` the item is borrowed from the pack. */
static bool find_item(struct cached *c, uint32_t kind, uint32_t part, struct tn__pack_item *item, struct tn_buffer *out)
{
    bool is_damaged;
    uint64_t begin = tn__os_now_ns();
    bool found = tn__pack_find(&c->pack, kind, part, item, &is_damaged) &&
                 (!out || tn__buffer_fill(out, item->bytes, item->size));
    tn__count(&c->cache->counters.damaged, is_damaged);
    tn__count(&c->cache->counters.lookup_ns, tn__os_now_ns() - begin);
    return found;
}

/* A description that is as it was written, but makes no sense, is a miss too. */
static bool find_description(struct cached *c)
{
    struct tn__pack_item item;
    if (!find_item(c, TN__PACK_DESCRIPTION, 0, &item, NULL))
        return false;
    int code = tn__description_read(item.bytes, item.size, &c->tables, &c->description, NULL);
    tn__count(&c->cache->counters.damaged, code == TN_EFORMAT);
    return !code;
}

static int describe(struct cached *c, const struct tn_module_description **description, struct tn_error *err)
{
    uint64_t begin = tn__os_now_ns();
    struct tn_buffer made = {0};
    void *module;
    if (!c->is_excluded)
        read_pack(c->cache, c->key, &c->bytes, &c->pack);
    tn__count(&c->cache->counters.lookup_ns, tn__os_now_ns() - begin);
    *description = &c->description;
    if (find_description(c)) {
        tn__count(&c->cache->counters.found, 1);
        return 0;
    }
    c->pack.count = 0; /* objects without a description are of no use */
    int code = open_behind(c, c->ir.name, &module, description, err);
    if (code)
        return code;
    if (!c->is_excluded && tn__description_write(*description, &made))
        keep(c, TN__PACK_DESCRIPTION, 0, &made);
    tn_buffer_free(&made);
    take_module(c, module);
    return 0;
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    struct cache *cache = context;
    struct cached *c = tn__alloc_zeroed(NULL, 1, sizeof *c);
    *module = NULL;
    if (!c)
        return tn__no_memory(err, ir->name);
    c->cache = cache;
    c->options = options;
    c->ir = *ir;
    c->users = c->holders = 1;
    c->is_excluded = !tn__key_of(cache->identity, cache->salt, cache->salt_length, &cache->host, ir, options, c->key);
    tn__count(&cache->counters.modules, 1);
    tn__count(&cache->counters.excluded, c->is_excluded);
    take_lock();
    tn__list_append(&cache->modules, &c->listed);
    give_lock();
    int code = describe(c, description, err);
    if (!code && !c->module && !keep_ir(c, ir))
        code = tn__no_memory(err, ir->name);
    if (code) {
        release(c);
        return code;
    }
    *module = c;
    return 0;
}

static void take_back(void *context, const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    drop(context);
}

static void lend(struct cached *c, const struct tn__pack_item *item, struct tn_input *to)
{
    __atomic_add_fetch(&c->holders, 1, __ATOMIC_RELAXED);
    to->bytes = item->bytes;
    to->length = item->size;
    to->release = take_back;
    to->context = c;
}

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    struct cached *c = module;
    uint32_t part = (uint32_t)request->part, kind;
    struct tn__pack_item item;
    bool is_kept = tn__variant_of(request, &kind);
    if (request->anew) { /* what was found before did not count */
        tn__count(&c->cache->counters.damaged, 1);
        tn__count(&c->cache->counters.found_objects, (uint64_t)-1);
    } else
        tn__count(&c->cache->counters.objects, 1);
    if (is_kept && !request->anew && find_item(c, kind, part, &item, request->kept ? NULL : object)) {
        if (request->kept)
            lend(c, &item, request->kept);
        tn__count(&c->cache->counters.found_objects, 1);
        return 0;
    }
    int code = __atomic_load_n(&c->module, __ATOMIC_ACQUIRE) ? 0 : reopen(c, request->name, err);
    if (!code)
        code = c->cache->behind->compile(c->module, request, object, err);
    if (!code && is_kept)
        keep(c, kind, part, object);
    return code;
}

/* ---- what only the compiler behind knows ---- */

static int check(void *context, const struct tn_compile_options *options, struct tn_error *err)
{
    const struct tn_compiler *behind = ((const struct cache *)context)->behind;
    return behind && behind->check ? behind->check(behind->context, options, err) : 0;
}

static int write_module(void *context, void *module, struct tn_buffer *ir, struct tn_error *err)
{
    const struct tn_compiler *behind = ((const struct cache *)context)->behind;
    if (!behind || !behind->write)
        return tn__fail(err, TN_ENOTSUP, "no compiler behind the cache takes modules in memory");
    return behind->write(behind->context, module, ir, err);
}

/* ---- creating and destroying ---- */

static struct cache *of(const struct tn_compiler *compiler)
{
    return compiler && compiler->open == open_module ? compiler->context : NULL;
}

/* What a compiler says of itself, or the client in its place; ends with a NUL. */
static int take_identity(struct cache *cache, const struct tn_cache_options *options, struct tn_error *err)
{
    struct tn_buffer text = {0};
    const char *given = options->identity ? options->identity : "";
    const struct tn_compiler *behind = cache->behind;
    int code = 0;
    if (behind && !behind->identify)
        code = tn__fail(err, TN_ENOTSUP, "tn_cache_create: the compiler does not identify itself");
    else if (behind)
        code = behind->identify(behind->context, &text, err);
    else if (!tn__buffer_fill(&text, given, strlen(given)))
        code = tn__no_memory(err, NULL);
    if (code)
        return code;
    cache->identity = tn__alloc_zeroed(NULL, text.size + 1, 1);
    if (cache->identity && text.size)
        memcpy(cache->identity, text.data, text.size);
    tn_buffer_free(&text);
    return cache->identity ? 0 : tn__no_memory(err, NULL);
}

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    const struct cache *cache = context;
    return tn__buffer_fill(text, cache->identity, strlen(cache->identity)) ? 0 : tn__no_memory(err, NULL);
}

static int check_options(const struct tn_cache_options *options, struct tn_error *err)
{
    if ((!options->stores && options->store_count) || (!options->salt && options->salt_length))
        return tn__fail(err, TN_EINVAL, "tn_cache_create: stores or salt are counted, but not given");
    if (!options->compiler == !options->identity)
        return tn__fail(err, TN_EINVAL, "tn_cache_create: either a compiler or an identity is needed");
    for (size_t i = 0; i < options->store_count; i++)
        if (!options->stores[i] || options->stores[i]->size != sizeof(struct tn_store) || !options->stores[i]->get)
            return tn__fail(err, TN_EINVAL, "tn_cache_create: store %zu is not complete", i);
    return 0;
}

/* A copy of what may be empty. False: out of memory. */
static bool copy(void *to, const void *from, size_t size)
{
    void *block = tn__alloc(NULL, size ? size : 1);
    if (block && size)
        memcpy(block, from, size);
    memcpy(to, &block, sizeof block);
    return block;
}

int tn_cache_create(const struct tn_cache_options *given, struct tn_compiler **out, struct tn_error *err)
{
    struct tn_cache_options options;
    if (!out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_cache_options", err);
    if (!code)
        code = check_options(&options, err);
    if (code)
        return code;
    struct cache *cache = tn__alloc_zeroed(NULL, 1, sizeof *cache);
    if (!cache)
        return tn__no_memory(err, NULL);
    cache->compiler = (struct tn_compiler){.size = sizeof cache->compiler,
                                           .context = cache,
                                           .identify = identify,
                                           .open = open_module,
                                           .compile = compile,
                                           .close = close_module,
                                           .check = check,
                                           .write = write_module};
    cache->host.size = sizeof cache->host;
    cache->store_count = options.store_count;
    cache->salt_length = options.salt_length;
    tn__list_init(&cache->modules);
    if (!copy(&cache->stores, options.stores, options.store_count * sizeof *options.stores) ||
        !copy(&cache->salt, options.salt, options.salt_length))
        code = tn__no_memory(err, NULL);
    if (!code)
        code = tn_cpu_host(&cache->host, err);
    if (!code && options.compiler) {
        code = tn__take_compiler(options.compiler, &cache->given, err);
        cache->behind = &cache->given;
    }
    if (!code)
        code = take_identity(cache, &options, err);
    if (code) {
        tn_cache_destroy(&cache->compiler);
        return code;
    }
    *out = &cache->compiler;
    return 0;
}

void tn_cache_destroy(struct tn_compiler *compiler)
{
    struct cache *cache = of(compiler);
    if (!cache)
        return;
    tn__free(NULL, cache->stores);
    tn__free(NULL, cache->salt);
    tn__free(NULL, cache->identity);
    tn__free(NULL, cache);
}

/* ---- flushing, counting ---- */

/* A module with something to write, which stays until it is released. */
static struct cached *next_to_write(struct cache *cache)
{
    struct cached *found = NULL;
    take_lock();
    for (TN_EACH(struct cached, c, &cache->modules, listed))
        if (c->pending) {
            found = c;
            found->users++;
            break;
        }
    give_lock();
    return found;
}

int tn_cache_flush(struct tn_compiler *compiler, struct tn_error *err)
{
    struct cache *cache = of(compiler);
    if (!cache)
        return tn__fail(err, TN_EINVAL, "tn_cache_flush: the compiler is not a cache");
    for (struct cached *c = next_to_write(cache); c; c = next_to_write(cache)) {
        write_pending(c);
        release(c);
    }
    return 0;
}

void tn_cache_stats(const struct tn_compiler *compiler, struct tn_cache_stats *stats)
{
    static const struct tn_cache_stats none;
    const struct cache *cache = of(compiler);
    tn__give_counters(stats, sizeof none, cache ? &cache->counters : &none);
}
