/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A JIT with a cache before LLVM. The second time LLVM is not asked for anything, and the program computes the same;
 * with another option it is asked again. */

#include <dirent.h>
#include <unistd.h>

#include "cache/cache.h"
#include "support.h"
#include "tenon_cache.h"

/* LLVM, counted. */
static struct {
    int opens, compiles;
} asked;

static int count_identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context;
    return tn_codegen_compiler()->identify(NULL, text, err);
}

static int count_open(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                      const struct tn_module_description **description, struct tn_error *err)
{
    (void)context;
    __atomic_fetch_add(&asked.opens, 1, __ATOMIC_RELAXED);
    return tn_codegen_compiler()->open(NULL, ir, options, module, description, err);
}

static int count_compile(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                         struct tn_error *err)
{
    __atomic_fetch_add(&asked.compiles, 1, __ATOMIC_RELAXED);
    return tn_codegen_compiler()->compile(module, request, object, err);
}

static void count_close(void *module)
{
    tn_codegen_compiler()->close(module);
}

static const struct tn_compiler counted = {.size = sizeof counted,
                                           .identify = count_identify,
                                           .open = count_open,
                                           .compile = count_compile,
                                           .close = count_close};

/* Variables, initializers, local and weak functions, an alias. */
static const char program[] =
    "@set = internal global i64 0\n"
    "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null "
    "}]\n"
    "@other = alias i64 (i64), ptr @callee\n"
    "define internal void @init() {\n  store i64 100, ptr @set\n  ret void\n}\n"
    "define internal i64 @local(i64 %x) noinline {\n  %a = load i64, ptr @set\n  %b = add i64 %a, %x\n  ret i64 %b\n}\n"
    "define weak i64 @weak(i64 %x) {\n  %r = mul i64 %x, 3\n  ret i64 %r\n}\n"
    "define i64 @callee(i64 %x) noinline {\n  %a = call i64 @local(i64 %x)\n  %b = call i64 @weak(i64 %a)\n"
    "  ret i64 %b\n}\n"
    "define i64 @run(i64 %x) {\n  %a = call i64 @other(i64 %x)\n  %b = add i64 %a, 1\n  ret i64 %b\n}\n";

struct setup {
    const char *folder;
    const struct tn_compiler *compiler;
    struct tn_compile_options compile;
    int lazy;
    const char *key;
};

static void failed(void)
{
    fail_msg("a function could not be compiled");
}

static void check(int code, const struct tn_error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

/* Runs the program once; how often LLVM was asked is in `asked`. */
static struct tn_cache_stats run(const struct setup *s, const char *ir)
{
    struct tn_error err;
    struct tn_store *store;
    struct tn_compiler *cache;
    struct tn_jit *jit;
    void *address;
    asked.opens = asked.compiles = 0;
    struct tn_folder_options folder = {.size = sizeof folder, .path = s->folder};
    check(tn_store_open_folder(&folder, &store, &err), &err);
    struct tn_buffer identity = {0};
    check(tn_codegen_compiler()->identify(NULL, &identity, &err), &err);
    char text[1000];
    snprintf(text, sizeof text, "%.*s", (int)identity.size, (const char *)identity.data);
    tn_buffer_free(&identity);
    struct tn_cache_options with = {.size = sizeof with,
                                    .stores = &store,
                                    .store_count = 1,
                                    .compiler = s->compiler,
                                    .identity = s->compiler ? NULL : text};
    check(tn_cache_create(&with, &cache, &err), &err);
    struct tn_jit_options options = {
        .size = sizeof options, .compile = &s->compile, .lazy = s->lazy, .on_failure = failed, .compiler = cache};
    check(tn_jit_create(&options, &jit, &err), &err);
    struct tn_jit_module module = {.size = sizeof module,
                                   .name = "program.ll",
                                   .ir = ir,
                                   .length = strlen(ir),
                                   .key = s->key,
                                   .key_length = s->key ? strlen(s->key) : 0};
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    check(tn_jit_run_initializers(jit, NULL, 0, NULL, NULL, &err), &err);
    check(tn_jit_lookup(jit, "run", &address, &err), &err);
    long (*function)(long);
    memcpy(&function, &address, sizeof function);
    assert_int_equal(function(5), 316);
    tn_jit_destroy(jit);
    struct tn_cache_stats stats = {.size = sizeof stats};
    tn_cache_stats(cache, &stats);
    tn_cache_destroy(cache);
    tn_store_close_folder(store);
    return stats;
}

static void remove_folder(const char *path)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static void second_time_without_llvm(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        char folder[] = "/tmp/tenon-cached-XXXXXX";
        assert_non_null(mkdtemp(folder));
        struct setup s = {folder, &counted, {DEFAULTS, .opt_level = 1}, lazy, NULL};
        run(&s, program);
        assert_int_equal(asked.opens, 1);
        assert_true(lazy ? asked.compiles > 3 : asked.compiles == 1);
        int all = asked.compiles;
        struct tn_cache_stats stats = run(&s, program);
        assert_true(asked.opens == 0 && asked.compiles == 0);
        assert_true(stats.found == 1 && stats.found_objects == (uint64_t)all && stats.puts == 0);
        s.compiler = NULL; /* as in a product that ships its cache */
        run(&s, program);
        s.compiler = &counted;
        s.compile.opt_level = 2;
        run(&s, program);
        assert_true(asked.opens == 1 && asked.compiles > 0);
        s.compile.opt_level = 1;
        run(&s, program);
        assert_true(asked.opens == 0 && asked.compiles == 0);
        remove_folder(folder);
    }
}

/* With a key of the client, IR that need not be looked at is not. */
static void keys_of_the_client(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon-cached-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct setup s = {folder, &counted, {DEFAULTS}, 1, "program, version 1"};
    run(&s, program);
    assert_int_equal(asked.opens, 1);
    run(&s, "not IR");
    assert_true(asked.opens == 0 && asked.compiles == 0);
    s.key = "program, version 2";
    run(&s, program);
    assert_int_equal(asked.opens, 1);
    remove_folder(folder);
}

/* ---- objects of no use ---- */

enum spoiling { EMPTY, NONSENSE, HALF, OF_ANOTHER_MACHINE, OF_ANOTHER_PART, SPOILINGS };

/* What item `i`, an object, becomes. */
static struct tn__pack_item spoil(const struct tn__pack *pack, uint32_t i, enum spoiling how, char *room)
{
    struct tn__pack_item item = tn__pack_item(pack, i);
    if (how == OF_ANOTHER_PART) {
        struct tn__pack_item other = tn__pack_item(pack, i + 1 < pack->count ? i + 1 : 1);
        item.bytes = other.bytes;
        item.size = other.size;
    } else if (how == OF_ANOTHER_MACHINE) {
        assert_true(item.size < 10000);
        item.bytes = memcpy(room, item.bytes, item.size);
        room[18] = (char)(room[18] == 62 ? 183 : 62); /* e_machine */
    } else if (how == NONSENSE) {
        item.bytes = "something else";
        item.size = 14;
    } else
        item.size = how == HALF ? item.size / 2 : 0;
    item.digest = NULL;
    return item;
}

/* Spoils all objects in the folder's pack, whose checksums are right afterwards. Their number. */
static uint64_t spoil_pack(const char *folder, enum spoiling how)
{
    static uint8_t bytes[100000];
    static char room[20][10000];
    char path[400] = "";
    DIR *list = opendir(folder);
    for (struct dirent *entry; (entry = readdir(list));)
        if (strlen(entry->d_name) == 64)
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(list);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    struct tn__pack pack;
    struct tn__pack_item items[20];
    struct tn_buffer made = {0};
    assert_true(tn__pack_read(bytes, size, bytes + 8, &pack) && pack.count <= 20);
    for (uint32_t i = 0; i < pack.count; i++)
        items[i] = i ? spoil(&pack, i, how, room[i]) : tn__pack_item(&pack, i);
    assert_true(tn__pack_write(bytes + 8, items, pack.count, &made));
    rewind(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
    fclose(file);
    tn_buffer_free(&made);
    return pack.count - 1;
}

/* They are compiled again, once, and the program never notices. */
static void objects_of_no_use(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        char folder[] = "/tmp/tenon-cached-XXXXXX";
        assert_non_null(mkdtemp(folder));
        struct setup s = {folder, &counted, {DEFAULTS}, lazy, NULL};
        run(&s, program);
        for (enum spoiling how = EMPTY; how < (lazy ? SPOILINGS : OF_ANOTHER_PART); how++) {
            uint64_t objects = spoil_pack(folder, how);
            struct tn_cache_stats stats = run(&s, program);
            assert_int_equal(stats.damaged, objects);
            assert_int_equal(stats.found_objects, 0);
            assert_int_equal(asked.compiles, objects);
            stats = run(&s, program);
            assert_true(asked.opens == 0 && stats.damaged == 0 && stats.found_objects == objects);
        }
        remove_folder(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_time_without_llvm),
        cmocka_unit_test(keys_of_the_client),
        cmocka_unit_test(objects_of_no_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
