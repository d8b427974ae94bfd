/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of an image that lead to a JIT's stubs: what leads these (doc/REDIRECT.md) leads the image's calls. */

#include "support.h"
#include "tenon.h"
#include "tenon_image.h"

static struct tn_error err;

#define DO(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != 0)                                                                                               \
            fail_msg("%s: %s", #call, err.text);                                                                       \
    } while (0)

/* Without the option, the call would be inlined. */
static const char code[] = "define i64 @first() {\n  ret i64 1\n}\n"
                           "define i64 @calls() {\n"
                           "  %r = call i64 @first()\n"
                           "  %t = mul i64 %r, 10\n"
                           "  ret i64 %t\n"
                           "}\n";

struct world {
    struct tn_jit *jit;
    struct tn_library *library, *versions;
    struct tn_image *image;
    struct tn_tracker *stubs;
};

static long on_failure(void)
{
    return -1;
}

static void open_image(struct world *w)
{
    static const char *const names[] = {"first"};
    struct tn_image_input input = {"code.ll", code, sizeof code - 1};
    struct tn_image_options options = {
        .size = sizeof options, .opt_level = 2, .replaceable = names, .replaceable_count = 1};
    struct tn_image_link_options how = {.size = sizeof how, .kind = TN_IMAGE_LOADABLE};
    struct tn_buffer out[TN_IMAGE_OUTPUTS], file;
    DO(tn_image_build(&input, 1, &options, out, NULL, &err));
    struct tn_input archive = {.size = sizeof archive, .name = "image", .bytes = out[0].data, .length = out[0].size};
    DO(tn_image_link(&archive, 1, &how, &file, &err));
    DO(tn_image_open_memory("image", file.data, file.size, NULL, &w->image, &err));
    tn_buffer_free(&out[0]);
    tn_buffer_free(&file);
}

static void *version_of_first(const struct world *w)
{
    struct tn_image_function function = {.size = sizeof function};
    for (size_t i = 0; i < tn_image_function_count(w->image); i++) {
        DO(tn_image_function(w->image, i, &function, &err));
        if (strcmp(function.name, "first") == 0)
            return function.version;
    }
    fail();
    return NULL;
}

/* A lazy function of the JIT's library, whose target is the image's version; the image's calls lead there. */
static void lead_to_stub(struct world *w)
{
    struct tn_lazy_symbol symbol = {.name = "first"};
    struct tn_stub_options options = {
        .size = sizeof options, .owner = w->stubs, .on_failure = (void (*)(void))on_failure};
    void *stub;
    DO(tn_define_lazy(w->library, &symbol, 1, w->versions, &options, &err));
    DO(tn_lookup(w->library, "first", &stub, &err));
    DO(tn_image_redirect(w->image, "first", stub, &err));
}

static int begin(void **state)
{
    static struct world world;
    static const struct tn_compile_options compile = {DEFAULTS, .opt_level = 1};
    struct tn_jit_options options = {
        .size = sizeof options, .compile = &compile, .on_failure = (void (*)(void))on_failure};
    struct world *w = *state = &world;
    open_image(w);
    DO(tn_jit_create(&options, &w->jit, &err));
    w->library = tn_jit_library(w->jit);
    DO(tn_library_create(tn_jit_session(w->jit), "versions", &w->versions, &err));
    DO(tn_define(w->versions, "first", version_of_first(w), &err));
    DO(tn_tracker_create(w->library, &w->stubs, &err));
    lead_to_stub(w);
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    tn_tracker_destroy(w->stubs);
    tn_image_close(w->image);
    tn_jit_destroy(w->jit);
    return 0;
}

static long call(const struct world *w)
{
    return ((long (*)(void))tn_image_lookup(w->image, "calls"))();
}

static int replace(const struct world *w, const char *result, struct tn_assumption *rests_on)
{
    char text[100];
    snprintf(text, sizeof text, "define i64 @first() {\n  ret i64 %s\n}\n", result);
    struct tn_jit_module module = {.size = sizeof module,
                                   .name = "version",
                                   .ir = text,
                                   .length = strlen(text),
                                   .assumptions = &rests_on,
                                   .assumption_count = rests_on != NULL};
    return tn_jit_replace(w->jit, w->library, &module, &err);
}

static long own(void)
{
    return 5;
}

static struct tn_assumption *assume(const struct world *w)
{
    struct tn_assumption *assumption;
    DO(tn_assumption_create(tn_jit_session(w->jit), &assumption, &err));
    return assumption;
}

/* Versions that rest on assumptions lie on the image's, and on each other. */
static void versions_and_assumptions(void **state)
{
    struct world *w = *state;
    struct tn_assumption *low = assume(w), *high = assume(w);
    assert_int_equal(call(w), 10);
    DO(replace(w, "2", low));
    assert_int_equal(call(w), 20);
    DO(replace(w, "3", high));
    assert_int_equal(call(w), 30);
    DO(tn_assumption_break(high, &err));
    assert_int_equal(call(w), 20);
    DO(tn_assumption_break(low, &err));
    assert_int_equal(call(w), 10);
    assert_int_equal(replace(w, "4", low), TN_ECANCELLED);
    assert_int_equal(replace(w, "4", NULL), TN_EDUP); /* as over any lazy function */
    assert_int_equal(call(w), 10);
    tn_assumption_destroy(low);
    tn_assumption_destroy(high);
}

/* What the client says is above all that. */
static void the_clients_claim(void **state)
{
    struct world *w = *state;
    struct tn_assumption *assumption = assume(w);
    DO(tn_redirect(w->library, "first", (const void *)own, &err));
    assert_int_equal(call(w), 50);
    DO(replace(w, "2", assumption));
    assert_int_equal(call(w), 50);
    DO(tn_redirect(w->library, "first", NULL, &err));
    assert_int_equal(call(w), 20);
    DO(tn_assumption_break(assumption, &err));
    assert_int_equal(call(w), 10);
    tn_assumption_destroy(assumption);
}

/* A stub that is to be removed leads no image any more. */
static void withdrawal(void **state)
{
    struct world *w = *state;
    DO(tn_image_redirect(w->image, "first", NULL, &err));
    DO(tn_tracker_retire(w->stubs, &err));
    assert_int_equal(call(w), 10);
    lead_to_stub(w);
    assert_int_equal(call(w), 10);
    DO(tn_redirect(w->library, "first", (const void *)own, &err));
    assert_int_equal(call(w), 50);
}

/* Code instances have the entry, so what leads the function leads them. */
static void instances(void **state)
{
    static const struct tn_instance_entries entries = {NULL, NULL};
    struct world *w = *state;
    struct tn_instance instance;
    struct tn_image_instance row = {.instance = &instance, .name = "first"};
    tn_instance_init(&instance, &entries);
    DO(tn_image_publish(w->image, &row, 1, NULL, &err));
    long (*invoke)(void) = (long (*)(void))tn_instance_read(&instance, 1).invoke;
    assert_int_equal(invoke(), 1);
    DO(tn_redirect(w->library, "first", (const void *)own, &err));
    assert_int_equal(invoke(), 5);
    DO(tn_image_redirect(w->image, "first", NULL, &err));
    assert_int_equal(invoke(), 1);
    tn_instance_finish(&instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(versions_and_assumptions, begin, end),
        cmocka_unit_test_setup_teardown(the_clients_claim, begin, end),
        cmocka_unit_test_setup_teardown(withdrawal, begin, end),
        cmocka_unit_test_setup_teardown(instances, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
