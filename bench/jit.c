/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The JIT; orc.cpp does the same by LLVM's own means.
 *
 *     jit small COUNT [LEVEL]     so many one-function modules, each added, looked up and called before the next: the
 *                                 time of each in all and beyond what LLVM took; memory of each beyond its code and
 *                                 data; with the passes and the code generation of this level
 *     jit empty                   a session with nothing in it
 *     jit query MODE BITCODE [LEVEL]    SQLite, `lazy` or `eager`: until it has answered a first query
 *     jit kept DIR KEY BITCODE    SQLite, lazily, with a cache in the folder: until it has answered, what the cache
 *                                 took of that and to write; the module has this key, or none ("-")
 *     jit tiers WAY BITCODE ROUNDS OBJECT   SQLite lazily: until it has answered a first query, then so many rounds of
 *                                 others, each beside one of OBJECT, which is linked in one piece. WAY is a LEVEL, or
 *                                 CALLS,TURNS: tiers from -O0 to -O2
 *     jit pair THREADS BITCODE [LEVEL]    the same module twice, compiled by 1 or 2 threads
 *     jit whole BITCODE [LEVEL]   all of a module at once: the time, the code, and by how much the process has grown
 *     jit server ...              the same by a compile server, which is a fork of this program
 * LEVEL `baseline` is level 0 by the baseline compiler.
 * Without LEVEL, codegen is that of -O2 without passes over the IR, as the peer's is. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon_cache.h>
#include <tenon_codegen.h>
#include <tenon_remote.h>

#include "measure.h"
#include "query.h"
#include "resident.h"

static struct tn_error error;

static int fail(const char *text)
{
    fprintf(stderr, "jit: %s\n", text);
    exit(1);
}

static void check(int code)
{
    if (code)
        fail(error.text);
}

static void failed(void)
{
    fail("a function could not be compiled");
}

/* `small` and `query`: at which level, with its passes. */
static struct tn_compile_options compile = {.size = sizeof compile, .opt_level = 2, .passes = ""};

static void choose(const char *level)
{
    compile = (struct tn_compile_options){
        .size = sizeof compile, .opt_level = atoi(level), .baseline = strcmp(level, "baseline") == 0};
}

/* `tiers`: count 0 means one level, that of `compile`. */
static struct tn_tier tiers[] = {{.opt_level = 0}, {.opt_level = 2}};
static size_t tier_count;

static const void *read_all(const char *path, size_t *length)
{
    const void *bytes = read_touched(path, length);
    if (!bytes)
        exit(1);
    return bytes;
}

static struct tn_jit *create_with(int lazy, size_t threads, const struct tn_compiler *compiler)
{
    struct tn_jit_options options = {.size = sizeof options,
                                     .threads = threads,
                                     .compile = &compile,
                                     .lazy = lazy,
                                     .compiler = compiler,
                                     .on_failure = failed,
                                     .tiers = tiers,
                                     .tier_count = tier_count,
                                     .tiering = tier_count ? tn_jit_tiering() : NULL,
                                     .resolver = tn_resolve_dlsym};
    struct tn_jit *jit;
    check(tn_jit_create(&options, &jit, &error));
    return jit;
}

static struct tn_compiler *server; /* NULL: LLVM in this process compiles */

static struct tn_jit *create(int lazy, size_t threads)
{
    return create_with(lazy, threads, server);
}

static void start_server(void)
{
    const struct tn_compile_server_options options = {.size = sizeof options, .serve = tn_compile_serve};
    check(tn_compile_server_start(&options, &server, &error));
}

static void add(struct tn_jit *jit, struct tn_library *library, const char *name, const void *ir, size_t length)
{
    struct tn_jit_module module = {.size = sizeof module, .name = name, .ir = ir, .length = length};
    check(tn_jit_add_module(jit, library, &module, &error));
}

static uint64_t llvms_ns(const struct tn_jit *jit)
{
    struct tn_jit_stats stats = {.size = sizeof stats};
    tn_jit_stats(jit, &stats);
    return stats.read_ns + stats.parse_ns + stats.optimize_ns + stats.emit_ns + stats.free_ns;
}

/* ---- small ---- */

/* Microseconds in all, and beyond LLVM's. */
static void add_one(struct tn_jit *jit, unsigned number, double *all, double *beyond)
{
    char ir[200], name[20];
    void *address;
    long (*function)(long);
    snprintf(name, sizeof name, "f%u", number);
    int length = snprintf(ir, sizeof ir, "define i64 @f%u(i64 %%x) {\n  %%y = add i64 %%x, %u\n  ret i64 %%y\n}\n",
                          number, number);
    uint64_t llvm = llvms_ns(jit), start = now_ns();
    add(jit, NULL, name, ir, (size_t)length);
    check(tn_jit_lookup(jit, name, &address, &error));
    memcpy(&function, &address, sizeof function);
    if (function(1) != (long)number + 1)
        fail("wrong answer");
    *all = (double)(now_ns() - start) / 1e3;
    *beyond = *all - (double)(llvms_ns(jit) - llvm) / 1e3;
}

static void small(unsigned count)
{
    enum { WARM = 200 };
    struct tn_jit *jit = create(0, 0);
    double *all = calloc(count, sizeof *all), *beyond = calloc(count, sizeof *beyond), ignored;
    if (!all || !beyond)
        fail("out of memory");
    memset(all, 1, count * sizeof *all); /* its pages count before */
    memset(beyond, 1, count * sizeof *beyond);
    for (unsigned i = 0; i < WARM; i++)
        add_one(jit, count + i, &ignored, &ignored);
    struct tn_stats before = {.size = sizeof before}, after = before;
    tn_session_stats(tn_jit_session(jit), &before);
    long resident = resident_kb();
    for (unsigned i = 0; i < count; i++)
        add_one(jit, i, &all[i], &beyond[i]);
    tn_session_stats(tn_jit_session(jit), &after);
    double own = (double)(after.code_bytes + after.rodata_bytes + after.data_bytes) -
                 (double)(before.code_bytes + before.rodata_bytes + before.data_bytes);
    printf("small bytes %.0f\n", ((double)(resident_kb() - resident) * 1024 - own) / count);
    printf("small own_bytes %.0f\n", own / count);
    printf("small us %.1f\nsmall beyond_us %.1f\n", median(all, count), median(beyond, count));
}

/* ---- empty ---- */

/* Time: one session at a time, as a program has it. Memory: of many, whose windows are small, so that there is
 * address space for all of them near the program. */
static void empty(void)
{
    enum { TIMES = 200 };
    static double us[TIMES];
    static struct tn_session *sessions[TIMES];
    const struct tn_session_options small = {.size = sizeof small, .window_size = 4 << 20};
    memset(us, 1, sizeof us);
    check(tn_session_create(&small, &sessions[0], &error)); /* what a process does once */
    tn_session_destroy(sessions[0]);
    for (int i = 0; i < TIMES; i++) {
        uint64_t start = now_ns();
        check(tn_session_create(NULL, &sessions[0], &error));
        us[i] = (double)(now_ns() - start) / 1e3;
        tn_session_destroy(sessions[0]);
    }
    long before = resident_kb();
    for (int i = 0; i < TIMES; i++)
        check(tn_session_create(&small, &sessions[i], &error));
    printf("empty kb %.1f\nempty us %.1f\n", (double)(resident_kb() - before) / TIMES, median(us, TIMES));
}

/* ---- query ---- */

static void *find(void *context, const char *name)
{
    void *address;
    check(tn_jit_lookup(context, name, &address, &error));
    return address;
}

static void query(int lazy, const char *path)
{
    size_t length;
    const void *bitcode = read_all(path, &length);
    uint64_t start = now_ns();
    struct tn_jit *jit = create(lazy, 0);
    add(jit, NULL, path, bitcode, length);
    if (!run_query(find, jit))
        fail("wrong answer");
    printf("query_ms %.1f\n", (double)(now_ns() - start) / 1e6);
    struct tn_jit_stats stats = {.size = sizeof stats};
    tn_jit_stats(jit, &stats);
    if (lazy)
        printf("query compiled %llu\nquery functions %llu\n", (unsigned long long)stats.taken,
               (unsigned long long)stats.functions);
    const struct {
        const char *name;
        uint64_t ns;
    } phases[] = {{"read", stats.read_ns},         {"extract", stats.extract_ns}, {"parse", stats.parse_ns},
                  {"optimize", stats.optimize_ns}, {"emit", stats.emit_ns},       {"free", stats.free_ns}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        printf("query %s_ms %.1f\n", phases[i].name, (double)phases[i].ns / 1e6);
}

/* ---- kept ---- */

static void kept(const char *path, const char *key, const char *bitcode_path)
{
    size_t length;
    const void *bitcode = read_all(bitcode_path, &length);
    uint64_t start = now_ns();
    struct tn_folder_options folder = {.size = sizeof folder, .path = path};
    struct tn_store *store;
    struct tn_compiler *cache;
    check(tn_store_open_folder(&folder, &store, &error));
    struct tn_cache_options options = {
        .size = sizeof options, .stores = &store, .store_count = 1, .compiler = tn_codegen_compiler()};
    check(tn_cache_create(&options, &cache, &error));
    struct tn_jit *jit = create_with(1, 0, cache);
    struct tn_jit_module module = {
        .size = sizeof module, .name = bitcode_path, .ir = bitcode, .length = length, .stays = 1};
    if (strcmp(key, "-") != 0) {
        module.key = key;
        module.key_length = strlen(key);
    }
    check(tn_jit_add_module(jit, NULL, &module, &error));
    if (!run_query(find, jit))
        fail("wrong answer");
    uint64_t answered = now_ns();
    check(tn_cache_flush(cache, &error));
    struct tn_cache_stats stats = {.size = sizeof stats};
    tn_cache_stats(cache, &stats);
    printf("kept_us %.1f\nkept_flush_us %.1f\n", (double)(answered - start) / 1e3, (double)(now_ns() - answered) / 1e3);
    printf("kept_lookup_us %.1f\nkept_objects %llu\nkept_compiled %llu\n", (double)stats.lookup_ns / 1e3,
           (unsigned long long)stats.objects, (unsigned long long)(stats.objects - stats.found_objects));
    printf("kept_put_us %.1f\nkept_put_bytes %llu\n", (double)stats.put_ns / 1e3, (unsigned long long)stats.put_bytes);
}

/* ---- tiers ---- */

/* SQLite in one piece. */
static void open_object(const char *path, struct database *database)
{
    struct tn_input input = {.size = sizeof input, .name = path};
    struct tn_jit *jit = create(0, 0);
    input.bytes = read_all(path, &input.length);
    check(tn_add_object(tn_jit_library(jit), &input, &error));
    if (!open_database(database, find, jit))
        fail("the peer does not open");
}

static void measure_tiers(const char *way, const char *bitcode, size_t rounds, const char *object)
{
    struct database peer;
    size_t length;
    if (!rounds)
        fail("no rounds");
    const size_t count = sscanf(way, "%u,%u", &tiers[0].calls, &tiers[0].loops) == 2 ? 2 : 0;
    compile = (struct tn_compile_options){.size = sizeof compile, .opt_level = count ? 2 : atoi(way)};
    open_object(object, &peer);
    tier_count = count; /* of the JIT to be measured alone */
    uint64_t start = now_ns();
    struct tn_jit *jit = create(1, 0);
    const void *ir = read_all(bitcode, &length);
    add(jit, NULL, bitcode, ir, length);
    if (!measure_rounds(find, jit, start, rounds, &peer))
        fail("wrong answer");
    struct tn_jit_stats stats = {.size = sizeof stats};
    tn_jit_stats(jit, &stats);
    printf("tiers raised %llu\ntiers raised_ms %.1f\n", (unsigned long long)stats.raised,
           (double)stats.raised_ns / 1e6);
}

/* ---- pair ---- */

struct pair {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int open;
};

static void done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    struct pair *pair = context;
    if (err)
        fail(err->text);
    pthread_mutex_lock(&pair->lock);
    pair->open--;
    pthread_cond_signal(&pair->changed);
    pthread_mutex_unlock(&pair->lock);
}

static void measure_pair(size_t threads, const char *path)
{
    size_t length;
    const void *bitcode = read_all(path, &length);
    struct pair pair = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 2};
    struct tn_jit *jit = create(0, threads);
    struct tn_wanted wanted[2];
    struct tn_library *libraries[2];
    for (int i = 0; i < 2; i++) {
        check(tn_library_create(tn_jit_session(jit), "one of two", &libraries[i], &error));
        check(tn_add_resolver(libraries[i], tn_resolve_dlsym, NULL, &error));
        add(jit, libraries[i], path, bitcode, length);
    }
    uint64_t start = now_ns();
    for (int i = 0; i < 2; i++) {
        wanted[i] = (struct tn_wanted){.name = "sqlite3_open"};
        check(tn_lookup_async(libraries[i], &wanted[i], 1, done, &pair, &error));
    }
    pthread_mutex_lock(&pair.lock);
    while (pair.open)
        pthread_cond_wait(&pair.changed, &pair.lock);
    pthread_mutex_unlock(&pair.lock);
    printf("pair ms %.1f\n", (double)(now_ns() - start) / 1e6);
}

/* ---- whole ---- */

static uint64_t linked_bytes(const struct tn_jit *jit)
{
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(tn_jit_session(jit), &stats);
    return stats.code_bytes + stats.rodata_bytes + stats.data_bytes;
}

static void whole(const char *path)
{
    size_t length;
    const void *bitcode = read_all(path, &length);
    struct tn_jit *jit = create(0, 0);
    const struct tn_jit_module module = {
        .size = sizeof module, .name = path, .ir = bitcode, .length = length, .stays = 1};
    void *address;
    long resident = resident_kb();
    uint64_t start = now_ns();
    check(tn_jit_add_module(jit, NULL, &module, &error));
    check(tn_jit_lookup(jit, "sqlite3_open", &address, &error));
    printf("whole ms %.1f\n", (double)(now_ns() - start) / 1e6);
    printf("whole code_kb %.0f\nwhole grown_kb %ld\n", (double)linked_bytes(jit) / 1024, resident_kb() - resident);
}

/* Where LEVEL may be. */
static int level_at(const char *mode, int argc)
{
    static const struct {
        const char *mode;
        int at;
    } rows[] = {{"small", 3}, {"query", 4}, {"pair", 4}, {"whole", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].mode, mode))
            return rows[i].at;
    return argc;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "server") == 0) {
        start_server();
        argc--, argv++;
    }
    const char *mode = argc > 1 ? argv[1] : "";
    int last = level_at(mode, argc);
    if (argc == last + 1)
        choose(argv[last]);
    if (strcmp(mode, "small") == 0 && (argc == 3 || argc == 4))
        small((unsigned)atoi(argv[2]));
    else if (strcmp(mode, "empty") == 0)
        empty();
    else if (strcmp(mode, "query") == 0 && (argc == 4 || argc == 5))
        query(strcmp(argv[2], "lazy") == 0, argv[3]);
    else if (strcmp(mode, "kept") == 0 && argc == 5)
        kept(argv[2], argv[3], argv[4]);
    else if (strcmp(mode, "tiers") == 0 && argc == 6)
        measure_tiers(argv[2], argv[3], (size_t)atoi(argv[4]), argv[5]);
    else if (strcmp(mode, "pair") == 0 && (argc == 4 || argc == 5))
        measure_pair((size_t)atoi(argv[2]), argv[3]);
    else if (strcmp(mode, "whole") == 0 && (argc == 3 || argc == 4))
        whole(argv[2]);
    else
        fail("usage: jit [server] small COUNT [LEVEL] | empty | query lazy|eager BITCODE [LEVEL] | "
             "kept DIR KEY BITCODE | tiers WAY BITCODE ROUNDS OBJECT | pair THREADS BITCODE [LEVEL] | "
             "whole BITCODE [LEVEL]");
    fflush(stdout);
    _Exit(0); /* taking everything down again is nobody's figure */
}
