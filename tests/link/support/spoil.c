/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "spoil.h"

#include <stdlib.h>

#include "link/file/detached.h"

const struct tn_format *const *spoil_formats;

enum { PER_SESSION = 256 };

/* Uses a new library for each object and a new session from time to time, because libraries live as long as their
 * session. */
struct run {
    enum spoil where;
    struct tn_session *session;
    struct tn__detached elsewhere;
    struct bytes kept[PER_SESSION]; /* objects that are not linked yet still borrow them */
    unsigned uses, linked, refused;
};

struct bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *, struct bases *); /* from libgcc */

static void end_session(struct run *run)
{
    tn_session_destroy(run->session);
    run->session = NULL;
    for (size_t i = 0; i < PER_SESSION; i++)
        free(run->kept[i].at);
    memset(run->kept, 0, sizeof run->kept);
}

static void *anything(void *unused, const char *name)
{
    (void)unused;
    return (void *)(uintptr_t)(0x20000000U + strlen(name) * 16);
}

static struct fixture begin(struct run *run)
{
    struct fixture f;
    struct tn_error err;
    if (run->uses++ % PER_SESSION == 0) {
        end_session(run);
        run->elsewhere = (struct tn__detached){.address = 0x10000000, .size = 64 << 20, .page_size = 4096};
        const struct tn_session_options options = {.size = sizeof options, .formats = spoil_formats};
        int code = run->where == SPOIL_HERE
                       ? tn_session_create(&options, &run->session, &err)
                       : tn__session_create_detached(&options, &run->elsewhere, &run->session, &err);
        assert_ok(code, &err);
    }
    f.session = run->session;
    assert_int_equal(tn_library_create(f.session, "spoiled", &f.library, &err), 0);
    assert_int_equal(tn_add_resolver(f.library, run->where == SPOIL_HERE ? tn_resolve_dlsym : anything, NULL, &err), 0);
    if (run->where == SPOIL_ELSEWHERE) /* resolvers are not asked for matrix_a's hidden reference */
        assert_int_equal(tn_define(f.library, "hidden_b", anything(NULL, "hidden_b"), &err), 0);
    return f;
}

static void try_object(struct run *run, const uint8_t *bytes, size_t size)
{
    struct tn_error err = {.text = ""};
    struct fixture f = begin(run);
    struct tn_stats before = stats_of(&f), after;
    uint8_t *copy = memcpy(malloc(size ? size : 1), bytes, size);
    run->kept[run->uses % PER_SESSION] = (struct bytes){copy, size};
    int code = try_add_bytes(&f, "spoiled.o", copy, size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    if (!code) {
        run->linked++;
        _Unwind_Find_FDE(copy, &(struct bases){0}); /* reads all unwind data registered since the last call */
        return;
    }
    run->refused++;
    after = stats_of(&f);
    if (code != err.code || !err.text[0] || strncmp(tn_error_name(code), "TN_E", 4) != 0)
        fail_msg("code %d, text %s", code, err.text);
    assert_same_memory(&before, &after);
    if (run->where == SPOIL_HERE && run->refused % 64 == 0)
        check_still_works(&f);
}

static void end(struct run *run, struct bytes object)
{
    check_maps();
    end_session(run);
    free(object.at);
}

void spoil_prefixes(struct bytes object, enum spoil where)
{
    struct run run = {.where = where};
    for (size_t size = 0; size <= object.size; size++)
        try_object(&run, object.at, size);
    assert_int_equal(run.linked, 1);
    end(&run, object);
}

void spoil_bytes(struct bytes object, enum spoil where)
{
    struct run run = {.where = where};
    for (size_t at = 0; at < object.size; at++) {
        uint8_t saved = object.at[at];
        for (int bit = 0; bit < 8; bit++) {
            object.at[at] = (uint8_t)(saved ^ 1 << bit);
            try_object(&run, object.at, object.size);
        }
        const uint8_t values[] = {0, 0xff, (uint8_t)(saved + 1), (uint8_t)(saved - 1)};
        for (size_t i = 0; i < COUNT(values); i++) {
            object.at[at] = values[i];
            if (values[i] != saved)
                try_object(&run, object.at, object.size);
        }
        object.at[at] = saved;
    }
    assert_true(run.linked > 100 && run.refused > 1000);
    end(&run, object);
}
