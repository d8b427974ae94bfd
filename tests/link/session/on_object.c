/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects that the client sees before they are linked, and replaces or refuses. */

#include <stdlib.h>

#include "base/os.h"
#include "functions.h"
#include "support.h"

enum answer { KEEP, REPLACE, SHORTEN, REFUSE, REFUSE_SILENTLY, ODD_CODE, NO_BYTES, SPOIL };

static struct {
    enum answer answer;
    int seen, given_back, released;
    size_t length; /* of the last one */
    char name[64];
} client;

static void give_back(void *context, const void *bytes, size_t length)
{
    assert_ptr_equal(context, &client);
    assert_true(length);
    client.given_back++;
    free((void *)(uintptr_t)bytes);
}

static void release(void *context, const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    assert_null(context);
    client.released++;
}

static int on_object(void *context, struct tn_input *object, struct tn_error *err)
{
    assert_ptr_equal(context, &client);
    assert_null((void *)(uintptr_t)object->release);
    client.seen++;
    client.length = object->length;
    snprintf(client.name, sizeof client.name, "%s", object->name);
    switch (client.answer) {
    case KEEP:
        return 0;
    case REPLACE:
    case SPOIL: {
        struct bytes other = function_object("f", 2, NULL);
        if (client.answer == SPOIL)
            memset(other.at, 0, other.size);
        object->bytes = other.at;
        object->length = other.size;
        object->release = give_back;
        object->context = context;
        return 0;
    }
    case SHORTEN:
        object->length = 16;
        return 0;
    case NO_BYTES:
        object->bytes = NULL;
        return 0;
    case REFUSE:
        snprintf(err->text, sizeof err->text, "not signed");
        return TN_EPERM;
    case REFUSE_SILENTLY:
        return TN_EPERM;
    case ODD_CODE:
        return 1;
    }
    return 0;
}

static struct fixture open_client(enum answer answer)
{
    const struct tn_session_options options = {.size = sizeof options, .on_object = on_object, .context = &client};
    memset(&client, 0, sizeof client);
    client.answer = answer;
    return open_fixture(&options);
}

static const struct row {
    const char *name;
    enum answer answer;
    int code;
    const char *text; /* NULL: it is linked, */
    int value;        /* and returns this */
    int given_back;
} rows[] = {
    {"kept", KEEP, 0, NULL, 1, 0},
    {"replaced", REPLACE, 0, NULL, 2, 1},
    {"replaced by something else", SPOIL, TN_EFORMAT, "f.o", 0, 1},
    {"shortened", SHORTEN, TN_EFORMAT, "f.o", 0, 0},
    {"refused", REFUSE, TN_EPERM, "f.o: not signed", 0, 0},
    {"refused without a text", REFUSE_SILENTLY, TN_EPERM, "f.o: refused", 0, 0},
    {"refused with an impossible code", ODD_CODE, TN_EINVAL, "f.o", 0, 0},
    {"replaced by nothing", NO_BYTES, TN_EINVAL, "no bytes", 0, 0},
};

static void check(struct fixture *f, const struct row *row, int code, const struct tn_error *err)
{
    assert_int_equal(client.seen, 1);
    assert_int_equal(client.given_back, row->given_back);
    assert_string_equal(client.name, "f.o");
    if (row->text)
        assert_error(code, row->code, err, row->text);
    else
        assert_int_equal(call(f, "f"), row->value);
    assert_int_equal(client.released, row->text ? 0 : 1); /* what was not added is still the caller's */
}

static struct tn_input input_f(const struct bytes object)
{
    return (struct tn_input){
        .size = sizeof(struct tn_input), .name = "f.o", .bytes = object.at, .length = object.size, .release = release};
}

static void added(void **state)
{
    const struct row *row = *state;
    struct tn_error err;
    struct fixture f = open_client(row->answer);
    struct bytes object = function_object("f", 1, NULL);
    const struct tn_input input = input_f(object);
    int code = tn_add_object(f.library, &input, &err);
    assert_int_equal(client.length, object.size);
    check(&f, row, code, &err);
    close_fixture(&f);
    free(object.at);
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    return tn_responsibility_add_object(responsibility, context, err);
}

static void staged(void **state)
{
    const struct row *row = *state;
    struct tn_error err;
    struct fixture f = open_client(row->answer);
    struct bytes object = function_object("f", 1, NULL);
    struct tn_input input = input_f(object);
    void *address;
    const struct tn_materializer m = {.size = sizeof m,
                                      .name = "m",
                                      .symbols = &(const struct tn_promised){.name = "f"},
                                      .count = 1,
                                      .materialize = make,
                                      .context = &input};
    assert_ok(tn_add_materializer(f.library, &m, &err), &err);
    int code = tn_lookup(f.library, "f", &address, &err);
    check(&f, row, code, &err);
    close_fixture(&f);
    free(object.at);
}

/* Members of archives when they are loaded, and none before. */
static void members(void **state)
{
    (void)state;
    static const struct {
        enum answer answer;
        int code;
    } cases[] = {{KEEP, 0}, {REFUSE, TN_EPERM}, {ODD_CODE, TN_EINVAL}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tn_error err;
        void *address;
        struct fixture f = open_client(KEEP);
        add_file(&f, "matrix_a.o");
        add_file(&f, "matrix_b.a");
        assert_int_equal(client.seen, 1);
        client.answer = cases[i].answer;
        int code = tn_lookup(f.library, "run", &address, &err);
        if (code != cases[i].code)
            fail_msg("%s", err.text);
        assert_true(client.seen > 1);
        if (cases[i].answer == REFUSE)
            assert_error(err.code, TN_EPERM, &err, "matrix_b", "not signed");
        close_fixture(&f);
    }
}

/* The copy and the object: each allocation fails, and all bytes are given back. */
static void without_memory(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_client(REPLACE);
    struct bytes object = function_object("f", 1, NULL);
    const struct tn_input input = input_f(object);
    int failures = 0, code = TN_ENOMEM;
    for (char plan[16]; code; failures += code != 0) {
        snprintf(plan, sizeof plan, "a%d", failures + 1);
        tn__os_set_faults(plan);
        code = tn_add_object(f.library, &input, &err);
        tn__os_set_faults(NULL);
        assert_true(!code || code == TN_ENOMEM);
    }
    assert_true(failures > 2);
    assert_int_equal(client.given_back, client.seen);
    assert_int_equal(client.released, 0);
    assert_int_equal(call(&f, "f"), 2);
    assert_int_equal(client.released, 1);
    close_fixture(&f);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(members), cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests_name("link/on_object", tests, NULL, NULL) +
           RUN_ROWS("link/on_object added", rows, added) + RUN_ROWS("link/on_object staged", rows, staged);
}
