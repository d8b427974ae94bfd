/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code of sessions and JITs whose types differ from those of an open image with saved objects: whichever comes second
 * is refused by name, until the other one is gone. */

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "support.h"
#include "tenon_cache.h"
#include "tenon_save.h"

static struct tn_error err;

#define DO(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != 0)                                                                                               \
            fail_msg("%s: %s", #call, err.text);                                                                       \
    } while (0)

/* ---- code ---- */

#define TYPE(alignment, size, references, list, count)                                                                 \
    "@name = private constant [12 x i8] c\"struct node\\00\"\n"                                                        \
    "@list = private constant [2 x i32] [i32 0, i32 8]\n"                                                              \
    "@node_type = weak constant { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr } { ptr @name, i32 1, "             \
    "i32 " alignment ", i64 " size ", i64 0, i64 0, i64 " references ", ptr " list ", i64 " count                      \
    ", ptr null }, align 16\n"                                                                                         \
    "declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))\n"                                     \
    "define i64 @answer() {\n  ret i64 " size "\n}\n"                                                                  \
    "define ptr addrspace(10) @make() {\n"                                                                             \
    "  %node = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 " size                                         \
    ", ptr addrspace(10) addrspacecast (ptr @node_type to ptr addrspace(10)))\n"                                       \
    "  ret ptr addrspace(10) %node\n}\n"

static const char mended[] = TYPE("8", "16", "1", "null", "0");

/* A struct node has a reference, and a number. */
static const struct tn_type node_type = {
    .name = "struct node", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 1};

static const struct {
    const char *ir, *difference;
} stale[] = {
    {TYPE("8", "24", "1", "null", "0"), "'size' differs (24 and 16)"},
    {TYPE("8", "16", "2", "null", "0"), "'references' differs (only the second has one at offset 0)"},
    {TYPE("8", "16", "0", "@list", "2"), "'references' differs (only the first has one at offset 8)"},
    {TYPE("16", "16", "1", "null", "0"), "'alignment' differs (16 and 8)"},
};

/* ---- an image ---- */

static char image_path[100];

static struct tn_heap *create_heap(void)
{
    struct tn_heap *heap;
    DO(tn_heap_create(NULL, &heap, &err));
    DO(tn_heap_attach(heap, &err));
    return heap;
}

static void destroy_heap(struct tn_heap *heap)
{
    tn_heap_detach();
    tn_heap_destroy(heap);
}

static int save_image(void **state)
{
    (void)state;
    struct tn_heap *heap = create_heap();
    struct tn_save_options options = {.size = sizeof options, .name = "list"};
    struct tn_handle *node;
    struct tn_save *save;
    snprintf(image_path, sizeof image_path, "/tmp/tenon-types-%d.image", (int)getpid());
    DO(tn_handle_new(heap, &node_type, 0, &node, &err));
    DO(tn_save_create(heap, &options, &save, &err));
    DO(tn_save_root(save, "first", node, &err));
    DO(tn_save_take(save, NULL, &err));
    DO(tn_save_write(save, image_path, &err));
    tn_save_destroy(save);
    destroy_heap(heap);
    return 0;
}

static int remove_image(void **state)
{
    (void)state;
    return unlink(image_path);
}

static int open_image(struct tn_heap *heap, struct tn_image **image)
{
    const struct tn_image_load_options options = {
        .size = sizeof options, .heap = heap, .heaps = tn_image_heaps(), .managed = tn_managed_runtime()};
    return tn_image_open(image_path, &options, image, &err);
}

/* ---- where code comes to ---- */

struct way {
    const char *name;
    int lazy, tiers, cached, object;
};

static const struct way ways[] = {
    {"eager", 0, 0, 0, 0},
    {"lazy", 1, 0, 0, 0},
    {"tiers", 1, 1, 0, 0},
    {"eager, cached", 0, 0, 1, 0},
    {"lazy, cached", 1, 0, 1, 0},
    {"eager, cached before", 0, 0, 1, 0},
    {"lazy, cached before", 1, 0, 1, 0},
    {"an object", 0, 0, 0, 1},
};

struct world {
    const struct way *way;
    struct tn_jit *jit;
    struct tn_compiler *cache;
    struct tn_store *store;
    struct tn_tracker *owner; /* of what was added last */
};

static void failed(void)
{
    fail_msg("a function could not be compiled");
}

static char cache_path[100];

static struct world begin(const struct way *way)
{
    static const struct tn_tier tiers[] = {{0, 20, 10}, {2, 0, 0}};
    struct world w = {.way = way};
    struct tn_jit_options options = {.size = sizeof options,
                                     .lazy = way->lazy,
                                     .on_failure = failed,
                                     .compiler = tn_codegen_compiler(),
                                     .managed = tn_enable_managed_code};
    if (way->tiers) {
        options.tiers = tiers;
        options.tier_count = 2;
        options.tiering = tn_jit_tiering();
    }
    if (way->cached) {
        const struct tn_folder_options folder = {.size = sizeof folder, .path = cache_path};
        DO(tn_store_open_folder(&folder, &w.store, &err));
        const struct tn_cache_options with = {
            .size = sizeof with, .stores = &w.store, .store_count = 1, .compiler = tn_codegen_compiler()};
        DO(tn_cache_create(&with, &w.cache, &err));
        options.compiler = w.cache;
    }
    DO(tn_jit_create(&options, &w.jit, &err));
    return w;
}

static void end(struct world *w)
{
    tn_tracker_destroy(w->owner);
    tn_jit_destroy(w->jit);
    tn_cache_destroy(w->cache);
    tn_store_close_folder(w->store);
}

static void release(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){(void *)(uintptr_t)bytes, length});
}

/* An object is refused when it is linked. */
static int add_object(const struct world *w, const char *ir)
{
    struct tn_buffer object = {0};
    void *address;
    DO(tn_compile("module", ir, strlen(ir), NULL, &object, NULL, &err));
    const struct tn_input input = {.size = sizeof input,
                                   .name = "module",
                                   .bytes = object.data,
                                   .length = object.size,
                                   .owner = w->owner,
                                   .release = release};
    DO(tn_add_object(tn_jit_library(w->jit), &input, &err));
    return tn_lookup(tn_jit_library(w->jit), "answer", &address, &err);
}

static int add(struct world *w, const char *ir)
{
    tn_tracker_destroy(w->owner);
    DO(tn_tracker_create(tn_jit_library(w->jit), &w->owner, &err));
    if (w->way->object)
        return add_object(w, ir);
    const struct tn_jit_module module = {
        .size = sizeof module, .name = "module", .ir = ir, .length = strlen(ir), .owner = w->owner};
    return tn_jit_add_module(w->jit, NULL, &module, &err);
}

static void remove_last(struct world *w)
{
    DO(tn_tracker_remove(w->owner, &err));
}

static void run(struct world *w, long expected)
{
    void *address;
    long (*answer)(void);
    DO(tn_lookup(tn_jit_library(w->jit), "answer", &address, &err));
    memcpy(&answer, &address, sizeof answer);
    assert_int_equal(answer(), expected);
}

static void check_refused(int code, const struct way *way, const char *text, const char *difference)
{
    char whole[300];
    snprintf(whole, sizeof whole, "%s: %s", text, difference);
    if (code != TN_ENOTSUP || strcmp(err.text, whole) != 0)
        fail_msg("%s: %s: %s, and not: %s", way->name, tn_error_name(code), code ? err.text : "", whole);
}

#define CODE_IS_OTHER     "module: its code has another type 'struct node' than the objects of 'list'"
#define OBJECTS_ARE_OTHER "list: the code of module has another type 'struct node' than its objects"

/* ---- tests ---- */

/* The code is refused as long as the image is open. */
static void code_comes_second(const struct way *way)
{
    struct tn_heap *heap = create_heap();
    struct tn_image *image;
    struct world w = begin(way);
    DO(open_image(heap, &image));
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        check_refused(add(&w, stale[i].ir), way, CODE_IS_OTHER, stale[i].difference);
        remove_last(&w);
        DO(add(&w, mended));
        run(&w, 16);
        remove_last(&w);
    }
    tn_image_close(image);
    DO(add(&w, stale[0].ir));
    run(&w, 24);
    end(&w);
    destroy_heap(heap);
}

/* The image is refused as long as the code is there. */
static void code_comes_first(const struct way *way)
{
    struct tn_heap *heap = create_heap();
    struct tn_image *image;
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        struct world w = begin(way);
        DO(add(&w, stale[i].ir));
        check_refused(open_image(heap, &image), way, OBJECTS_ARE_OTHER, stale[i].difference);
        run(&w, atol(strstr(stale[i].ir, "ret i64 ") + 8));
        check_refused(open_image(heap, &image), way, OBJECTS_ARE_OTHER, stale[i].difference);
        remove_last(&w);
        DO(add(&w, mended));
        DO(open_image(heap, &image));
        run(&w, 16);
        tn_image_close(image);
        remove_last(&w);
        DO(add(&w, stale[i].ir));
        end(&w); /* with it, the code is gone too */
        DO(open_image(heap, &image));
        tn_image_close(image);
    }
    destroy_heap(heap);
}

static void whichever_comes_second_is_refused(void **state)
{
    (void)state;
    char command[120];
    snprintf(cache_path, sizeof cache_path, "/tmp/tenon-types-%d.cache", (int)getpid());
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        code_comes_second(&ways[i]);
        code_comes_first(&ways[i]);
    }
    snprintf(command, sizeof command, "rm -r %s", cache_path);
    assert_int_equal(system(command), 0);
}

/* The end of a heap ends the image's types too. */
static void the_heap_ends_before_the_image_is_closed(void **state)
{
    (void)state;
    struct tn_heap *heap = create_heap();
    struct tn_image *image;
    struct world w = begin(&ways[0]);
    DO(open_image(heap, &image));
    assert_int_equal(add(&w, stale[0].ir), TN_ENOTSUP);
    destroy_heap(heap);
    DO(add(&w, stale[0].ir));
    tn_image_close(image);
    run(&w, 24);
    end(&w);
}

/* A version that replaces another one is another module, and the first one stays as it was. */
static void replaced(void **state)
{
    (void)state;
    struct tn_heap *heap = create_heap();
    struct tn_image *image;
    struct world w = begin(&ways[1]);
    struct tn_jit_module module = {.size = sizeof module, .name = "module", .ir = mended, .length = strlen(mended)};
    DO(tn_jit_replace(w.jit, NULL, &module, &err));
    run(&w, 16);
    DO(open_image(heap, &image));
    module.ir = stale[0].ir;
    module.length = strlen(module.ir);
    check_refused(tn_jit_replace(w.jit, NULL, &module, &err), w.way, CODE_IS_OTHER, stale[0].difference);
    run(&w, 16);
    tn_image_close(image);
    DO(tn_jit_replace(w.jit, NULL, &module, &err));
    run(&w, 24);
    end(&w);
    destroy_heap(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_comes_second_is_refused),
        cmocka_unit_test(the_heap_ends_before_the_image_is_closed),
        cmocka_unit_test(replaced),
    };
    return cmocka_run_group_tests(tests, save_image, remove_image);
}
