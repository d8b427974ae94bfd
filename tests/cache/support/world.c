/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See world.h. */

#include "cache/description.h"
#include "world.h"

/* ---- a compiler ---- */

struct toy_module {
    struct toy *toy;
    char ir[40], names[PARTS][80];
    struct tn_module_symbol symbols[PARTS];
    struct tn_module_description description;
};

static int toy_identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context, (void)err;
    return tn__buffer_fill(text, "toy", 3) ? 0 : TN_ENOMEM;
}

void toy_text(const char *ir, long part, char text[80])
{
    snprintf(text, 80, "%s, part %ld", ir, part);
}

/* A symbol for each part, called as its object. */
static void toy_describe(struct toy_module *m)
{
    m->description = (struct tn_module_description){.parts = PARTS, .count = PARTS, .symbols = m->symbols};
    for (uint32_t part = 0; part < PARTS; part++) {
        toy_text(m->ir, part, m->names[part]);
        m->symbols[part] = (struct tn_module_symbol){.part = part, .name = m->names[part]};
    }
}

static bool toy_fill(const char *ir, long part, struct tn_buffer *out)
{
    char text[80];
    struct toy_module m = {0};
    if (part < 0) {
        strcpy(m.ir, ir);
        toy_describe(&m);
        return tn__description_write(&m.description, out);
    }
    toy_text(ir, part, text);
    return tn__buffer_fill(out, text, strlen(text));
}

static int toy_open(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                    const struct tn_module_description **description, struct tn_error *err)
{
    (void)options, (void)err;
    struct toy *toy = context;
    struct toy_module *m = calloc(1, sizeof *m);
    __atomic_fetch_add(&toy->opens, 1, __ATOMIC_RELAXED);
    if (!m)
        return TN_ENOMEM;
    m->toy = toy;
    memcpy(m->ir, ir->bytes, ir->length);
    toy_describe(m);
    *module = m;
    *description = &m->description;
    return 0;
}

static int toy_compile(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                       struct tn_error *err)
{
    (void)err;
    struct toy_module *m = module;
    __atomic_fetch_add(&m->toy->compiles, 1, __ATOMIC_RELAXED);
    return toy_fill(m->ir, (long)request->part, object) ? 0 : TN_ENOMEM;
}

static void toy_close(void *module)
{
    free(module);
}

/* ---- a world ---- */

const struct tn_compile_options defaults = {.size = sizeof defaults};

void open_cache(struct world *w, uint64_t limit, bool read_only, bool alone)
{
    struct tn_error err = {.text = ""};
    struct tn_folder_options folder = {.size = sizeof folder, .path = w->path, .limit = limit, .read_only = read_only};
    w->toy = (struct toy){0};
    w->compiler = (struct tn_compiler){.size = sizeof w->compiler,
                                       .context = &w->toy,
                                       .identify = toy_identify,
                                       .open = toy_open,
                                       .compile = toy_compile,
                                       .close = toy_close};
    if (tn_store_open_folder(&folder, &w->store, &err))
        fail_msg("%s", err.text);
    struct tn_cache_options options = {.size = sizeof options,
                                       .stores = &w->store,
                                       .store_count = 1,
                                       .compiler = alone ? NULL : &w->compiler,
                                       .identity = alone ? "toy" : NULL};
    if (tn_cache_create(&options, &w->cache, &err))
        fail_msg("%s", err.text);
}

void close_cache(struct world *w)
{
    tn_cache_destroy(w->cache);
    tn_store_close_folder(w->store);
}

void create(struct world *w)
{
    *w = (struct world){.path = "/tmp/tenon-cache-XXXXXX"};
    assert_non_null(mkdtemp(w->path));
    open_cache(w, 0, false, false);
}

void remove_folder(const char *path)
{
    char command[200];
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", path, path);
    assert_int_equal(system(command), 0);
}

void destroy(struct world *w)
{
    close_cache(w);
    remove_folder(w->path);
}

struct tn_cache_stats stats_of(const struct world *w)
{
    struct tn_cache_stats stats = {.size = sizeof stats};
    tn_cache_stats(w->cache, &stats);
    return stats;
}

static int sum_up(void *context, const struct tn_cache_file *file)
{
    uint64_t *sums = context;
    sums[0] += file->bytes;
    sums[1]++;
    sums[2] += file->is_sound != 0;
    return 0;
}

uint64_t bytes_in(struct tn_store *store, uint64_t *files)
{
    uint64_t sums[3] = {0};
    assert_int_equal(tn_store_each_file(store, sum_up, sums, NULL), 0);
    assert_int_equal(sums[1], sums[2]); /* all are sound */
    *files = sums[1];
    return sums[0];
}

/* ---- using it ---- */

int open_ir(const struct world *w, const char *text, const struct tn_compile_options *options, uint64_t copy,
            void **module, struct tn_buffer *description, struct tn_error *err)
{
    uint8_t digest[TN__SHA256_SIZE];
    tn__sha256_of(text, strlen(text), digest);
    const struct tn_ir ir = {
        .size = sizeof ir, .name = "m", .bytes = text, .length = strlen(text), .digest = digest, .copy = copy};
    const struct tn_module_description *described;
    int code = w->cache->open(w->cache->context, &ir, options, module, &described, err);
    if (code || tn__description_write(described, description))
        return code;
    w->cache->close(*module);
    *module = NULL;
    return TN_ENOMEM;
}

bool is_text(const struct tn_buffer *bytes, const char *ir, long part)
{
    struct tn_buffer wanted = {0};
    bool same =
        toy_fill(ir, part, &wanted) && bytes->size == wanted.size && memcmp(bytes->data, wanted.data, bytes->size) == 0;
    tn_buffer_free(&wanted);
    return same;
}

/* Compiles one part, by every second call so that what is in a pack is borrowed. */
static bool use_part(const struct world *w, void *module, const char *ir, long part)
{
    struct tn_buffer bytes = {0};
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_input kept = {.size = sizeof kept};
    const struct tn_part_request request = {.size = sizeof request,
                                            .part = (uint64_t)part,
                                            .name = "m(f)",
                                            .stats = &stats,
                                            .kept = part % 2 ? &kept : NULL};
    bool good = w->cache->compile(module, &request, &bytes, NULL) == 0;
    if (good && kept.release) {
        good = is_text(&(struct tn_buffer){(void *)(uintptr_t)kept.bytes, kept.length}, ir, part);
        kept.release(kept.context, kept.bytes, kept.length);
    } else
        good = good && is_text(&bytes, ir, part);
    tn_buffer_free(&bytes);
    return good;
}

const char *use(const struct world *w, const char *ir, long first, long count)
{
    struct tn_buffer bytes = {0};
    struct tn_error err;
    void *module;
    if (open_ir(w, ir, &defaults, 0, &module, &bytes, &err))
        return "it cannot be opened";
    bool good = is_text(&bytes, ir, -1);
    tn_buffer_free(&bytes);
    for (long part = first; part < first + count && good; part++)
        good = use_part(w, module, ir, part);
    w->cache->close(module);
    return good ? NULL : "wrong bytes";
}

void use_all(const struct world *w, const char *ir)
{
    const char *wrong = use(w, ir, 0, PARTS);
    if (wrong)
        fail_msg("%s: %s", ir, wrong);
}

void assert_work(const struct world *w, int opens, int compiles)
{
    assert_int_equal(w->toy.opens, opens);
    assert_int_equal(w->toy.compiles, compiles);
}
