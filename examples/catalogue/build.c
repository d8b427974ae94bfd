/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* build ROWS OUT: reads articles, a line "NUMBER NAME PRICE" each, into a heap with two indexes, and saves them.
 * Articles never change, so they are frozen: all servers share them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "tenon_save.h"

static const struct tn_type text_type = {
    .name = "text", .kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .element = 1, .length = 0};
static const struct tn_type article_type = {
    .name = "article", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct article), .references = 3};
static const struct tn_type articles_type = {
    .name = "articles", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8, .length = 0};

enum { NAME = 64 };

static struct tn_heap *heap;
static struct tn_error err;

static void must(int code)
{
    if (code) {
        fprintf(stderr, "build: %s\n", err.text);
        exit(1);
    }
}

static struct tn_handle *make(const struct tn_type *type, uint64_t length)
{
    struct tn_handle *made;
    must(tn_handle_new(heap, type, length, &made, &err));
    return made;
}

static uint64_t slot(uint64_t index)
{
    return 8 + 8 * index;
}

static uint64_t count_rows(FILE *file)
{
    uint64_t rows = 0;
    for (int c; (c = getc(file)) != EOF;)
        rows += c == '\n';
    rewind(file);
    return rows;
}

static struct tn_handle *read_article(FILE *file, uint64_t *hash)
{
    unsigned long long number, price;
    char name[NAME];
    if (fscanf(file, "%llu %63s %llu", &number, name, &price) != 3) {
        fprintf(stderr, "build: a line is no article\n");
        exit(1);
    }
    const uint64_t numbers[] = {number, price};
    uint64_t length = strlen(name);
    struct tn_handle *article = make(&article_type, 0), *text = make(&text_type, length + 1);
    must(tn_handle_write(text, 8, name, length + 1, &err));
    must(tn_handle_store(article, offsetof(struct article, name), text, &err));
    must(tn_handle_write(article, offsetof(struct article, number), numbers, sizeof numbers, &err));
    tn_handle_free(text);
    *hash = hash_of(name, length);
    return article;
}

static void save(const struct tn_handle *names, const struct tn_handle *numbers, const char *path)
{
    const struct tn_save_type types[] = {
        {.size = sizeof types[0], .type = &text_type, .flags = TN_SAVE_FROZEN},
        {.size = sizeof types[0], .type = &article_type, .flags = TN_SAVE_FROZEN},
        {.size = sizeof types[0], .type = &articles_type, .flags = TN_SAVE_FROZEN},
    };
    const struct tn_save_options options = {.size = sizeof options,
                                            .name = "catalogue",
                                            .flags = TN_SAVE_STRICT,
                                            .types = types,
                                            .type_count = sizeof types / sizeof types[0]};
    struct tn_save *objects;
    must(tn_save_create(heap, &options, &objects, &err));
    must(tn_save_root(objects, "names", names, &err));
    must(tn_save_root(objects, "numbers", numbers, &err));
    must(tn_save_take(objects, NULL, &err));
    must(tn_save_write(objects, path, &err));
    tn_save_destroy(objects);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return fprintf(stderr, "build ROWS OUT: ROWS cannot be read\n"), 1;
    must(tn_heap_create(NULL, &heap, &err));
    must(tn_heap_attach(heap, &err));
    uint64_t rows = count_rows(file), places = 1, hash;
    while (places < rows)
        places *= 2;
    struct tn_handle *names = make(&articles_type, places), *numbers = make(&articles_type, rows), *next;
    must(tn_handle_of(heap, NULL, &next, &err));
    for (uint64_t row = 0; row < rows; row++) {
        struct tn_handle *article = read_article(file, &hash);
        must(tn_handle_load(names, slot(hash & (places - 1)), next, &err));
        must(tn_handle_store(article, offsetof(struct article, next), next, &err));
        must(tn_handle_store(names, slot(hash & (places - 1)), article, &err));
        must(tn_handle_store(numbers, slot(row), article, &err));
        tn_handle_free(article);
    }
    save(names, numbers, argv[2]);
    return 0;
}
