/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* As tests/link/session/faults.c, with real libraries: each allocation of a link of many objects fails once, and the
 * same session links them when it is asked again. */

#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/os.h"

enum { MOST_ALLOCATIONS = 200000 };

struct row {
    const char *name, *symbol;
};

static const struct row rows[] = {
    {"liblua5.4.a", "lua_newstate"},
    {"libsqlite3.a", "sqlite3_libversion_number"},
    {"libstdc++.a", "_ZNSt8ios_base4InitC1Ev"},
};

/* Where the compiler finds it; false if it is not installed. */
static bool find_archive(const char *name, char path[4096])
{
    char command[256];
    snprintf(command, sizeof command, "${CC:-gcc} -print-file-name=%s", name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    bool found = fgets(path, 4096, pipe) && strchr(path, '/');
    pclose(pipe);
    path[strcspn(path, "\n")] = '\0';
    return found;
}

static int add_and_link(const struct fixture *f, const struct bytes *archive, const struct row *row, bool *added,
                        struct tn_error *err)
{
    const struct tn_input input = {
        .size = sizeof input, .name = row->name, .bytes = archive->at, .length = archive->size};
    int code = *added ? 0 : tn_add_archive(f->library, &input, err);
    void *address;
    if (!code)
        *added = true;
    return code ? code : tn_lookup(f->library, row->symbol, &address, err);
}

/* True if allocation number `n` was made, so that it failed. */
static bool fails_at(int n, const struct bytes *archive, const struct row *row)
{
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f), after;
    struct tn_error err;
    char plan[16];
    bool added = false;
    snprintf(plan, sizeof plan, "a%d", n);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = add_and_link(&f, archive, row, &added, &err);
    tn__os_set_faults(NULL);
    if (code) {
        assert_error(code, TN_ENOMEM, &err, "memory");
        after = stats_of(&f);
        assert_same_memory(&before, &after);
        assert_ok(add_and_link(&f, archive, row, &added, &err), &err);
    }
    close_fixture(&f);
    return code != 0;
}

static void each_allocation_fails(void **state)
{
    const struct row *row = *state;
    char path[4096];
    if (!find_archive(row->name, path))
        skip();
    struct bytes archive = read_bytes(path);
    int n = 1;
    while (n < MOST_ALLOCATIONS && fails_at(n, &archive, row))
        n++;
    assert_in_range(n, 20, MOST_ALLOCATIONS - 1);
    free(archive.at);
}

int main(void)
{
    if (!dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL))
        return 1;
    return RUN_ROWS("each allocation fails", rows, each_allocation_fails);
}
