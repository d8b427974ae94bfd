/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Caches without LLVM: a toy compiler stands behind them. What is found and what is not, keys, damage in every byte of
 * a pack, folders that must not be trusted, every request to the system refused in turn, limits, threads, and writers
 * that are killed. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/os.h"
#include "cache/cache.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { PARTS = 6 };

/* ---- a compiler ---- */

/* An object says which module and which part it is of. */
struct toy {
    int opens, compiles; /* atomic */
};

struct toy_module {
    struct toy *toy;
    char ir[40];
};

static int toy_identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context, (void)err;
    return tn__buffer_fill(text, "toy", 3) ? TN_OK : TN_ENOMEM;
}

static void toy_text(const char *ir, long part, char text[80])
{
    snprintf(text, 80, "%s, part %ld", ir, part);
}

static bool toy_fill(const char *ir, long part, struct tn_buffer *out)
{
    char text[80];
    toy_text(ir, part, text);
    return tn__buffer_fill(out, text, strlen(text));
}

static int toy_open(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                    struct tn_buffer *description, struct tn_error *err)
{
    (void)options, (void)err;
    struct toy *toy = context;
    struct toy_module *m = calloc(1, sizeof *m);
    __atomic_fetch_add(&toy->opens, 1, __ATOMIC_RELAXED);
    if (!m)
        return TN_ENOMEM;
    m->toy = toy;
    memcpy(m->ir, ir->bytes, ir->length);
    *module = m;
    if (toy_fill(m->ir, -1, description))
        return TN_OK;
    free(m);
    return TN_ENOMEM;
}

static int toy_compile(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                       struct tn_error *err)
{
    (void)err;
    struct toy_module *m = module;
    __atomic_fetch_add(&m->toy->compiles, 1, __ATOMIC_RELAXED);
    return toy_fill(m->ir, (long)request->part, object) ? TN_OK : TN_ENOMEM;
}

static void toy_close(void *module)
{
    free(module);
}

/* ---- a world ---- */

struct world {
    char path[60];
    struct toy toy;
    struct tn_compiler compiler;
    struct tn_store *store;
    struct tn_compiler *cache;
};

static const struct tn_compile_options defaults = {.size = sizeof defaults};

static void open_cache(struct world *w, uint64_t limit, bool read_only, bool alone)
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

static void close_cache(struct world *w)
{
    tn_cache_destroy(w->cache);
    tn_store_close_folder(w->store);
}

static void create(struct world *w)
{
    *w = (struct world){.path = "/tmp/tenon-cache-XXXXXX"};
    assert_non_null(mkdtemp(w->path));
    open_cache(w, 0, false, false);
}

static void remove_folder(const char *path)
{
    char command[200];
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", path, path);
    assert_int_equal(system(command), 0);
}

static void destroy(struct world *w)
{
    close_cache(w);
    remove_folder(w->path);
}

static struct tn_cache_stats stats_of(const struct world *w)
{
    struct tn_cache_stats stats = {.size = sizeof stats};
    tn_cache_stats(w->cache, &stats);
    return stats;
}

/* ---- using it ---- */

static int open_ir(const struct world *w, const char *text, const struct tn_compile_options *options, uint64_t copy,
                   void **module, struct tn_buffer *description, struct tn_error *err)
{
    uint8_t digest[TN__SHA256_SIZE];
    tn__sha256_of(text, strlen(text), digest);
    const struct tn_ir ir = {
        .size = sizeof ir, .name = "m", .bytes = text, .length = strlen(text), .digest = digest, .copy = copy};
    return w->cache->open(w->cache->context, &ir, options, module, description, err);
}

static bool is_text(const struct tn_buffer *bytes, const char *ir, long part)
{
    char text[80];
    toy_text(ir, part, text);
    return bytes->size == strlen(text) && memcmp(bytes->data, text, bytes->size) == 0;
}

/* NULL: all was as it should be, or an error that the compiler itself has (out of memory). */
static const char *use(const struct world *w, const char *ir, long first, long count)
{
    struct tn_buffer bytes = {0};
    struct tn_error err;
    void *module;
    if (open_ir(w, ir, &defaults, 0, &module, &bytes, &err))
        return "it cannot be opened";
    bool good = is_text(&bytes, ir, -1);
    tn_buffer_free(&bytes);
    for (long part = first; part < first + count && good; part++) {
        struct tn_compile_stats stats = {.size = sizeof stats};
        const struct tn_part_request request = {
            .size = sizeof request, .part = (uint64_t)part, .name = "m(f)", .stats = &stats};
        bytes = (struct tn_buffer){0};
        good = w->cache->compile(module, &request, &bytes, &err) == TN_OK && is_text(&bytes, ir, part);
        tn_buffer_free(&bytes);
    }
    w->cache->close(module);
    return good ? NULL : "wrong bytes";
}

static void use_all(const struct world *w, const char *ir)
{
    const char *wrong = use(w, ir, 0, PARTS);
    if (wrong)
        fail_msg("%s: %s", ir, wrong);
}

static void assert_work(const struct world *w, int opens, int compiles)
{
    assert_int_equal(w->toy.opens, opens);
    assert_int_equal(w->toy.compiles, compiles);
}

/* ---- tests ---- */

static void second_time_nothing_is_compiled(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    use_all(&w, "one");
    assert_work(&w, 1, PARTS);
    close_cache(&w);
    open_cache(&w, 0, false, false);
    use_all(&w, "one");
    assert_work(&w, 0, 0);
    use_all(&w, "two");
    assert_work(&w, 1, PARTS);
    struct tn_cache_stats stats = stats_of(&w);
    assert_int_equal(stats.modules, 2);
    assert_int_equal(stats.found, 1);
    assert_int_equal(stats.objects, 2 * PARTS);
    assert_int_equal(stats.found_objects, PARTS);
    assert_int_equal(stats.puts, 1);
    assert_int_equal(stats.damaged + stats.refused + stats.excluded, 0);
    destroy(&w);
}

/* A later run adds to the pack what the earlier one did not need. */
static void packs_grow(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    assert_null(use(&w, "one", 0, 2));
    assert_null(use(&w, "one", 2, 2));
    assert_work(&w, 2, 4);
    assert_null(use(&w, "one", 0, 4));
    assert_work(&w, 2, 4);
    use_all(&w, "one");
    assert_work(&w, 3, PARTS);
    destroy(&w);
}

static void flushed_before_the_module_ends(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_buffer bytes = {0};
    struct tn_error err;
    void *module;
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, &err), TN_OK);
    tn_buffer_free(&bytes);
    assert_int_equal(tn_cache_flush(w.cache, &err), TN_OK);
    assert_int_equal(stats_of(&w).puts, 1);
    assert_int_equal(tn_cache_flush(w.cache, &err), TN_OK);
    assert_int_equal(stats_of(&w).puts, 1);
    w.cache->close(module);
    assert_int_equal(tn_cache_flush(&w.compiler, &err), TN_EINVAL);
    destroy(&w);
}

static void without_a_compiler(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    assert_null(use(&w, "one", 0, 2));
    close_cache(&w);
    open_cache(&w, 0, true, true);
    assert_null(use(&w, "one", 0, 2));
    struct tn_buffer bytes = {0};
    struct tn_error err;
    void *module;
    assert_int_equal(open_ir(&w, "two", &defaults, 0, &module, &bytes, &err), TN_ENOTSUP);
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, &err), TN_OK);
    tn_buffer_free(&bytes);
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {.size = sizeof request, .part = 5, .name = "m(f)", .stats = &stats};
    assert_int_equal(w.cache->compile(module, &request, &bytes, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "m(f)"));
    assert_non_null(strstr(err.text, "key"));
    w.cache->close(module);
    destroy(&w);
}

/* ---- keys ---- */

static bool key_of(const struct tn_compile_options *options, const char *identity, const char *salt, int whole,
                   uint64_t copy, uint8_t key[TN__SHA256_SIZE])
{
    static const uint8_t digest[TN__SHA256_SIZE] = {1};
    const struct tn_ir ir = {.size = sizeof ir, .digest = digest, .whole = whole, .copy = copy};
    struct tn_cpu host = {.size = sizeof host};
    assert_int_equal(tn_cpu_host(&host, NULL), TN_OK);
    return tn__key_of(identity, salt, strlen(salt), &host, &ir, options, key);
}

/* Each row covers its member, and all rows cover the struct: a new member without a row fails here. */
static void rows_cover_the_options(void **state)
{
    (void)state;
    size_t end = 0;
    for (size_t i = 0; i < tn__key_row_count; i++) {
        size_t size = tn__key_rows[i].size; /* members are aligned to their size */
        assert_int_equal(tn__key_rows[i].offset, (end + size - 1) & -size);
        end = tn__key_rows[i].offset + size;
    }
    assert_int_equal(sizeof(struct tn_compile_options), end);
}

static int some_hook(void *context, enum tn_hook when, void *module, struct tn_error *err)
{
    (void)context, (void)when, (void)module, (void)err;
    return 0;
}

static int some_pass(void *context, const struct tn_pass *pass)
{
    (void)context, (void)pass;
    return 0;
}

/* All of these have different keys, or none. */
static void what_is_in_the_key(void **state)
{
    (void)state;
    static const struct tn_compile_observer watching = {.size = sizeof watching},
                                            skipping = {.size = sizeof skipping, .before_pass = some_pass};
    static struct tn_cpu other;
    other = (struct tn_cpu){.size = sizeof other};
    assert_int_equal(tn_cpu_host(&other, NULL), TN_OK);
    other.features.words[0] ^= 1ull << 40;
#define OPTIONS .size = sizeof(struct tn_compile_options)
    static const struct {
        struct tn_compile_options options;
        const char *identity, *salt;
        int whole;
        uint64_t copy;
        enum { DIFFERS, SAME, NONE } what;
    } rows[] = {
        {{OPTIONS}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS}, "b", "", 0, 0, DIFFERS},
        {{OPTIONS}, "a", "s", 0, 0, DIFFERS},
        {{OPTIONS}, "a", "", 1, 0, DIFFERS},
        {{OPTIONS}, "a", "", 0, 1, NONE},
        {{OPTIONS, .triple = ""}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .triple = "x86_64-linux-gnu"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .cpu = "generic"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .features = "+avx2"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .cpu = "+avx2"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .opt_level = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .reloc_model = TN_RELOC_STATIC}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .code_model = TN_CODE_MEDIUM}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .emit = TN_EMIT_ASM}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .function_sections = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .polls = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .passes = ""}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .native = &other}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .observer = &watching}, "a", "", 0, 0, SAME},
        {{OPTIONS, .observer = &skipping}, "a", "", 0, 0, NONE},
        {{OPTIONS, .verify_ir = 1}, "a", "", 0, 0, SAME},
        {{OPTIONS, .assembly_files = 1}, "a", "", 0, 0, NONE},
        {{OPTIONS, .hook = some_hook}, "a", "", 0, 0, NONE},
        {{OPTIONS, .hook_context = &other}, "a", "", 0, 0, SAME},
    };
    uint8_t keys[COUNT(rows)][TN__SHA256_SIZE];
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool good = key_of(&rows[i].options, rows[i].identity, rows[i].salt, rows[i].whole, rows[i].copy, keys[i]);
        assert_int_equal(good, rows[i].what != NONE);
        if (rows[i].what == SAME)
            assert_memory_equal(keys[i], keys[0], TN__SHA256_SIZE);
        for (size_t other_row = 0; other_row < i && rows[i].what == DIFFERS; other_row++)
            if (rows[other_row].what == DIFFERS && !memcmp(keys[i], keys[other_row], TN__SHA256_SIZE))
                fail_msg("rows %zu and %zu have one key", other_row, i);
    }
    /* "native" is what it stands for, and what a CPU has only counts where none is named. */
    uint8_t one[TN__SHA256_SIZE], two[TN__SHA256_SIZE];
    struct tn_compile_options named = {OPTIONS, .cpu = "generic"};
    key_of(&named, "a", "", 0, 0, one);
    named.native = &other;
    key_of(&named, "a", "", 0, 0, two);
    assert_memory_equal(one, two, sizeof one);
}

static void excluded_modules(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    for (int i = 0; i < 2; i++) {
        struct tn_buffer bytes = {0};
        void *module;
        assert_int_equal(open_ir(&w, "one", &defaults, 1, &module, &bytes, NULL), TN_OK);
        tn_buffer_free(&bytes);
        w.cache->close(module);
    }
    assert_work(&w, 2, 0);
    assert_int_equal(stats_of(&w).excluded, 2);
    assert_int_equal(stats_of(&w).puts, 0);
    destroy(&w);
}

/* ---- damage ---- */

/* The only pack of the folder. */
static void pack_path(const struct world *w, char path[200])
{
    char command[100];
    snprintf(command, sizeof command, "ls %s/*", w->path);
    FILE *list = popen(command, "r");
    assert_non_null(fgets(path, 200, list));
    path[strcspn(path, "\n")] = 0;
    pclose(list);
}

static size_t read_whole(const char *path, uint8_t *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

static void write_whole(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Whatever becomes of a pack, the program gets the right bytes, and the pack is repaired. */
static void damage_everywhere(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    static uint8_t good[4000], bad[4000];
    char path[200];
    use_all(&w, "one");
    pack_path(&w, path);
    size_t size = read_whole(path, good, sizeof good);
    for (size_t at = 0; at < 2 * size; at++) {
        memcpy(bad, good, size);
        bad[at / 2] ^= 1;
        write_whole(path, bad, at % 2 ? size : at / 2); /* damaged there, or cut off there */
        uint64_t damaged = stats_of(&w).damaged;
        use_all(&w, "one");
        if (stats_of(&w).damaged == damaged)
            fail_msg("damage at %zu was not seen", at / 2);
        w.toy = (struct toy){0};
        use_all(&w, "one");
        assert_work(&w, 0, 0);
    }
    /* Another key inside: the pack of another module. */
    use_all(&w, "other");
    write_whole(path, good, size);
    char command[500];
    snprintf(command, sizeof command, "for f in %s/*; do cp %s $f; done 2>/dev/null; true", w.path, path);
    assert_int_equal(system(command), 0);
    use_all(&w, "other");
    use_all(&w, "one");
    destroy(&w);
}

static void links_and_strange_files(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    char path[200], away[220], text[20];
    use_all(&w, "one");
    pack_path(&w, path);
    snprintf(away, sizeof away, "%s.away", path);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(symlink(away, path), 0);
    w.toy = (struct toy){0};
    use_all(&w, "one"); /* the link is not followed, but replaced */
    assert_work(&w, 1, PARTS);
    assert_int_equal(readlink(path, text, sizeof text), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    use_all(&w, "one");
    destroy(&w);
}

/* ---- folders ---- */

static void folders_that_others_may_write(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_store *store;
    struct tn_error err;
    char link[80];
    snprintf(link, sizeof link, "%s.link", w.path);
    assert_int_equal(symlink(w.path, link), 0);
    struct tn_folder_options options = {.size = sizeof options, .path = link};
    assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EPERM);
    assert_int_equal(unlink(link), 0);
    options.path = w.path;
    static const struct {
        mode_t mode;
        int code;
    } rows[] = {{0700, TN_OK}, {0755, TN_OK}, {0720, TN_EPERM}, {0702, TN_EPERM}, {01777, TN_EPERM}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (options.read_only = 0; options.read_only < 2; options.read_only++) {
            assert_int_equal(chmod(w.path, rows[i].mode), 0);
            assert_int_equal(tn_store_open_folder(&options, &store, &err), rows[i].code);
            tn_store_close_folder(store);
        }
    if (geteuid() == 0) { /* another's folder */
        assert_int_equal(chmod(w.path, 0700), 0);
        assert_int_equal(chown(w.path, 12345, 12345), 0);
        assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EPERM);
    }
    options.path = "/nonexistent/folder";
    assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EIO);
    options.path = NULL;
    assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EINVAL);
    destroy(&w);
}

static uint64_t bytes_in(struct tn_store *store, uint64_t *files);

static int sum_up(void *context, const struct tn_cache_file *file)
{
    uint64_t *sums = context;
    sums[0] += file->bytes;
    sums[1]++;
    sums[2] += file->is_sound != 0;
    return 0;
}

static uint64_t bytes_in(struct tn_store *store, uint64_t *files)
{
    uint64_t sums[3] = {0};
    assert_int_equal(tn_store_each_file(store, sum_up, sums, NULL), TN_OK);
    assert_int_equal(sums[1], sums[2]); /* all are sound */
    *files = sums[1];
    return sums[0];
}

static void oldest_are_removed(void **state)
{
    (void)state;
    enum { MODULES = 40, LIMIT = 10000 };
    struct world w;
    create(&w);
    uint64_t files, removed;
    close_cache(&w);
    open_cache(&w, LIMIT, false, false);
    use_all(&w, "first");
    char path[200], command[400];
    pack_path(&w, path);
    snprintf(command, sizeof command, "touch -d '3 hours ago' %s", path);
    for (int i = 0; i < MODULES; i++) {
        char ir[20];
        snprintf(ir, sizeof ir, "module %02d", i);
        assert_int_equal(system(command) & 0, 0);
        use_all(&w, ir);
        if (i == 3) { /* was used a moment ago, so it stays longer */
            w.toy = (struct toy){0};
            use_all(&w, "first");
            assert_work(&w, 0, 0);
            struct stat st;
            assert_int_equal(stat(path, &st), 0);
            assert_true(time(NULL) - st.st_mtime < 60);
            snprintf(command, sizeof command, "true");
        }
    }
    uint64_t bytes = bytes_in(w.store, &files);
    assert_true(bytes <= LIMIT && bytes > LIMIT / 2 && files < MODULES && files > 3);
    assert_int_equal(tn_store_prune(w.store, 3000, &removed, NULL), TN_OK);
    assert_true(removed > 0 && bytes_in(w.store, &files) <= 3000);
    destroy(&w);
}

/* ---- faults ---- */

static void requests_refused(void **state)
{
    (void)state;
    static const char words[] = "FPNI";
    for (size_t word = 0; word < COUNT(words) - 1; word++)
        for (int at = 0; at < 12; at++) {
            struct world w;
            create(&w);
            char plan[60];
            for (int i = 0; i < at; i++)
                memcpy(plan + 2 * i, ". ", 2);
            plan[2 * at] = words[word];
            plan[2 * at + 1] = 0;
            assert_int_equal(tn__os_set_faults(plan), 0);
            const char *wrong = use(&w, "one", 0, PARTS);
            tn__os_set_faults(NULL);
            assert_null(wrong);
            use_all(&w, "one");
            use_all(&w, "one");
            uint64_t files;
            bytes_in(w.store, &files);
            assert_int_equal(files, 1);
            destroy(&w);
        }
}

static void half_writes(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    assert_int_equal(tn__os_set_faults("s*"), 0);
    use_all(&w, "one");
    tn__os_set_faults(NULL);
    w.toy = (struct toy){0};
    use_all(&w, "one");
    assert_work(&w, 0, 0);
    destroy(&w);
}

static void out_of_memory(void **state)
{
    (void)state;
    for (int at = 1; at < 60; at++) {
        struct world w;
        create(&w);
        char plan[20];
        snprintf(plan, sizeof plan, "a%d", at);
        assert_int_equal(tn__os_set_faults(plan), 0);
        use(&w, "one", 0, PARTS);
        use(&w, "one", 0, PARTS);
        tn__os_set_faults(NULL);
        use_all(&w, "one");
        destroy(&w);
    }
}

/* ---- at once ---- */

static void *use_often(void *context)
{
    const struct world *w = context;
    for (int i = 0; i < 60; i++) {
        char ir[20];
        snprintf(ir, sizeof ir, "module %d", i % 7);
        const char *wrong = use(w, ir, i % PARTS, PARTS - i % PARTS);
        if (wrong)
            return (void *)wrong;
        if (i % 10 == 0)
            tn_cache_flush(w->cache, NULL);
    }
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    pthread_t thread[4];
    for (size_t i = 0; i < COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_often, &w), 0);
    for (size_t i = 0; i < COUNT(thread); i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
    uint64_t files;
    bytes_in(w.store, &files);
    assert_true(files > 0 && files <= 7);
    destroy(&w);
}

/* A process that writes until it is killed. */
static pid_t start_writer(const struct world *w)
{
    pid_t child = fork();
    if (child)
        return child;
    for (;;)
        if (use_often((void *)w))
            _exit(1);
}

static void killed_writers(void **state)
{
    (void)state;
    const char *wish = getenv("KILLS");
    int kills = wish ? atoi(wish) : 100;
    struct world w;
    create(&w);
    uint64_t files, removed;
    srand(1);
    for (int i = 0; i < kills; i++) {
        pid_t writers[2] = {start_writer(&w), start_writer(&w)};
        for (size_t k = 0; k < COUNT(writers); k++) {
            struct timespec pause = {.tv_nsec = rand() % 3000000};
            int status;
            nanosleep(&pause, NULL);
            kill(writers[k], SIGKILL);
            assert_int_equal(waitpid(writers[k], &status, 0), writers[k]);
            assert_true(WIFSIGNALED(status)); /* it has not found anything wrong */
        }
        bytes_in(w.store, &files);
        if (i % 20 == 0) { /* packs come and go */
            close_cache(&w);
            remove_folder(w.path);
            assert_int_equal(mkdir(w.path, 0700), 0);
            open_cache(&w, 0, false, false);
        }
    }
    use_all(&w, "module 1");
    assert_int_equal(tn_store_prune(w.store, UINT64_MAX, &removed, NULL), TN_OK);
    char command[200];
    snprintf(command, sizeof command, "test -z \"$(ls -A %s | grep -v -e '^[0-9a-f]*$' -e '^.lock$')\"", w.path);
    assert_int_equal(system(command), 0); /* nothing is left behind */
    destroy(&w);
}

/* ---- stacked and foreign stores ---- */

struct shelf {
    uint8_t key[TN__SHA256_SIZE];
    char bytes[4000];
    size_t size;
    int gets, puts, code;
};

static int shelf_get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    struct shelf *shelf = context;
    shelf->gets++;
    if (!shelf->size || memcmp(key, shelf->key, sizeof shelf->key) != 0)
        return TN_EUNDEF;
    return tn__buffer_fill(out, shelf->bytes, shelf->size) ? TN_OK : TN_ENOMEM;
}

static int shelf_put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    struct shelf *shelf = context;
    shelf->puts++;
    if (shelf->code)
        return shelf->code;
    memcpy(shelf->key, key, sizeof shelf->key);
    memcpy(shelf->bytes, bytes, shelf->size = length);
    return TN_OK;
}

static void stores_of_the_client(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct shelf shelf = {.size = 0};
    struct tn_store client = {.size = sizeof client, .context = &shelf, .get = shelf_get, .put = shelf_put};
    struct tn_store *stores[] = {&client, w.store};
    struct tn_cache_options options = {
        .size = sizeof options, .stores = stores, .store_count = 2, .compiler = &w.compiler};
    tn_cache_destroy(w.cache);
    assert_int_equal(tn_cache_create(&options, &w.cache, NULL), TN_OK);
    use_all(&w, "one"); /* the last store takes it */
    assert_int_equal(shelf.puts, 0);
    stores[1] = &client;
    stores[0] = w.store;
    tn_cache_destroy(w.cache);
    assert_int_equal(tn_cache_create(&options, &w.cache, NULL), TN_OK);
    use_all(&w, "one");
    assert_int_equal(shelf.gets, 2); /* the first store has it now; two misses of before */
    shelf.code = TN_EIO;
    use_all(&w, "two"); /* refused, so the one before takes it */
    assert_int_equal(shelf.puts, 1);
    shelf.code = TN_OK;
    use_all(&w, "three");
    assert_int_equal(shelf.puts, 2);
    assert_true(shelf.size > 0);
    w.toy = (struct toy){0};
    use_all(&w, "two");
    use_all(&w, "three");
    assert_work(&w, 0, 0);
    destroy(&w);
}

static void wrong_options(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_compiler *out;
    struct tn_cache_options rows[] = {
        {.size = sizeof rows[0]},
        {.size = sizeof rows[0], .compiler = &w.compiler, .identity = "both"},
        {.size = sizeof rows[0], .compiler = &w.compiler, .store_count = 1},
        {.size = sizeof rows[0], .compiler = &w.compiler, .salt_length = 1},
        {.size = 3, .compiler = &w.compiler},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(tn_cache_create(&rows[i], &out, NULL), TN_EINVAL);
        assert_null(out);
    }
    uint64_t removed;
    assert_int_equal(tn_store_each_file(NULL, sum_up, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_store_prune(NULL, 0, &removed, NULL), TN_EINVAL);
    tn_cache_destroy(NULL);
    tn_store_close_folder(NULL);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_time_nothing_is_compiled),
        cmocka_unit_test(packs_grow),
        cmocka_unit_test(flushed_before_the_module_ends),
        cmocka_unit_test(without_a_compiler),
        cmocka_unit_test(rows_cover_the_options),
        cmocka_unit_test(what_is_in_the_key),
        cmocka_unit_test(excluded_modules),
        cmocka_unit_test(damage_everywhere),
        cmocka_unit_test(links_and_strange_files),
        cmocka_unit_test(folders_that_others_may_write),
        cmocka_unit_test(oldest_are_removed),
        cmocka_unit_test(requests_refused),
        cmocka_unit_test(half_writes),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(threads),
        cmocka_unit_test(killed_writers),
        cmocka_unit_test(stores_of_the_client),
        cmocka_unit_test(wrong_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
