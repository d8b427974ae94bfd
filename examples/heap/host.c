/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A host in C with a collected heap but no managed code: a cache of documents that find each other by weak
 * references. It holds objects by handles, so the collector may move them at any time. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon_heap.h>

struct document {
    void *similar; /* a weak object, or NULL */
    void *title;
    uint64_t number;
};

struct text {
    uint64_t length;
    char items[];
};

/* The first two words are references. */
static const struct tn_type document_type = {
    .name = "document", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct document), .references = 3};
static const struct tn_type text_type = {
    .name = "text", .kind = TN_KIND_LEAF, .alignment = 8, .size = sizeof(struct text), .element = 1};

static void check(int code, const struct tn_error *err)
{
    if (!code)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static struct tn_handle *make(struct tn_heap *heap, const struct tn_type *type, uint64_t length)
{
    struct tn_handle *handle;
    struct tn_error err;
    check(tn_handle_new(heap, type, length, &handle, &err), &err);
    return handle;
}

/* Handles made here end with the scope; `into` keeps the document alive. */
static void make_document(struct tn_heap *heap, uint64_t number, const char *title, const struct tn_handle *similar,
                          struct tn_handle *into)
{
    struct tn_error err;
    tn_scope_begin();
    struct tn_handle *document = make(heap, &document_type, 0), *text = make(heap, &text_type, strlen(title) + 1);
    struct tn_handle *weak = make(heap, &tn_weak_type, 0);
    check(tn_handle_write(text, offsetof(struct text, items), title, strlen(title) + 1, &err), &err);
    check(tn_handle_write(document, offsetof(struct document, number), &number, sizeof number, &err), &err);
    check(tn_handle_store(document, offsetof(struct document, title), text, &err), &err);
    check(tn_handle_store(weak, 0, similar, &err), &err);
    check(tn_handle_store(document, offsetof(struct document, similar), weak, &err), &err);
    tn_handle_set(into, document);
    tn_scope_end();
}

static void show(struct tn_heap *heap, const char *when, const struct tn_handle *document)
{
    struct tn_error err;
    struct tn_heap_stats stats = {.size = sizeof stats};
    void *text;
    tn_scope_begin();
    struct tn_handle *title = make(heap, &text_type, 0), *similar = make(heap, &tn_weak_type, 0);
    check(tn_handle_load(document, offsetof(struct document, title), title, &err), &err);
    check(tn_handle_load(document, offsetof(struct document, similar), similar, &err), &err);
    check(tn_handle_load(similar, 0, similar, &err), &err);
    check(tn_handle_pin(title, &text, &err), &err); /* so that printf can read it */
    tn_heap_stats(heap, &stats);
    printf("%s: '%s', %s; %llu collections\n", when, ((struct text *)text)->items,
           tn_handle_is_null(similar) ? "like nothing else" : "like another", (unsigned long long)stats.collections);
    tn_handle_unpin(title);
    tn_scope_end();
}

static void say_goodbye(void *context, struct tn_handle *document)
{
    uint64_t number = 0;
    (void)context;
    tn_handle_read(document, offsetof(struct document, number), &number, sizeof number, NULL);
    printf("document %llu is gone\n", (unsigned long long)number);
}

int main(void)
{
    struct tn_heap_options options = {.size = sizeof options, .limit = 64 << 20};
    struct tn_heap *heap;
    struct tn_error err;
    check(tn_heap_create(&options, &heap, &err), &err);
    check(tn_heap_attach(heap, &err), &err);

    struct tn_handle *first = make(heap, &document_type, 0), *second = make(heap, &document_type, 0);
    make_document(heap, 1, "On joints", NULL, first);
    make_document(heap, 2, "More on joints", first, second);
    check(tn_handle_finalize(first, say_goodbye, NULL, &err), &err);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    show(heap, "both there", second);
    tn_handle_free(first);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    show(heap, "one left", second);
    tn_heap_destroy(heap);
    return 0;
}
