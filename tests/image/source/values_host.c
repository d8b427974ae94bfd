/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saves a list, or runs values.c with it: `save FILE`, `run FILE CODE`; with LINKED `run FILE`, because the code is
 * part of the program. `run FILE CODE WHAT` with something missing: heap, image.
 *
 * If the code has the objects itself, they are saved by `save FILE own`, and FILE is `own`; objects.c is part of the
 * code then. Other commands of this kind: `again` opens it twice, `refuse` lets each request to the system, and each
 * allocation, of opening it fail in turn, `child` uses it after a fork. In the environment: RELOCATE=1 maps the objects
 * elsewhere, TAKEN=1 occupies their place before, DISPLACED=1 expects them elsewhere, FAULTS is a plan of faults
 * (src/base/os.h) while they are opened, MEMORY=1 prints the pages of them that were written, DL=1 lets dlopen load
 * CODE, LISTS saves a list that is so many times as long. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

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

extern const struct tn_collector tn_collector_copying; /* tests/gc/copying/oracle.h */

/* Named, so that the program contains them. */
const struct tn_collector *const values_collectors[] = {&tn_collector_copying, &tn_collector_generational,
                                                        &tn_collector_concurrent};

struct entry {
    struct node *first;
    long (*run)(void);
};

static const struct tn_type entry_type = {
    .name = "struct entry", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct entry), .references = 1};

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

static const char stands_for_sum = 0;

static int name_of(void *context, const void *address, struct tn_save_name *name)
{
    (void)context;
    *name = (struct tn_save_name){"sum", 0};
    return address != &stands_for_sum;
}

static void save(struct tn_heap *heap, const char *path, int own)
{
    static const struct tn_save_word words[] = {{offsetof(struct entry, run), TN_SAVE_ADDRESS}};
    static const struct tn_save_type rows[] = {
        {.size = sizeof rows[0], .type = &entry_type, .words = words, .word_count = 1},
        {.size = sizeof rows[0], .type = &nodes_type, .flags = TN_SAVE_FROZEN}};
    struct tn_save_options options = {.size = sizeof options, .name = "list", .name_of = name_of};
    options.types = rows;
    options.type_count = own ? 2 : 0;
    struct tn_save *save;
    struct tn_handle *list = NULL;
    long lists = getenv("LISTS") ? atol(getenv("LISTS")) : 1;
    for (long i = 0; i < 100 * lists; i++) {
        struct tn_handle *next = list;
        list = make(heap, &node_type, next);
        MUST(tn_handle_write(list, 8, &(long){i % 100 + 1}, 8, &err));
        tn_handle_free(next);
    }
    MUST(tn_save_create(heap, &options, &save, &err));
    MUST(tn_save_root(save, "first", list, &err));
    MUST(tn_save_root(save, "nodes", make(heap, &nodes_type, NULL), &err));
    MUST(tn_save_root(save, "weak", make(heap, &tn_weak_type, list), &err));
    if (own) {
        const void *address = &stands_for_sum;
        struct tn_handle *entry = make(heap, &entry_type, list);
        MUST(tn_handle_write(entry, offsetof(struct entry, run), &address, sizeof address, &err));
        MUST(tn_save_root(save, "entry", entry, &err));
    }
    MUST(tn_save_take(save, NULL, &err));
    MUST(tn_save_write(save, path, &err));
    tn_save_destroy(save);
}

#ifdef LINKED
extern const char tn_image[];
long sum(void), churn(long count);
long run_entry(void) __attribute__((weak));
void push(long value), *choose(long which), *weaken(void);
#define FIND(image, name) ((void *)(uintptr_t)(name))
#define RESOLVER          NULL
#define IS_FILE           false
#else
#define RESOLVER          tn_resolve_dlsym
#define FIND(image, name) tn_image_lookup(image, #name)
#define IS_FILE           (!getenv("DL"))
#endif

/* The image in `path`, or in the program. */
static int open_code(const char *path, const struct tn_image_load_options *options, struct tn_image **code)
{
#ifdef LINKED
    (void)path;
    return tn_image_open_linked(tn_image, options, code, &err);
#else
    if (!getenv("DL"))
        return tn_image_open(path, options, code, &err);
    void *library = dlopen(path, RTLD_NOW);
    const void *image = library ? dlsym(library, "tn_image") : NULL;
    if (!image)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    return tn_image_open_linked(image, options, code, &err);
#endif
}

static void *type_of(const void *object)
{
    return (void *)(((const uintptr_t *)object)[-1] & ~(uintptr_t)15);
}

/* `expected`: the sum of the list. */
static void use(struct tn_heap *heap, struct tn_image *list, struct tn_image *code, long expected)
{
    long (*sum_of)(void) = (long (*)(void))FIND(code, sum), (*churn_by)(long) = (long (*)(long))FIND(code, churn);
    void (*push_one)(long) = (void (*)(long))FIND(code, push),
         *(*choose_one)(long) = (void *(*)(long))FIND(code, choose);
    void *(*weaken_it)(void) = (void *(*)(void))FIND(code, weaken);
    const struct tn_type *type = tn_image_type(list, "struct node");
    struct tn_handle *first = make(heap, type, NULL);
    check(type && type != &node_type && sum_of() == expected, "it reads the saved list");
    for (long i = 0; i < 100; i++)
        push_one(1);
    check(churn_by(1000) == 3 * 999, "it allocates");
    tn_heap_collect(heap, 0);
    check(sum_of() == expected + 100, "it stores into the saved list");
    MUST(tn_image_root(list, "first", first, &err));
    tn_managed_begin();
    const struct node *head = tn_handle_object(first);
    check(type_of(head) == type && type_of(head->next) == type, "what it allocates is of the saved type");
    tn_managed_end();
    check(choose_one(1) == head && choose_one(0) == (void *)head->next, "it finds the object");
    check(type_of(choose_one(2)) == type, "and its type, on any way");
    void **weak = weaken_it();
    check(type_of(weak) == (void *)tn_image_type(list, tn_weak_type.name) && *weak == head, "weak references too");
    if (list == code) {
        long (*entry)(void) = (long (*)(void))FIND(code, run_entry);
        check(entry() == expected + 100, "and its own functions");
    }
}

/* ---- an image that has the objects itself ---- */

static struct tn_image_load_options options_for(struct tn_heap *heap)
{
    return (struct tn_image_load_options){.size = sizeof(struct tn_image_load_options),
                                          .heap = heap,
                                          .heaps = tn_image_heaps(),
                                          .resolver = RESOLVER,
                                          .managed = tn_managed_runtime(),
                                          .flags = getenv("RELOCATE") ? TN_IMAGE_RELOCATE : 0};
}

static struct tn_image_memory memory_of(const struct tn_image *image)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    tn_image_memory(image, &memory);
    return memory;
}

static struct {
    uint64_t start, end, found;
} range;

static bool count_in_range(void *context, uint64_t start, uint64_t end)
{
    (void)context;
    range.found += start < range.end && range.start < end;
    return true;
}

static uint64_t mapped(uint64_t start, uint64_t size)
{
    range.start = start, range.end = start + size, range.found = 0;
    MUST(tn__os_each_mapping(count_in_range, NULL));
    return range.found;
}

/* Opens the code with a new heap; returns the code, and leaves nothing. */
static int try(const char *path, const char *plan, struct tn_image_memory *memory)
{
    struct tn_heap *heap = begin();
    struct tn_image *code = NULL;
    struct tn_image_load_options options = options_for(heap);
    tn__os_set_faults(plan);
    int result = open_code(path, &options, &code);
    tn__os_set_faults(NULL);
    if (!result) {
        *memory = memory_of(code);
        long (*sum_of)(void) = (long (*)(void))FIND(code, sum), (*entry)(void) = (long (*)(void))FIND(code, run_entry);
        if (sum_of() != 5050 || entry() != 5050)
            result = TN_EFORMAT;
    }
    tn_image_close(code);
    tn_heap_detach();
    tn_heap_destroy(heap);
    return result;
}

static void refuse(const char *path)
{
    enum { REQUESTS = 60 };
    char plan[2 * REQUESTS + 8];
    struct tn_image_memory whole, memory = {.size = sizeof memory};
    int wrong = 0, failed = 0, displaced = 0;
    uint64_t before = 0;
    MUST(try(path, NULL, &whole));
    for (int i = 0; i < 3 * REQUESTS; i++) {
        int n = 0;
        for (int k = 0; k < i % REQUESTS; k++)
            n += sprintf(plan + n, ". ");
        snprintf(plan + n, sizeof plan - (size_t)n, i / REQUESTS ? "P" : "F");
        if (i >= 2 * REQUESTS)
            snprintf(plan, sizeof plan, "a%d", i % REQUESTS + 1);
        int code = try(path, plan, &memory);
        wrong += code && code != TN_ENOMEM && code != TN_EPERM && code != TN_EIO;
        if (wrong == 1 && code)
            fprintf(stderr, "plan %d: %s\n", i, err.text);
        failed += code != 0;
        displaced += !code && memory.address != memory.intended;
        wrong += mapped(whole.address, whole.length) != 0;
        if (i == 0)
            before = mapped(0, UINT64_MAX / 2);
    }
    check(!wrong, "each refusal is an error, or does not matter");
    check(failed > 3 && displaced, "some are errors, and some displace the objects");
    uint64_t after = mapped(0, UINT64_MAX / 2);
    check(after < before + REQUESTS / 4, "none of them leaves anything");
}

static void open_again(struct tn_heap *heap, const char *path)
{
    struct tn_image *first, *second = NULL;
    struct tn_image_load_options options = options_for(heap);
    MUST(open_code(path, &options, &first));
    int code = open_code(path, &options, &second);
    if (!IS_FILE) {
        check(code == TN_EDUP && strstr(err.text, "tn_image: it is open already"), "it is open already");
    } else {
        check(!code && memory_of(second).address != memory_of(second).intended, "a file gets a displaced copy");
        check(memory_of(first).address == memory_of(first).intended, "beside the first one");
    }
    tn_image_close(second);
    tn_image_close(first);
    check(open_code(path, &options, &second) == (IS_FILE ? 0 : TN_EDUP), "closing does not end it");
    tn_image_close(second);
    tn_heap_detach();
    tn_heap_destroy(heap);
    struct tn_image_memory memory;
    MUST(try(path, NULL, &memory));
    check(memory.address == memory.intended, "but the end of the heap does");
}

/* Pages of the range that this process has for itself. */
static long written_pages(uint64_t start, uint64_t size)
{
    char line[256];
    long pages = 0;
    unsigned long long from = 0, to = 0, kilobytes;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long long a, b;
        if (sscanf(line, "%llx-%llx ", &a, &b) == 2)
            from = a, to = b;
        else if (from < start + size && start < to && sscanf(line, "Anonymous: %llu", &kilobytes) == 1)
            pages += (long)kilobytes / 4;
    }
    if (file)
        fclose(file);
    return pages;
}

static int use_own(struct tn_heap *heap, const char *command, const char *path)
{
    struct tn_image *code;
    struct tn_image_load_options options = options_for(heap);
    if (getenv("TAKEN")) {
        struct tn_image_memory memory;
        tn_heap_detach();
        MUST(try(path, NULL, &memory));
        MUST(tn_heap_attach(heap, &err));
        void *there = mmap((void *)(uintptr_t)memory.intended, 4096, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        check(there == (void *)(uintptr_t)memory.intended, "the place is taken");
    }
    tn__os_set_faults(getenv("FAULTS"));
    MUST(open_code(path, &options, &code));
    tn__os_set_faults(NULL);
    struct tn_image_memory memory = memory_of(code);
    int elsewhere = getenv("TAKEN") || getenv("RELOCATE") || getenv("DISPLACED");
    check((memory.address != memory.intended) == elsewhere, elsewhere ? "it is elsewhere" : "it is where it should be");
    if (getenv("MEMORY"))
        printf("%ld pages of objects were written\n", written_pages(memory.address, memory.length));
    long expected = 5050;
    if (strcmp(command, "child") == 0) {
        fflush(stdout);
        pid_t child = fork();
        int status = 0;
        if (child > 0 && waitpid(child, &status, 0) == child)
            return WEXITSTATUS(status);
    }
    use(heap, code, code, expected);
    tn_image_close(code);
    tn_heap_collect(heap, 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct tn_image *list, *code;
    struct tn_heap *heap = begin();
    const char *without = argc > 4 ? argv[4] : "", *command = argc > 2 ? argv[1] : "";
    if (strcmp(command, "save") == 0)
        return save(heap, argv[2], argc > 3), 0;
    if (strcmp(command, "again") == 0)
        return open_again(heap, argv[3]), 0;
    if (strcmp(command, "refuse") == 0)
        return tn_heap_detach(), refuse(argv[3]), 0;
    if (strcmp(argv[2], "own") == 0)
        return use_own(heap, command, argv[3]);
    struct tn_image_load_options options = options_for(heap);
    MUST(tn_image_open(argv[2], &options, &list, &err));
    options.flags = 0;
    options.images = &list;
    options.image_count = strcmp(without, "image") != 0;
    if (strcmp(without, "heap") == 0)
        options.heap = NULL;
    MUST(open_code(argv[3], &options, &code));
    use(heap, list, code, 5050);
    tn_image_close(code);
    tn_image_close(list);
    return 0;
}
