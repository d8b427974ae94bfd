/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Random graphs, saved in one process and opened in another, where the program lies elsewhere: at the intended address
 * and displaced, with each collector. They are isomorphic, and stay so when both are changed in the same way. Objects
 * of an image that was opened can be saved again.
 *
 * The processes are this program with arguments: make SEED FILE, open SEED FILE FLAGS AGAIN. GRAPHS=FIRST:COUNT in the
 * environment chooses the seeds. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>

#include "oracle.h"
#include "graph.h"

enum { OBJECTS = 150, CHANGES = 1000 };

static const char *const root_names[3] = {"first", "second", "third"};

/* ---- the processes ---- */

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        struct tn_error failure;                                                                                       \
        if (call) {                                                                                                    \
            printf("%s\n", failure.text);                                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Named, so that the program contains them. */
const struct tn_collector *const graphs_collectors[] = {&tn_collector_copying, &tn_collector_generational,
                                                        &tn_collector_concurrent};

static struct tn_heap *begin(void)
{
    struct tn_heap_options options = {.size = sizeof options};
    struct tn_heap *heap;
    MUST(tn_heap_options_from_environment(&options, &failure));
    MUST(tn_heap_create(&options, &heap, &failure));
    MUST(tn_heap_attach(heap, &failure));
    return heap;
}

static void save(const struct graph *graph, const char *name, struct tn_image *const *images, size_t count,
                 const char *path)
{
    const struct tn_save_options options = {.size = sizeof options,
                                            .name = name,
                                            .types = graph_rows,
                                            .type_count = graph_row_count,
                                            .images = images,
                                            .image_count = count,
                                            .name_of = graph_name_of,
                                            .flags = TN_SAVE_STRICT};
    struct tn_save_stats stats = {.size = sizeof stats};
    struct tn_save *s;
    MUST(tn_save_create(graph->heap, &options, &s, &failure));
    for (size_t i = 0; i < 3; i++)
        MUST(tn_save_root(s, root_names[2 - i], graph->roots[2 - i], &failure));
    MUST(tn_save_take(s, &stats, &failure));
    MUST(tn_save_write(s, path, &failure));
    tn_save_destroy(s);
}

static struct tn_image *open_image(struct tn_heap *heap, const char *path, uint64_t flags,
                                   struct tn_image *const *images, size_t count)
{
    const struct tn_image_load_options options = {.size = sizeof options,
                                                  .heap = heap,
                                                  .heaps = tn_image_heaps(),
                                                  .resolver = graph_resolve,
                                                  .host_types = graph_host_types,
                                                  .host_type_count = graph_host_type_count,
                                                  .images = images,
                                                  .image_count = count,
                                                  .flags = flags | TN_IMAGE_VERIFY};
    struct tn_image *image;
    MUST(tn_image_open(path, &options, &image, &failure));
    return image;
}

static void find_roots(struct graph *graph)
{
    for (size_t i = 0; i < 3; i++) {
        MUST(tn_handle_of(graph->heap, NULL, &graph->roots[i], &failure));
        MUST(tn_image_root(graph->image, root_names[i], graph->roots[i], &failure));
    }
}

/* Prints the digest before the changes, and the one after. */
static void compare(struct graph *graph, uint64_t seed)
{
    printf("%llx", (unsigned long long)graph_digest(graph));
    graph->seed = seed + 1000000;
    graph_change(graph, CHANGES);
    printf(" %llx\n", (unsigned long long)graph_digest(graph));
    tn_heap_destroy(graph->heap);
}

static int run_make(uint64_t seed, const char *path)
{
    struct graph graph = {.heap = begin(), .seed = seed};
    graph_make(&graph, OBJECTS, NULL);
    save(&graph, "graph", NULL, 0, path);
    compare(&graph, seed);
    return 0;
}

static int run_open(uint64_t seed, const char *path, uint64_t flags, const char *again)
{
    struct graph graph = {.heap = begin()};
    struct tn_image *image = open_image(graph.heap, path, flags, NULL, 0);
    graph.image = image;
    find_roots(&graph);
    if (*again)
        save(&graph, "graph again", NULL, 0, again);
    tn_image_close(seed % 2 ? image : NULL); /* the objects stay */
    compare(&graph, seed);
    tn_image_close(seed % 2 ? NULL : image);
    return 0;
}

/* The second image refers to the first, and changes it; what it adds is saved alone. */
static int run_depend(uint64_t seed, const char *path, uint64_t flags, const char *again)
{
    struct tn_heap *heap = begin();
    struct tn_image *images[2] = {open_image(heap, path, flags & 4, NULL, 0)};
    struct graph first = {.heap = heap, .image = images[0]}, second = {.heap = heap, .seed = seed + 77};
    find_roots(&first);
    if (!(flags & 8)) {
        second.image = images[0];
        graph_make(&second, OBJECTS, first.roots);
        graph_change(&second, CHANGES);
        save(&second, "second", images, 1, again);
    } else {
        images[1] = open_image(heap, again, flags >> 2 & 4, images, 1);
        second.image = images[1];
        find_roots(&second);
    }
    compare(&second, seed);
    tn_image_close(images[0]);
    tn_image_close(images[1]);
    return 0;
}

static int run(char **arguments)
{
    uint64_t seed = strtoull(arguments[1], NULL, 10), flags = strtoull(arguments[3], NULL, 10);
    const char *path = arguments[2], *again = arguments[4];
    if (strcmp(arguments[0], "make") == 0)
        return run_make(seed, path);
    return strcmp(arguments[0], "open") == 0 ? run_open(seed, path, flags, again)
                                             : run_depend(seed, path, flags, again);
}

/* ---- the tests ---- */

static const struct environment {
    const char *collector, *stress, *verify;
} environments[] = {{"generational", "0", "0"}, {"copy", "0", "1"}, {"concurrent", "0", "1"},
                    {"generational", "1", "1"}, {"copy", "1", "1"}, {"concurrent", "1", "1"}};

static char self[4096], files[3][64];

/* Runs a process and returns what it printed. */
static const char *process(const struct environment *e, const char *what, uint64_t seed, const char *file,
                           unsigned flags, const char *again)
{
    static char lines[8][2200];
    static unsigned next;
    char command[6000], *line = lines[next++ % 8];
    snprintf(command, sizeof command, "TENON_GC=%s TENON_GC_STRESS=%s TENON_GC_VERIFY=%s '%s' %s %llu '%s' %u '%s'",
             e->collector, e->stress, e->verify, self, what, (unsigned long long)seed, file, flags, again);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(line, sizeof lines[0], pipe))
        strcpy(line, "nothing");
    int status = pclose(pipe);
    if (status)
        print_error("%s: status %d: %s\n", command, status, line);
    assert_int_equal(status, 0);
    return line;
}

static bool are_equal(const char *a, const char *b)
{
    FILE *one = fopen(a, "rb"), *other = fopen(b, "rb");
    int x = 0, y = 0;
    while (x == y && x != EOF) {
        x = getc(one);
        y = getc(other);
    }
    fclose(one);
    fclose(other);
    return x == y;
}

static void choose_seeds(uint64_t *first, uint64_t *count)
{
    const char *text = getenv("GRAPHS");
    char *end;
    *first = text ? strtoull(text, &end, 10) : 1;
    *count = text && *end == ':' ? strtoull(end + 1, NULL, 10) : 18;
}

static void opened_graphs_are_isomorphic(void **state)
{
    uint64_t first, count;
    (void)state;
    choose_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const struct environment *e = &environments[seed % 6], *other = &environments[seed / 6 % 6];
        const char *made = process(e, "make", seed, files[0], 0, "");
        assert_string_equal(made, process(other, "open", seed, files[0], 0, files[1]));
        assert_string_equal(made, process(e, "open", seed, files[0], TN_IMAGE_RELOCATE | TN_IMAGE_COPY, files[2]));
        assert_string_equal(made, process(e, "open", seed, files[1], 0, ""));
        assert_true(are_equal(files[1], files[2])); /* wherever it was */
    }
}

static void images_refer_to_each_other(void **state)
{
    uint64_t first, count;
    (void)state;
    choose_seeds(&first, &count);
    for (uint64_t seed = first; seed < first + count / 2; seed++) {
        const struct environment *e = &environments[seed % 6];
        process(e, "make", seed, files[0], 0, "");
        const char *made = process(e, "depend", seed, files[0], seed % 2 ? 4 : 0, files[1]);
        for (unsigned flags = 0; flags < 4; flags++) /* either is displaced, or both */
            assert_string_equal(
                made, process(e, "depend", seed, files[0], 8 | (flags & 1) << 2 | (flags & 2) << 3, files[1]));
    }
}

int main(int count, char **arguments)
{
    if (count == 6)
        return run(arguments + 1);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return 1;
    for (size_t i = 0; i < 3; i++)
        snprintf(files[i], sizeof files[i], "/tmp/tenon-graph-%d-%zu", (int)getpid(), i);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_graphs_are_isomorphic),
        cmocka_unit_test(images_refer_to_each_other),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < 3; i++)
        unlink(files[i]);
    return failed;
}
