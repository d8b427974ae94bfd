/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Option structs of callers compiled with another version of tenon.h, bad arguments, and versions. */

#include <stdlib.h>

#include "elf_builder.h"
#include "support.h"

/* What callers lack that were compiled before allocators were options, or before inputs had owners. */
enum {
    BEFORE_ALLOCATORS = sizeof(struct tn_session_options) - offsetof(struct tn_session_options, allocator),
    BEFORE_OWNERS = sizeof(struct tn_input) - offsetof(struct tn_input, owner),
};

static const struct known_sizes {
    bool older;
    size_t less, more; /* than this version's size */
    int code;
} sizes[] = {
    {false, 0, 0, 0},          {false, 0, 16, 0}, /* a newer caller that requests nothing new */
    {false, 0, 15, TN_EINVAL}, {false, 1, 0, TN_EINVAL}, {true, 0, 0, 0},
};

/* The caller's memory: this version's struct, followed by zeros. */
struct newer_session {
    struct tn_session_options options;
    uint64_t more[2];
};

static void sessions(void **state)
{
    (void)state;
    static const struct tn_allocator not_called = {0};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct newer_session given = {.options.size = sizeof given.options - sizes[i].less + sizes[i].more};
        if (sizes[i].older) {
            given.options.size -= BEFORE_ALLOCATORS;
            given.options.allocator = &not_called;
        }
        struct tn_session *session = NULL;
        struct tn_error err;
        assert_int_equal(tn_session_create(&given.options, &session, &err), sizes[i].code);
        tn_session_destroy(session);
    }
    struct newer_session given = {.options.size = sizeof given, .more = {0, 1}};
    struct tn_session *session;
    struct tn_error err;
    assert_error(tn_session_create(&given.options, &session, &err), TN_EINVAL, &err, "struct tn_session_options",
                 "not zero");
}

static void unknown_flags(void **state)
{
    (void)state;
    struct tn_session_options given = {.size = sizeof given, .flags = TN_SESSION_TIMINGS};
    struct tn_session *session;
    struct tn_error err;
    assert_ok(tn_session_create(&given, &session, &err), &err);
    tn_session_destroy(session);
    given.flags = UINT64_C(1) << 63;
    assert_error(tn_session_create(&given, &session, &err), TN_EINVAL, &err, "flags", "0x8000000000000000");
}

struct newer_input {
    struct tn_input input;
    uint64_t more[2];
};

static void inputs(void **state)
{
    (void)state;
    uint8_t code[ANSWER_SIZE];
    put_answer(code, 42);
    struct elf elf = {0};
    elf_function(&elf, "answer", elf_code(&elf, code, sizeof code), 0);
    struct bytes object = elf_finish(&elf);
    struct tn_error err;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct fixture f = open_fixture(NULL);
        struct newer_input given = {.input = {.name = "in.o", .bytes = object.at, .length = object.size}};
        given.input.size = sizeof given.input - sizes[i].less + sizes[i].more - (sizes[i].older ? BEFORE_OWNERS : 0);
        assert_int_equal(tn_add_object(f.library, &given.input, &err), sizes[i].code);
        if (!sizes[i].code)
            assert_int_equal(call(&f, "answer"), 42);
        close_fixture(&f);
    }
    struct fixture f = open_fixture(NULL);
    struct newer_input given = {.input = {sizeof given, "in.o", object.at, object.size, NULL, NULL}, .more = {0, 1}};
    assert_error(tn_add_object(f.library, &given.input, &err), TN_EINVAL, &err, "struct tn_input", "not zero");
    given.input.size = offsetof(struct tn_input, bytes); /* so old that it has no bytes, which are required */
    assert_error(tn_add_object(f.library, &given.input, &err), TN_EFORMAT, &err, "in.o");
    given.input.size = sizeof(size_t);
    assert_error(tn_add_archive(f.library, &given.input, &err), TN_EINVAL, &err, "needs a name");
    close_fixture(&f);
    free(object.at);
}

/* Two objects define `answer`: the strong definition wins in either order, and hidden ones are not found. */
static void input_flags(void **state)
{
    (void)state;
    uint8_t code[2][ANSWER_SIZE];
    put_answer(code[0], 1);
    put_answer(code[1], 2);
    static const uint64_t flags[][2] = {
        {0, TN_INPUT_WEAK}, {TN_INPUT_WEAK, 0}, {TN_INPUT_WEAK, TN_INPUT_WEAK}, {TN_INPUT_HIDDEN, TN_INPUT_WEAK}};
    static const int answers[] = {1, 2, 1, 0};
    struct tn_error err;
    void *address;
    for (size_t i = 0; i < COUNT(flags); i++) {
        struct fixture f = open_fixture(NULL);
        struct bytes objects[2];
        for (size_t k = 0; k < 2; k++) {
            static struct elf elf;
            memset(&elf, 0, sizeof elf);
            elf_function(&elf, "answer", elf_code(&elf, code[k], sizeof code[k]), 0);
            objects[k] = elf_finish(&elf);
            const struct tn_input input = {.size = sizeof input,
                                           .name = "in.o",
                                           .bytes = objects[k].at,
                                           .length = objects[k].size,
                                           .flags = flags[i][k]};
            assert_ok(tn_add_object(f.library, &input, &err), &err);
        }
        if (answers[i])
            assert_int_equal(call(&f, "answer"), answers[i]);
        else
            assert_error(tn_lookup(f.library, "answer", &address, &err), TN_EUNDEF, &err, "'answer' is hidden");
        const struct tn_input unknown = {
            .size = sizeof unknown, .name = "in.o", .bytes = objects[0].at, .length = objects[0].size, .flags = 8};
        assert_error(tn_add_object(f.library, &unknown, &err), TN_EINVAL, &err, "in.o", "flags 0x8");
        close_fixture(&f);
        free(objects[0].at), free(objects[1].at);
    }
}

static void statistics(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct {
        struct tn_stats stats;
        uint64_t more;
    } out = {.stats.size = sizeof out, .more = 77};
    tn_session_stats(f.session, &out.stats);
    assert_int_equal(out.stats.size, sizeof out.stats);
    assert_int_equal(out.more, 0);
    out.stats = (struct tn_stats){.size = offsetof(struct tn_stats, objects), .objects = 77};
    tn_session_stats(f.session, &out.stats);
    assert_int_equal(out.stats.size, offsetof(struct tn_stats, objects));
    assert_non_null(out.stats.strategy);
    assert_int_equal(out.stats.objects, 77);
    close_fixture(&f);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    struct tn_input input = {.size = sizeof input, .name = "x.o", .bytes = "", .length = 0};
    const struct tn_session_options wrong = {.size = sizeof wrong - 1};
    struct tn_session *session;
    assert_error(tn_session_create(&wrong, &session, &err), TN_EINVAL, &err, "tn_session_options");
    assert_error(tn_session_create(NULL, NULL, &err), TN_EINVAL, &err, "session");
    assert_error(tn_library_create(NULL, "x", &f.library, &err), TN_EINVAL, &err, "session");
    assert_error(tn_add_object(f.library, NULL, &err), TN_EINVAL, &err, "input");
    assert_error(tn_add_object(NULL, &input, &err), TN_EINVAL, &err, "library");
    input.size--;
    assert_error(tn_add_object(f.library, &input, &err), TN_EINVAL, &err, "tn_input");
    input = (struct tn_input){.size = sizeof input, .name = "x.o", .bytes = NULL, .length = 1};
    assert_error(tn_add_object(f.library, &input, &err), TN_EINVAL, &err, "bytes");
    assert_error(tn_add_file(f.library, NULL, &err), TN_EINVAL, &err, "path");
    assert_error(tn_lookup(f.library, NULL, &address, &err), TN_EINVAL, &err, "name");
    assert_error(tn_link(NULL, &err), TN_EINVAL, &err, "library");
    assert_error(tn_add_resolver(f.library, NULL, NULL, &err), TN_EINVAL, &err, "resolver");
    assert_int_equal(tn_link(NULL, NULL), TN_EINVAL);
    tn_session_destroy(NULL);
    close_fixture(&f);
}

static void version(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH);
    assert_string_equal(tn_version(), text);
    assert_string_equal(tn_version(), TN_VERSION_STRING);
    assert_true(TN_RUNTIME_ABI >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions),    cmocka_unit_test(unknown_flags), cmocka_unit_test(inputs),
        cmocka_unit_test(input_flags), cmocka_unit_test(statistics),    cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
