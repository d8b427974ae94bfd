/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saves a list, or runs values.c with it: `save FILE`, `run FILE CODE`; with LINKED `run FILE`, because the code is
 * part of the program. `run FILE CODE WHAT` with something missing: heap, image. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"
#include "tenon_heap.h"
#include "tenon_save.h"

struct node {
    struct node *next;
    long value;
};

static const struct tn_type node_type = {
    .name = "struct node", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct node), .references = 1};
static const struct tn_type nodes_type = {
    .name = "struct nodes", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8, .length = 0};

/* Named, so that the program contains them. */
const struct tn_collector *const values_collectors[] = {&tn_collector_copying, &tn_collector_generational,
                                                        &tn_collector_concurrent};

static struct tn_error err;

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if (call) {                                                                                                    \
            fprintf(stderr, "%s: %s\n", tn_error_name(err.code), err.text);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void check(int good, const char *what)
{
    printf("%s%s\n", good ? "" : "not ", what);
}

static struct tn_heap *begin(void)
{
    struct tn_heap_options options = {.size = sizeof options};
    struct tn_heap *heap;
    MUST(tn_heap_options_from_environment(&options, &err));
    MUST(tn_heap_create(&options, &heap, &err));
    MUST(tn_heap_attach(heap, &err));
    return heap;
}

static struct tn_handle *make(struct tn_heap *heap, const struct tn_type *type, struct tn_handle *first)
{
    struct tn_handle *made;
    MUST(tn_handle_new(heap, type, 0, &made, &err));
    if (first)
        MUST(tn_handle_store(made, 0, first, &err));
    return made;
}

static void save(struct tn_heap *heap, const char *path)
{
    const struct tn_save_options options = {.size = sizeof options, .name = "list"};
    struct tn_save *save;
    struct tn_handle *list = NULL;
    for (long i = 1; i <= 100; i++) {
        list = make(heap, &node_type, list);
        MUST(tn_handle_write(list, 8, &i, 8, &err));
    }
    MUST(tn_save_create(heap, &options, &save, &err));
    MUST(tn_save_root(save, "first", list, &err));
    MUST(tn_save_root(save, "nodes", make(heap, &nodes_type, NULL), &err));
    MUST(tn_save_root(save, "weak", make(heap, &tn_weak_type, list), &err));
    MUST(tn_save_take(save, NULL, &err));
    MUST(tn_save_write(save, path, &err));
    tn_save_destroy(save);
}

#ifdef LINKED
extern const char tn_image[];
long sum(void), churn(long count);
void push(long value), *choose(long which), *weaken(void);
#define FIND(image, name) ((void *)(uintptr_t)(name))
#define RESOLVER          NULL
#else
#define RESOLVER          tn_resolve_dlsym
#define FIND(image, name) tn_image_lookup(image, #name)
#endif

static void *type_of(const void *object)
{
    return (void *)(((const uintptr_t *)object)[-1] & ~(uintptr_t)15);
}

static void use(struct tn_heap *heap, struct tn_image *list, struct tn_image *code)
{
    long (*sum_of)(void) = (long (*)(void))FIND(code, sum), (*churn_by)(long) = (long (*)(long))FIND(code, churn);
    void (*push_one)(long) = (void (*)(long))FIND(code, push),
         *(*choose_one)(long) = (void *(*)(long))FIND(code, choose);
    void *(*weaken_it)(void) = (void *(*)(void))FIND(code, weaken);
    const struct tn_type *type = tn_image_type(list, "struct node");
    struct tn_handle *first = make(heap, type, NULL);
    check(type && type != &node_type && sum_of() == 5050, "it reads the saved list");
    for (long i = 0; i < 100; i++)
        push_one(1);
    check(churn_by(1000) == 3 * 999, "it allocates");
    tn_heap_collect(heap, 0);
    check(sum_of() == 5150, "it stores into the saved list");
    MUST(tn_image_root(list, "first", first, &err));
    tn_managed_begin();
    const struct node *head = tn_handle_object(first);
    check(type_of(head) == type && type_of(head->next) == type, "what it allocates is of the saved type");
    tn_managed_end();
    check(choose_one(1) == head && choose_one(0) == (void *)head->next, "it finds the object");
    check(type_of(choose_one(2)) == type, "and its type, on any way");
    void **weak = weaken_it();
    check(type_of(weak) == (void *)tn_image_type(list, tn_weak_type.name) && *weak == head, "weak references too");
}

int main(int argc, char **argv)
{
    struct tn_image *list, *code;
    struct tn_heap *heap = begin();
    const char *without = argc > 4 ? argv[4] : "";
    if (argc > 2 && strcmp(argv[1], "save") == 0)
        return save(heap, argv[2]), 0;
    struct tn_image_load_options options = {.size = sizeof options,
                                            .heap = heap,
                                            .heaps = tn_image_heaps(),
                                            .resolver = RESOLVER,
                                            .managed = tn_managed_runtime()};
    options.flags = getenv("RELOCATE") ? TN_IMAGE_RELOCATE : 0;
    MUST(tn_image_open(argv[2], &options, &list, &err));
    options.flags = 0;
    options.images = &list;
    options.image_count = strcmp(without, "image") != 0;
    if (strcmp(without, "heap") == 0)
        options.heap = NULL;
#ifdef LINKED
    MUST(tn_image_open_linked(tn_image, &options, &code, &err));
#else
    MUST(tn_image_open(argv[3], &options, &code, &err));
#endif
    use(heap, list, code);
    tn_image_close(code);
    tn_image_close(list);
    return 0;
}
