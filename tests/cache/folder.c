/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Folders of caches: damage in every byte of a pack, folders that must not be trusted, limits, every request to the
 * system refused in turn. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "world.h"

/* ---- damage ---- */

/* The only pack of the folder. */
static void pack_path(const struct world *w, char path[200])
{
    char command[100];
    snprintf(command, sizeof command, "ls %s/*", w->path);
    FILE *list = popen(command, "r");
    assert_non_null(fgets(path, 200, list));
    path[strcspn(path, "\n")] = 0;
    pclose(list);
}

static size_t read_whole(const char *path, uint8_t *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

static void write_whole(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Whatever becomes of a pack, the program gets the right bytes, and the pack is repaired. */
static void damage_everywhere(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    static uint8_t good[4000], bad[4000];
    char path[200];
    use_all(&w, "one");
    pack_path(&w, path);
    size_t size = read_whole(path, good, sizeof good);
    for (size_t at = 0; at < 2 * size; at++) {
        memcpy(bad, good, size);
        bad[at / 2] ^= 1;
        write_whole(path, bad, at % 2 ? size : at / 2); /* damaged there, or cut off there */
        uint64_t damaged = stats_of(&w).damaged;
        use_all(&w, "one");
        if (stats_of(&w).damaged == damaged)
            fail_msg("damage at %zu was not seen", at / 2);
        w.toy = (struct toy){0};
        use_all(&w, "one");
        assert_work(&w, 0, 0);
    }
    /* Another key inside: the pack of another module. */
    use_all(&w, "other");
    write_whole(path, good, size);
    char command[500];
    snprintf(command, sizeof command, "for f in %s/*; do cp %s $f; done 2>/dev/null; true", w.path, path);
    assert_int_equal(system(command), 0);
    use_all(&w, "other");
    use_all(&w, "one");
    destroy(&w);
}

/* Writes the folder's pack anew, with right checksums, and with `bytes` as item `index`. */
static void replace_item(const char *path, uint32_t index, const void *bytes, size_t size)
{
    static uint8_t old[4000];
    struct tn__pack pack;
    struct tn__pack_item items[PARTS + 1];
    struct tn_buffer made = {0};
    size_t length = read_whole(path, old, sizeof old);
    assert_true(tn__pack_read(old, length, old + 8, &pack));
    assert_int_equal(pack.count, COUNT(items));
    for (uint32_t i = 0; i < pack.count; i++)
        items[i] = tn__pack_item(&pack, i);
    items[index].bytes = bytes;
    items[index].size = size;
    items[index].digest = NULL;
    assert_true(tn__pack_write(old + 8, items, pack.count, &made));
    write_whole(path, made.data, made.size);
    tn_buffer_free(&made);
}

/* Checksums are right, what they are of is not: the description makes no sense, or is that of another module. */
static void bad_descriptions(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    char path[200];
    struct tn_buffer other = {0};
    void *module;
    use_all(&w, "one");
    pack_path(&w, path);
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {{"", 0}, {"nonsense, and long enough to be one", 35}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        replace_item(path, 0, rows[i].bytes, rows[i].size);
        w.toy = (struct toy){0};
        use_all(&w, "one");
        assert_work(&w, 1, PARTS);
        assert_int_equal(stats_of(&w).damaged, i + 1);
        use_all(&w, "one");
        assert_work(&w, 1, PARTS);
    }
    /* What another module's description names was promised; the next run has the right one. */
    close_cache(&w);
    open_cache(&w, 0, false, false);
    assert_int_equal(open_ir(&w, "two", &defaults, 1, &module, &other, NULL), 0);
    w.cache->close(module);
    replace_item(path, 0, other.data, other.size);
    replace_item(path, 3, "", 0);
    assert_non_null(use(&w, "one", 0, 1));
    struct tn_buffer bytes = {0};
    struct tn_error err;
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {.size = sizeof request, .part = 9, .name = "m(f)", .stats = &stats};
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, &err), 0);
    tn_buffer_free(&bytes);
    assert_int_equal(w.cache->compile(module, &request, &bytes, &err), TN_EFORMAT);
    assert_non_null(strstr(err.text, "another module"));
    w.cache->close(module);
    assert_int_equal(stats_of(&w).damaged, 1);
    assert_null(use(&w, "one", 0, 2));
    tn_buffer_free(&other);
    destroy(&w);
}

/* What was found and is of no use is compiled anew, and kept in its place. */
static void anew(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_buffer bytes = {0};
    char path[200];
    void *module;
    use_all(&w, "one");
    pack_path(&w, path);
    replace_item(path, 3, "of no use", 9);
    close_cache(&w);
    open_cache(&w, 0, false, false);
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, NULL), 0);
    tn_buffer_free(&bytes);
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_part_request request = {.size = sizeof request, .part = 2, .name = "m(f)", .stats = &stats};
    for (request.anew = 0; request.anew < 2; request.anew++) {
        assert_int_equal(w.cache->compile(module, &request, &bytes, NULL), 0);
        assert_int_equal(is_text(&bytes, "one", 2), request.anew);
        tn_buffer_free(&bytes);
    }
    struct tn_cache_stats counted = stats_of(&w);
    assert_int_equal(counted.objects, 1);
    assert_int_equal(counted.found_objects, 0);
    assert_int_equal(counted.damaged, 1);
    w.cache->close(module);
    w.toy = (struct toy){0};
    use_all(&w, "one");
    assert_work(&w, 0, 0);
    destroy(&w);
}

/* An object that was lent outlives the module and the cache. */
static void lent(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    use_all(&w, "one");
    struct tn_buffer bytes = {0};
    void *module;
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, NULL), 0);
    tn_buffer_free(&bytes);
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_input kept = {.size = sizeof kept};
    const struct tn_part_request request = {
        .size = sizeof request, .part = 1, .name = "m(f)", .stats = &stats, .kept = &kept};
    assert_int_equal(w.cache->compile(module, &request, &bytes, NULL), 0);
    assert_null(bytes.data);
    w.cache->close(module);
    destroy(&w);
    assert_true(is_text(&(struct tn_buffer){(void *)(uintptr_t)kept.bytes, kept.length}, "one", 1));
    kept.release(kept.context, kept.bytes, kept.length);
}

static void links_and_strange_files(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    char path[200], away[220], text[20];
    use_all(&w, "one");
    pack_path(&w, path);
    snprintf(away, sizeof away, "%s.away", path);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(symlink(away, path), 0);
    w.toy = (struct toy){0};
    use_all(&w, "one"); /* the link is not followed, but replaced */
    assert_work(&w, 1, PARTS);
    assert_int_equal(readlink(path, text, sizeof text), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    use_all(&w, "one");
    destroy(&w);
}

/* ---- folders ---- */

static void folders_that_others_may_write(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_store *store;
    struct tn_error err;
    char link[80];
    snprintf(link, sizeof link, "%s.link", w.path);
    assert_int_equal(symlink(w.path, link), 0);
    struct tn_folder_options options = {.size = sizeof options, .path = link};
    assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EPERM);
    assert_int_equal(unlink(link), 0);
    options.path = w.path;
    static const struct {
        mode_t mode;
        int code;
    } rows[] = {{0700, 0}, {0755, 0}, {0720, TN_EPERM}, {0702, TN_EPERM}, {01777, TN_EPERM}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (options.read_only = 0; options.read_only < 2; options.read_only++) {
            assert_int_equal(chmod(w.path, rows[i].mode), 0);
            assert_int_equal(tn_store_open_folder(&options, &store, &err), rows[i].code);
            tn_store_close_folder(store);
        }
    if (geteuid() == 0) { /* another's folder */
        assert_int_equal(chmod(w.path, 0700), 0);
        assert_int_equal(chown(w.path, 12345, 12345), 0);
        assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EPERM);
    }
    options.path = "/nonexistent/folder";
    assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EIO);
    options.path = NULL;
    assert_int_equal(tn_store_open_folder(&options, &store, &err), TN_EINVAL);
    destroy(&w);
}

static void oldest_are_removed(void **state)
{
    (void)state;
    enum { MODULES = 40, LIMIT = 10000 };
    struct world w;
    create(&w);
    uint64_t files, removed;
    close_cache(&w);
    open_cache(&w, LIMIT, false, false);
    use_all(&w, "first");
    char path[200], command[400];
    pack_path(&w, path);
    snprintf(command, sizeof command, "touch -d '3 hours ago' %s", path);
    for (int i = 0; i < MODULES; i++) {
        char ir[20];
        snprintf(ir, sizeof ir, "module %02d", i);
        assert_int_equal(system(command) & 0, 0);
        use_all(&w, ir);
        if (i == 3) { /* was used a moment ago, so it stays longer */
            w.toy = (struct toy){0};
            use_all(&w, "first");
            assert_work(&w, 0, 0);
            struct stat st;
            assert_int_equal(stat(path, &st), 0);
            assert_true(time(NULL) - st.st_mtime < 60);
            snprintf(command, sizeof command, "true");
        }
    }
    uint64_t bytes = bytes_in(w.store, &files);
    assert_true(bytes <= LIMIT && bytes > LIMIT / 2 && files < MODULES && files > 3);
    assert_int_equal(tn_store_prune(w.store, 3000, &removed, NULL), 0);
    assert_true(removed > 0 && bytes_in(w.store, &files) <= 3000);
    destroy(&w);
}

/* Such a file is not read, and a pack takes its place. */
static void larger_than_the_limit(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    close_cache(&w);
    open_cache(&w, 10000, false, false);
    use_all(&w, "one");
    char path[200];
    pack_path(&w, path);
    assert_int_equal(truncate(path, INT64_C(1) << 40), 0);
    w.toy = (struct toy){0};
    use_all(&w, "one");
    assert_work(&w, 1, PARTS);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 10000);
    destroy(&w);
}

/* The clock was set back: what is used has the time of now, not one that keeps it for ever. */
static void times_to_come(void **state)
{
    (void)state;
    struct world w;
    struct stat st;
    char path[200], command[400];
    create(&w);
    use_all(&w, "first");
    pack_path(&w, path);
    snprintf(command, sizeof command, "touch -d '3 hours' %s", path);
    assert_int_equal(system(command), 0);
    use_all(&w, "first");
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mtime - time(NULL) < 60);
    destroy(&w);
}

/* ---- faults ---- */

static void requests_refused(void **state)
{
    (void)state;
    static const char words[] = "FPNI";
    for (size_t word = 0; word < COUNT(words) - 1; word++)
        for (int at = 0; at < 12; at++) {
            struct world w;
            create(&w);
            char plan[60];
            for (int i = 0; i < at; i++)
                memcpy(plan + 2 * i, ". ", 2);
            plan[2 * at] = words[word];
            plan[2 * at + 1] = 0;
            assert_int_equal(tn__os_set_faults(plan), 0);
            const char *wrong = use(&w, "one", 0, PARTS);
            tn__os_set_faults(NULL);
            assert_null(wrong);
            use_all(&w, "one");
            use_all(&w, "one");
            uint64_t files;
            bytes_in(w.store, &files);
            assert_int_equal(files, 1);
            destroy(&w);
        }
}

static void half_writes(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    assert_int_equal(tn__os_set_faults("s*"), 0);
    use_all(&w, "one");
    tn__os_set_faults(NULL);
    w.toy = (struct toy){0};
    use_all(&w, "one");
    assert_work(&w, 0, 0);
    destroy(&w);
}

static void out_of_memory(void **state)
{
    (void)state;
    for (int at = 1; at < 60; at++) {
        struct world w;
        create(&w);
        char plan[20];
        snprintf(plan, sizeof plan, "a%d", at);
        assert_int_equal(tn__os_set_faults(plan), 0);
        use(&w, "one", 0, PARTS);
        use(&w, "one", 0, PARTS);
        tn__os_set_faults(NULL);
        use_all(&w, "one");
        destroy(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_everywhere),
        cmocka_unit_test(bad_descriptions),
        cmocka_unit_test(anew),
        cmocka_unit_test(lent),
        cmocka_unit_test(links_and_strange_files),
        cmocka_unit_test(folders_that_others_may_write),
        cmocka_unit_test(oldest_are_removed),
        cmocka_unit_test(larger_than_the_limit),
        cmocka_unit_test(times_to_come),
        cmocka_unit_test(requests_refused),
        cmocka_unit_test(half_writes),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
