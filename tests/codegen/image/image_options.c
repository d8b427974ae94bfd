/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_build: what its options may say, to the last good value and the first bad one. */

#include "support.h"

static const char ir[] = "target triple = \"x86_64-linux-gnu\"\n"
                         "define i32 @f() {\n  ret i32 1\n}\n"
                         "define internal i32 @local() {\n  ret i32 2\n}\n";
static const struct tn_image_input input = {"image.ll", ir, sizeof ir - 1};

static char targets_64[64 * 7], targets_65[65 * 7], name_200[201], name_201[202];

static void repeat(char *text, const char *word, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text += sprintf(text, "%s", word);
    if (text[-1] == ';')
        text[-1] = 0;
}

static int build(const struct tn_image_options *options, size_t count, struct tn_error *err)
{
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    int code = tn_image_build(&input, count, options, out, NULL, err);
    for (int i = 0; i < TN_IMAGE_OUTPUTS; i++) {
        uint64_t outputs = options->outputs ? options->outputs : 1;
        assert_int_equal(out[i].size != 0, !code && (outputs >> i & 1));
        tn_buffer_free(&out[i]);
    }
    return code;
}

static void are_checked(void **state)
{
#define OPTIONS(...)                                                                                                   \
    {                                                                                                                  \
        .size = sizeof(struct tn_image_options), __VA_ARGS__                                                           \
    }
    static const char *const unknown[] = {"f", "nobody"}, *const local[] = {"local"};
    static const struct {
        struct tn_image_options options;
        const char *error; /* NULL: it is good */
    } rows[] = {
        {OPTIONS(.name = NULL), NULL},
        {OPTIONS(.targets = ""), NULL},
        {OPTIONS(.targets = targets_64), NULL},
        {OPTIONS(.targets = targets_65), "65 targets; an image has at most 64"},
        {OPTIONS(.targets = "x86-64;"), "target string, column 8"},
        {OPTIONS(.targets = "vax"), "target 'vax': there is no such CPU"},
        {OPTIONS(.targets = "x86-64,+teleport"), "target 'x86-64': unknown feature '+teleport'"},
        {OPTIONS(.targets = "x86-64,-teleport"), "target 'x86-64': unknown feature '-teleport'"},
        {OPTIONS(.targets = "x86-64,+prefer-256-bit"), NULL},
        {OPTIONS(.targets = "neoverse-n1"), "target 'neoverse-n1': there is no such CPU"},
        {OPTIONS(.targets = "help"), "'help' asks for names"},
        {OPTIONS(.targets = "sysimage"), "there is no image"},
        {OPTIONS(.targets = "sysimage;haswell", .image_targets = "x86-64"), NULL},
        {OPTIONS(.targets = "sysimage", .image_targets = "x86-64,"), "target string of the image, column 8"},
        {OPTIONS(.opt_level = 3), NULL},
        {OPTIONS(.opt_level = 4), "opt_level is 4"},
        {OPTIONS(.opt_level = -1), "opt_level is -1"},
        {OPTIONS(.outputs = (1 << TN_IMAGE_OUTPUTS) - 1), NULL},
        {OPTIONS(.outputs = 1 << TN_IMAGE_OUTPUTS), "outputs has bits"},
        {OPTIONS(.shards = 1024), NULL},
        {OPTIONS(.shards = 1025), "1025 shards; an image has at most 1024"},
        {OPTIONS(.name = "_9"), NULL},
        {OPTIONS(.name = name_200), NULL},
        {OPTIONS(.name = name_201), "is no name for an image"},
        {OPTIONS(.name = ""), "'' is no name for an image"},
        {OPTIONS(.name = "9_"), "'9_' is no name for an image"},
        {OPTIONS(.name = "a.b"), "'a.b' is no name for an image"},
        {OPTIONS(.name = "local"), NULL},
        {OPTIONS(.name = "f"), "the image cannot be called 'f'"},
        {OPTIONS(.roots = unknown, .root_count = 1), NULL},
        {OPTIONS(.roots = unknown, .root_count = 2), "root 'nobody' is not defined, or not public"},
        {OPTIONS(.roots = local, .root_count = 1), "root 'local' is not defined, or not public"},
        {{.size = 0}, "struct tn_image_options"},
    };
    (void)state;
    repeat(targets_64, "k8;", 64);
    repeat(targets_65, "k8;", 65);
    repeat(name_200, "n", 200);
    repeat(name_201, "n", 201);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tn_error err = {.text = ""};
        int code = build(&rows[i].options, 1, &err);
        if (!rows[i].error != !code || (code && !strstr(err.text, rows[i].error)))
            fail_msg("row %zu: %s: '%s', not '%s'", i, tn_error_name(code), err.text,
                     rows[i].error ? rows[i].error : "");
    }
}

static void without_input(void **state)
{
    struct tn_error err;
    (void)state;
    assert_int_equal(build(&(struct tn_image_options){.size = sizeof(struct tn_image_options)}, 0, &err), TN_EINVAL);
    assert_contains(err.text, "no input");
}

/* ---- roots that are not there ---- */

struct asked {
    int answer;
    size_t count, index;
    int is_local;
};

static int ask(void *context, size_t index, int is_local)
{
    struct asked *asked = context;
    asked->count++;
    asked->index = index;
    asked->is_local = is_local;
    return asked->answer;
}

static void unknown_roots(void **state)
{
    static const char *const roots[] = {"f", "local", "nobody"};
    struct asked asked = {.answer = 0};
    struct tn_image_options options = {
        .size = sizeof options, .roots = roots, .root_count = 3, .unknown_root = ask, .context = &asked};
    struct tn_error err;
    (void)state;
    assert_int_equal(build(&options, 1, &err), 0);
    assert_int_equal(asked.count, 2);
    assert_int_equal(asked.index, 2);
    assert_false(asked.is_local);
    asked.answer = 1;
    assert_int_equal(build(&options, 1, &err), TN_EUNDEF);
    assert_int_equal(asked.index, 1);
    assert_true(asked.is_local);
    options.roots = roots + 1;
    options.root_count = 2;
    asked.answer = 0;
    assert_int_equal(build(&options, 1, &err), TN_EUNDEF);
    assert_contains(err.text, "none of the 2 roots");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_checked),
        cmocka_unit_test(without_input),
        cmocka_unit_test(unknown_roots),
    };
    return cmocka_run_group_tests_name("image_options", tests, NULL, NULL);
}
