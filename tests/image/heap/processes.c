/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images with objects in several processes, in those with limits, and for systems with other pages. */

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "zones.h"

enum { LINKS = 40000, PROCESSES = 20 };

static void make(const char *path, uint64_t page_size)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = NULL;
    for (uint64_t i = 0; i < LINKS; i++)
        list = saved_link(heap, &link_type, 1, list);
    const struct tn_save_options options = {.size = sizeof options, .name = "processes", .page_size = page_size};
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    tn_heap_destroy(heap);
}

/* Opens it and adds up the list; the heap, or NULL. */
static struct tn_heap *open_and_read(const char *path, uint64_t flags, struct tn_image **image)
{
    struct tn_heap *heap;
    uint64_t count;
    const struct tn_heap_options small = {.size = sizeof small, .limit = 8 << 20};
    if (tn_heap_create(&small, &heap, &err) || tn_heap_attach(heap, &err))
        return NULL;
    struct tn_image_load_options options = saved_options(heap);
    options.flags = flags;
    if (tn_image_open(path, &options, image, &err))
        return NULL;
    struct tn_handle *list = saved_root(heap, *image);
    return saved_sum(list, &count) == LINKS && count == LINKS ? heap : NULL;
}

/* The status with which a child ends that runs the function. */
static int in_child(int (*run)(const char *path), const char *path)
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(run(path));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* Bytes of the image's range that belong to this process alone. */
static uint64_t private_bytes(const struct tn_image *image)
{
    const struct tn_image_memory memory = zones_memory(image);
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    uint64_t start, end, kilobytes, sum = 0;
    bool inside = false;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = start >= memory.address && end <= memory.address + memory.length;
        else if (inside && sscanf(line, "Private_Dirty: %lu kB", &kilobytes) == 1)
            sum += kilobytes << 10;
    if (file)
        fclose(file);
    return sum;
}

static int writes_little(const char *path)
{
    struct tn_image *image;
    struct tn_heap *heap = open_and_read(path, 0, &image);
    if (!heap)
        return 1;
    tn_heap_collect(heap, 0);
    return private_bytes(image) < 300000 ? 0 : 2;
}

static void processes_share_it(void **state)
{
    const char *path = saved_path("shared");
    pid_t children[PROCESSES];
    int status;
    (void)state;
    make(path, 0);
    for (int i = 0; i < PROCESSES; i++)
        if (!(children[i] = fork()))
            _exit(writes_little(path));
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    unlink(path);
}

/* What the child of a fork stores is the child's. */
static void forks_have_their_own(void **state)
{
    const char *path = saved_path("fork");
    struct tn_image *image;
    int status;
    (void)state;
    make(path, 0);
    struct tn_heap *heap = open_and_read(path, 0, &image);
    assert_non_null(heap);
    struct tn_handle *list = saved_root(heap, image), *made = saved_link(heap, tn_image_type(image, "link"), 7, NULL);
    pid_t child = fork();
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), child ? NULL : made, &err), 0);
    tn_heap_collect(heap, 0);
    assert_int_equal(tn_handle_load(list, offsetof(struct link, other), list, &err), 0);
    if (!child)
        _exit(tn_handle_is_null(list) ? 1 : 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0 && tn_handle_is_null(list));
    tn_heap_destroy(heap);
    tn_image_close(image);
    unlink(path);
}

/* No mapping that was writable may become executable; there are none. */
static int under_mdwe(const char *path)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };
    struct tn_image *image;
    prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0); /* Linux 6.3 */
    struct tn_heap *heap = open_and_read(path, 0, &image);
    if (!heap)
        return 1;
    tn_heap_destroy(heap);
    return open_and_read(path, TN_IMAGE_RELOCATE, &image) ? 0 : 2;
}

/* As much address space as it takes, and less. */
static int with_little_memory(const char *path)
{
    struct tn_image *image;
    int opened = 0, refused = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 1;
    fclose(file);
    for (uint64_t room = 1 << 20; room <= UINT64_C(1) << 36 && !opened; room += room / 8) {
        struct rlimit limit = {pages * (uint64_t)sysconf(_SC_PAGESIZE) + room, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &limit);
        struct tn_heap *heap = open_and_read(path, 0, &image);
        opened += heap != NULL;
        refused += !heap && (err.code == TN_ENOMEM || err.code == TN_EIO);
        if (!heap && tn_heap_current())
            tn_heap_destroy(tn_heap_current());
    }
    return opened == 1 && refused > 0 ? 0 : 2;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const bool needs_all_addresses = true;
#else
static const bool needs_all_addresses = false;
#endif

static void limits_are_kept(void **state)
{
    const char *path = saved_path("limits");
    (void)state;
    make(path, 0);
    assert_int_equal(in_child(under_mdwe, path), 0);
    if (!needs_all_addresses)
        assert_int_equal(in_child(with_little_memory, path), 0);
    unlink(path);
}

/* A file for larger pages is for smaller ones too. */
static void larger_pages_fit(void **state)
{
    const char *path = saved_path("pages");
    struct tn_image *image;
    (void)state;
    for (uint64_t page = 4096; page <= 65536; page *= 4) {
        make(path, page);
        struct tn_heap *heap = open_and_read(path, 0, &image);
        assert_non_null(heap);
        const struct tn_image_memory memory = zones_memory(image);
        assert_true(memory.address == memory.intended && memory.address % page == 0 && memory.length % page == 0);
        tn_heap_destroy(heap);
        tn_image_close(image);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_it),
        cmocka_unit_test(forks_have_their_own),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(larger_pages_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
