/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* heap MODE FILE [OBJECTS]: saved objects, of 104 bytes with five references each, and what they cost:
 *     save      makes OBJECTS objects (1,000,000) and saves them
 *     open      tn_image_open at the intended address, finding the root, reading every object
 *     displaced the same elsewhere
 *     raw       mmap of the same file alone, where it is intended to be, and reading the same bytes
 *     touch     the same, and one write to each page
 *     collect   opening, and full collections beside the objects; `none`: without the image
 *     logged    partial collections: beside the objects; when 1,000 of them refer to the heap; when the list of all,
 *               an array of 8 MB, does
 *     mixed     pages that opening writes if 10,000 of 100,000 objects are of a type of the program's, and 30,000 refer
 *               to one of 1,000 symbols, of which none, ten, a hundred or all give way to those of the heap
 * Prints lines `WORD NUMBER`; bench/spawn makes medians of them. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"
#include "resident.h"
#include "tenon_save.h"

enum { REFERENCES = 5, NUMBERS = 7 };

struct item {
    struct item *references[REFERENCES];
    uint64_t numbers[NUMBERS];
};

static const struct tn_type item_type = {
    .name = "item", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct item), .references = 31};
static const struct tn_type list_type = {
    .name = "list", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8};

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        struct tn_error err = {.text = ""};                                                                            \
        if (call) {                                                                                                    \
            fprintf(stderr, "%s: %s\n", #call, err.text);                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static struct tn_heap *begin(void)
{
    struct tn_heap *heap;
    MUST(tn_heap_create(NULL, &heap, &err));
    MUST(tn_heap_attach(heap, &err));
    return heap;
}

static void show(const char *word, double value)
{
    printf("%s %.3f\n", word, value);
}

static double ms_since(uint64_t start)
{
    return (double)(now_ns() - start) / 1e6;
}

static double processor_ms(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1e3 * 1.024;
}

/* Pages that were written, and faults so far. */
static double dirty_pages(void)
{
    char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *line = strstr(text, "Anonymous:");
    return line ? strtod(line + strlen("Anonymous:"), NULL) / 4 : -1;
}

static double faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_minflt + usage.ru_majflt);
}

/* ---- saving ---- */

/* In a list, each object refers to its neighbours and to three others. */
static struct tn_handle *build(struct tn_heap *heap, uint64_t count)
{
    struct tn_handle *list, *item;
    uint64_t random = 1;
    MUST(tn_handle_new(heap, &list_type, count, &list, &err));
    for (uint64_t i = 0; i < count; i++) {
        MUST(tn_handle_new(heap, &item_type, 0, &item, &err));
        MUST(tn_handle_write(item, sizeof item * REFERENCES, &i, sizeof i, &err));
        MUST(tn_handle_store(list, 8 + 8 * i, item, &err));
        tn_handle_free(item);
    }
    MUST(tn_handle_of(heap, NULL, &item, &err));
    struct tn_handle *other;
    MUST(tn_handle_of(heap, NULL, &other, &err));
    for (uint64_t i = 0; i < count; i++) {
        MUST(tn_handle_load(list, 8 + 8 * i, item, &err));
        for (uint64_t k = 0; k < REFERENCES; k++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            uint64_t to = k < 2 ? (i + k + 1) % count : (random >> 33) % count;
            MUST(tn_handle_load(list, 8 + 8 * to, other, &err));
            MUST(tn_handle_store(item, 8 * k, other, &err));
        }
    }
    return list;
}

static void save(const char *file, uint64_t count)
{
    struct tn_heap *heap = begin();
    struct tn_handle *list = build(heap, count);
    tn_heap_collect(heap, 0);
    const struct tn_save_options options = {.size = sizeof options, .name = "bench"};
    struct tn_save_stats stats = {.size = sizeof stats};
    struct tn_save *save;
    double before = peak_mb(), used = processor_ms();
    uint64_t start = now_ns();
    MUST(tn_save_create(heap, &options, &save, &err));
    MUST(tn_save_root(save, "list", list, &err));
    MUST(tn_save_take(save, &stats, &err));
    show("take_ms", ms_since(start));
    show("stop_ms", (double)stats.stop_ns / 1e6);
    MUST(tn_save_write(save, file, &err));
    show("save_ms", ms_since(start));
    show("processor_ms", processor_ms() - used);
    tn_save_destroy(save);
    show("peak_mb", peak_mb() - before);
    show("objects_mb", (double)stats.changing / 1e6);
    show("file_mb", (double)stats.bytes / 1e6);
    tn_heap_destroy(heap);
}

/* ---- opening ---- */

static struct tn_image *open_image(struct tn_heap *heap, const char *file, uint64_t flags)
{
    const struct tn_image_load_options options = {
        .size = sizeof options, .heap = heap, .heaps = tn_image_heaps(), .flags = flags};
    struct tn_image *image;
    MUST(tn_image_open(file, &options, &image, &err));
    return image;
}

/* One word of each cache line, so of each object. */
static uint64_t read_all(const char *start, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= size; at += 64)
        sum += *(const volatile uint64_t *)(const void *)(start + at);
    return sum;
}

static void open_and_read(const char *file, uint64_t flags)
{
    struct tn_heap *heap = begin();
    struct tn_handle *root;
    struct tn_cpu host = {.size = sizeof host};
    MUST(tn_cpu_host(&host, &err));
    MUST(tn_handle_of(heap, NULL, &root, &err));
    double pages = dirty_pages(), before = faults();
    uint64_t start = now_ns();
    struct tn_image *image = open_image(heap, file, flags);
    MUST(tn_image_root(image, "list", root, &err));
    show("open_us", ms_since(start) * 1e3);
    show("open_faults", faults() - before);
    show("open_pages", dirty_pages() - pages);
    struct tn_image_memory memory = {.size = sizeof memory};
    tn_image_memory(image, &memory);
    start = now_ns();
    read_all((const char *)(uintptr_t)memory.address, memory.length);
    show("read_ms", ms_since(start));
    show("read_pages", dirty_pages() - pages);
    show("moved_words", (double)memory.written);
    tn_heap_destroy(heap);
    tn_image_close(image);
}

static void raw(const char *file, int writes)
{
    struct stat status;
    uint64_t start = now_ns();
    int fd = open(file, O_RDONLY);
    if (fd < 0 || fstat(fd, &status))
        exit(1);
    size_t size = (size_t)status.st_size;
    char *at =
        mmap((void *)UINT64_C(0x550000000000), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        exit(1);
    for (size_t page = 0; writes && page < size; page += 4096)
        *(volatile char *)(at + page) = 1;
    show("open_us", ms_since(start) * 1e3);
    start = now_ns();
    read_all(at, size);
    show("read_ms", ms_since(start));
}

/* ---- collections ---- */

static void collect(const char *file)
{
    enum { COLLECTIONS = 10, OWN = 50000 };
    struct tn_heap *heap = begin();
    struct tn_image *image = strcmp(file, "none") == 0 ? NULL : open_image(heap, file, 0);
    struct tn_handle *list = build(heap, OWN);
    double pages = dirty_pages();
    tn_heap_collect(heap, 0);
    uint64_t start = now_ns();
    for (int i = 0; i < COLLECTIONS; i++)
        tn_heap_collect(heap, 0);
    show("collection_us", ms_since(start) * 1e3 / COLLECTIONS);
    show("pages", dirty_pages() - pages);
    tn_handle_free(list);
    tn_heap_destroy(heap);
    tn_image_close(image);
}

static double partial_us(struct tn_heap *heap)
{
    enum { COLLECTIONS = 50 };
    double best = 1e9;
    for (int i = 0; i < COLLECTIONS; i++) {
        uint64_t start = now_ns();
        tn_heap_collect(heap, TN_COLLECT_PARTIAL);
        double us = ms_since(start) * 1e3;
        best = us < best ? us : best;
    }
    return best;
}

static void logged(const char *file)
{
    enum { OBJECTS = 1000, SLOTS = 100 };
    struct tn_heap *heap = begin();
    struct tn_image *image = open_image(heap, file, 0);
    struct tn_handle *list, *item, *made;
    MUST(tn_handle_of(heap, NULL, &list, &err));
    MUST(tn_handle_of(heap, NULL, &item, &err));
    MUST(tn_image_root(image, "list", list, &err));
    MUST(tn_handle_new(heap, &item_type, 0, &made, &err));
    for (int i = 0; i < 3; i++)
        partial_us(heap);
    double alone = partial_us(heap);
    show("beside_us", alone);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        MUST(tn_handle_load(list, 8 + 8 * i * 101, item, &err));
        MUST(tn_handle_store(item, 0, made, &err));
    }
    double objects = partial_us(heap);
    show("objects_us", objects - alone);
    for (uint64_t i = 0; i < SLOTS; i++)
        MUST(tn_handle_store(list, 8 + 8 * i * 1009, made, &err));
    show("array_us", partial_us(heap) - objects);
    tn_heap_destroy(heap);
    tn_image_close(image);
}

/* ---- types of the program, and unique objects ---- */

enum { MIXED = 100000, SYMBOLS = 1000 };

static const struct tn_type host_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct item), .references = 31};
static const struct tn_type symbol_type = {.name = "symbol", .kind = TN_KIND_LEAF, .alignment = 8, .size = 16};

static size_t key_of(void *context, const void *object, void *bytes, size_t room)
{
    (void)context;
    memcpy(bytes, object, room < 8 ? room : 8);
    return 8;
}

struct known {
    struct tn_handle **symbols;
    uint64_t count;
};

static int give_way(void *context, struct tn_image_unique *rows, size_t count, struct tn_error *err)
{
    struct known *known = context;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        memcpy(&number, rows[i].key, sizeof number);
        if (number < known->count)
            rows[i].instead = known->symbols[number];
    }
    return 0;
}

static struct tn_handle **make_symbols(struct tn_heap *heap)
{
    struct tn_handle **symbols = calloc(SYMBOLS, sizeof *symbols);
    for (uint64_t i = 0; i < SYMBOLS; i++) {
        MUST(tn_handle_new(heap, &symbol_type, 0, &symbols[i], &err));
        MUST(tn_handle_write(symbols[i], 0, &i, sizeof i, &err));
    }
    return symbols;
}

/* Symbols are used as words of a text are: the first ones most often. */
static void save_mixed(const char *file)
{
    static const struct tn_save_type types[] = {
        {.size = sizeof *types, .type = &host_type, .flags = TN_SAVE_HOST_TYPE},
        {.size = sizeof *types, .type = &symbol_type, .flags = TN_SAVE_UNIQUE, .key = key_of}};
    const struct tn_save_options options = {.size = sizeof options, .name = "mixed", .types = types, .type_count = 2};
    struct tn_heap *heap = begin();
    struct tn_handle **symbols = make_symbols(heap), *list, *item, *before = NULL;
    struct tn_save *save;
    uint64_t random = 1;
    MUST(tn_handle_new(heap, &list_type, MIXED, &list, &err));
    for (uint64_t i = 0; i < MIXED; i++, before = item) {
        random = random * UINT64_C(6364136223846793005) + 1;
        MUST(tn_handle_new(heap, i % 10 == 3 ? &host_type : &item_type, 0, &item, &err));
        if (before)
            MUST(tn_handle_store(item, 0, before, &err));
        uint64_t rank = SYMBOLS / (1 + (random >> 33) % SYMBOLS);
        if (i % 10 < 3)
            MUST(tn_handle_store(item, 8, symbols[rank % SYMBOLS], &err));
        MUST(tn_handle_store(list, 8 + 8 * i, item, &err));
        tn_handle_free(before);
    }
    MUST(tn_save_create(heap, &options, &save, &err));
    MUST(tn_save_root(save, "list", list, &err));
    MUST(tn_save_take(save, NULL, &err));
    MUST(tn_save_write(save, file, &err));
    tn_save_destroy(save);
    tn_heap_destroy(heap);
    free(symbols);
}

static void mixed(const char *file)
{
    static const struct tn_image_type host_types[] = {{"host", &host_type}};
    static const uint64_t given[] = {0, 10, 100, SYMBOLS};
    save_mixed(file);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        struct tn_heap *heap = begin();
        struct known known = {make_symbols(heap), given[i]};
        struct tn_image_load_options options = {.size = sizeof options,
                                                .heap = heap,
                                                .heaps = tn_image_heaps(),
                                                .host_types = host_types,
                                                .host_type_count = 1,
                                                .unique = give_way,
                                                .context = &known};
        struct tn_image_memory memory = {.size = sizeof memory};
        struct tn_image *image;
        double before = dirty_pages();
        MUST(tn_image_open(file, &options, &image, &err));
        double pages = dirty_pages() - before;
        tn_image_memory(image, &memory);
        printf("%llu_symbols_pages %.0f\n%llu_symbols_words %llu\n", (unsigned long long)given[i], pages,
               (unsigned long long)given[i], (unsigned long long)memory.written);
        if (!i)
            printf("heap_pages %llu\nbound_pages %llu\n", (unsigned long long)memory.length / 4096,
                   (unsigned long long)memory.bound / 4096);
        tn_heap_destroy(heap);
        tn_image_close(image);
        free(known.symbols);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "", *file = argc > 2 ? argv[2] : "";
    if (strcmp(mode, "save") == 0)
        save(file, argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000);
    else if (strcmp(mode, "open") == 0 || strcmp(mode, "displaced") == 0)
        open_and_read(file, strcmp(mode, "open") == 0 ? 0 : TN_IMAGE_RELOCATE);
    else if (strcmp(mode, "raw") == 0 || strcmp(mode, "touch") == 0)
        raw(file, strcmp(mode, "touch") == 0);
    else if (strcmp(mode, "collect") == 0)
        collect(file);
    else if (strcmp(mode, "logged") == 0)
        logged(file);
    else if (strcmp(mode, "mixed") == 0)
        mixed(file);
    else
        return fprintf(stderr, "heap save|open|displaced|raw|touch|collect|logged|mixed FILE\n"), 1;
    return 0;
}
