/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program that has a JIT and uses images: it builds them of what it has added, and what it finds in one it does
 * not compile. With --workload it is that program, for `tenon build --workload`. */

#include <unistd.h>

#include "support.h"
#include "tenon_cpu.h"
#include "tenon_image.h"

/* ---- the program ---- */

static const char rules[] = "define i64 @triangle(i64 %n) {\n"
                            "entry:\n"
                            "  br label %again\n"
                            "again:\n"
                            "  %i = phi i64 [ 0, %entry ], [ %next, %again ]\n"
                            "  %sum = phi i64 [ 0, %entry ], [ %more, %again ]\n"
                            "  %next = add i64 %i, 1\n"
                            "  %more = add i64 %sum, %next\n"
                            "  %done = icmp eq i64 %next, %n\n"
                            "  br i1 %done, label %end, label %again\n"
                            "end:\n"
                            "  ret i64 %more\n"
                            "}\n"
                            "define i64 @twice(i64 %n) noinline {\n"
                            "  %r = shl i64 %n, 1\n"
                            "  ret i64 %r\n"
                            "}\n"
                            "define i64 @seven(i64 %n) {\n"
                            "  ret i64 7\n"
                            "}\n";
static const char caller[] = "declare i64 @triangle(i64)\n"
                             "declare i64 @twice(i64)\n"
                             "define i64 @both(i64 %n) {\n"
                             "  %t = call i64 @triangle(i64 %n)\n"
                             "  %r = call i64 @twice(i64 %t)\n"
                             "  ret i64 %r\n"
                             "}\n";

static struct {
    struct tn_jit *jit;
    struct tn_image *image; /* NULL: there is none */
    FILE *trace;
    int compiled;
} host;

static void note_compiled(void *context, const struct tn_compiled *function)
{
    (void)context;
    host.compiled++;
    if (host.trace)
        fprintf(host.trace, "precompile(\"%s\")\n", function->name);
}

static long not_compiled(void)
{
    return -1;
}

static const struct tn_compile_observer observer = {.size = sizeof observer, .compiled = note_compiled};
static const struct tn_compile_options compile_options = {DEFAULTS, .opt_level = 1, .observer = &observer};

static struct tn_jit *create(int keep_ir)
{
    struct tn_jit_options options = {.size = sizeof options,
                                     .compile = &compile_options,
                                     .lazy = 1,
                                     .on_failure = (void (*)(void))not_compiled,
                                     .keep_ir = keep_ir};
    struct tn_jit *jit;
    assert_int_equal(tn_jit_create(&options, &jit, NULL), 0);
    return jit;
}

static void add(struct tn_jit *jit, const char *name, const char *ir, struct tn_tracker *owner)
{
    struct tn_jit_module module = {.size = sizeof module, .name = name, .ir = ir, .length = strlen(ir), .owner = owner};
    struct tn_error err;
    if (tn_jit_add_module(jit, NULL, &module, &err))
        fail_msg("%s", err.text);
}

/* From the image if it is there, else compiled. */
static long call(const char *name, long n)
{
    void *address = host.image ? tn_image_lookup(host.image, name) : NULL;
    struct tn_error err;
    if (!address && tn_jit_lookup(host.jit, name, &address, &err))
        fail_msg("%s", err.text);
    return ((long (*)(long))address)(n);
}

static void open_image(const char *path)
{
    struct tn_error err;
    if (tn_image_open(path, NULL, &host.image, &err))
        fail_msg("%s", err.text);
}

/* Prints what each function makes of 10, then how many were compiled. */
static int run_workload(const char *image, char **names)
{
    const char *trace = getenv("TENON_TRACE_COMPILE");
    host.trace = trace ? fopen(trace, "a") : NULL;
    host.jit = create(0);
    add(host.jit, "rules", rules, NULL);
    add(host.jit, "caller", caller, NULL);
    if (strcmp(image, "-") != 0)
        open_image(image);
    for (; *names; names++)
        printf("%s %ld, ", *names, call(*names, 10));
    printf("%d compiled", host.compiled);
    tn_image_close(host.image);
    tn_jit_destroy(host.jit);
    return host.trace && fclose(host.trace) != 0;
}

/* ---- tests of it ---- */

static char folder[] = "/tmp/tenon-image-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Runs a command of the shell in the folder; what it prints is the answer. */
static const char *shell(const char *format, ...)
{
    static char said[2000];
    char command[1000];
    size_t length = (size_t)snprintf(command, sizeof command, "cd %s && { ", folder);
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(command + length, sizeof command - length, format, arguments);
    va_end(arguments);
    snprintf(command + length, sizeof command - length, "; } 2>&1");
    FILE *output = popen(command, "r");
    assert_non_null(output);
    said[fread(said, 1, sizeof said - 1, output)] = '\0';
    if (pclose(output) != 0)
        fail_msg("%s: %s", command, said);
    return said;
}

static const char *cc(void)
{
    const char *name = getenv("CC");
    return name ? name : "cc";
}

static void link_image(const char *name)
{
    shell("%s -shared -Wl,--whole-archive %s.a -Wl,--no-whole-archive -o %s.so", cc(), name, name);
}

static const char targets[] = "x86-64;x86-64-v3";

static void images_of_a_jit(void **state)
{
    static const char *const roots[] = {"both"};
    struct tn_buffer out[TN_IMAGE_OUTPUTS], of_files[TN_IMAGE_OUTPUTS];
    struct tn_image_options options = {
        .size = sizeof options, .targets = targets, .roots = roots, .root_count = 1, .opt_level = 1};
    struct tn_image_stats stats = {.size = sizeof stats};
    struct tn_error err;
    (void)state;
    host.compiled = 0;
    host.jit = create(1);
    add(host.jit, "rules", rules, NULL);
    assert_int_equal(call("twice", 4), 8); /* what was compiled before makes no difference */
    assert_int_equal(host.compiled, 1);
    add(host.jit, "caller", caller, NULL);
    if (tn_jit_build_image(host.jit, NULL, &options, out, &stats, &err))
        fail_msg("%s", err.text);
    assert_int_equal(stats.slots, 1); /* of what loops */
    const struct tn_image_input inputs[] = {{"rules", rules, strlen(rules)}, {"caller", caller, strlen(caller)}};
    assert_int_equal(tn_image_build(inputs, 2, &options, of_files, NULL, NULL), 0);
    assert_int_equal(out->size, of_files->size);
    assert_memory_equal(out->data, of_files->data, out->size);

    write_file("live.a", out->data, out->size);
    link_image("live");
    char path[200];
    snprintf(path, sizeof path, "%s/live.so", folder);
    open_image(path);
    assert_int_equal(call("both", 10), 110);
    assert_null(tn_image_lookup(host.image, "seven"));
    assert_int_equal(host.compiled, 1);
    assert_int_equal(call("seven", 0), 7);
    assert_int_equal(host.compiled, 2);
    tn_image_close(host.image);
    host.image = NULL;
    tn_jit_destroy(host.jit);
    tn_buffer_free(out);
    tn_buffer_free(of_files);
}

/* In a language's prompt a function is defined again and again. */
static void newest_definition_counts(void **state)
{
    static const char *const answers[] = {"define i64 @answer() {\n  ret i64 41\n}\n",
                                          "define i64 @answer() {\n  ret i64 42\n}\n"};
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_image_options options = {.size = sizeof options, .outputs = 1 << TN_IMAGE_ASSEMBLY};
    struct tn_jit *jit = create(1);
    struct tn_tracker *tracker;
    (void)state;
    assert_int_equal(tn_tracker_create(tn_jit_library(jit), &tracker, NULL), 0);
    add(jit, "first", answers[0], tracker);
    assert_int_equal(tn_tracker_remove(tracker, NULL), 0);
    tn_tracker_destroy(tracker);
    add(jit, "second", answers[1], NULL);
    assert_int_equal(tn_jit_build_image(jit, NULL, &options, out, NULL, NULL), 0);
    assert_non_null(memmem(out[TN_IMAGE_ASSEMBLY].data, out[TN_IMAGE_ASSEMBLY].size, "$42", 3));
    assert_null(memmem(out[TN_IMAGE_ASSEMBLY].data, out[TN_IMAGE_ASSEMBLY].size, "$41", 3));
    tn_buffer_free(&out[TN_IMAGE_ASSEMBLY]);
    tn_jit_destroy(jit);
}

/* "native" means what it means to the JIT. */
static void images_for_the_cpu_of_the_jit(void **state)
{
    static const char ir[] = "declare i1 @julia.cpu.have_fma.f64()\n"
                             "define i64 @ask() {\n"
                             "  %yes = call i1 @julia.cpu.have_fma.f64()\n"
                             "  %answer = select i1 %yes, i64 77, i64 78\n"
                             "  ret i64 %answer\n}\n";
    (void)state;
    for (int with_fma = 0; with_fma < 2; with_fma++) {
        struct tn_cpu cpu = cpu_named(with_fma ? "x86-64-v3" : "x86-64-v2");
        struct tn_compile_options compile = {X86, .native = &cpu};
        struct tn_buffer out[TN_IMAGE_OUTPUTS];
        struct tn_image_options options = {
            .size = sizeof options, .targets = "native", .outputs = 1 << TN_IMAGE_ASSEMBLY};
        struct tn_jit_options jit_options = {.size = sizeof jit_options, .compile = &compile, .keep_ir = 1};
        struct tn_jit *jit;
        assert_int_equal(tn_jit_create(&jit_options, &jit, NULL), 0);
        add(jit, "ask", ir, NULL);
        assert_int_equal(tn_jit_build_image(jit, NULL, &options, out, NULL, NULL), 0);
        const struct tn_buffer *text = &out[TN_IMAGE_ASSEMBLY];
        assert_non_null(memmem(text->data, text->size, with_fma ? "$77" : "$78", 3));
        tn_buffer_free(&out[TN_IMAGE_ASSEMBLY]);
        tn_jit_destroy(jit);
    }
}

static void what_is_refused(void **state)
{
    static const char *const roots[] = {"nobody"};
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_image_options options = {.size = sizeof options, .roots = roots, .root_count = 1};
    struct tn_error err;
    (void)state;
    struct tn_jit *jit = create(0);
    add(jit, "rules", rules, NULL);
    assert_int_equal(tn_jit_build_image(jit, NULL, &options, out, NULL, &err), TN_EINVAL);
    assert_contains(err.text, "without keep_ir");
    tn_jit_destroy(jit);
    jit = create(1);
    assert_int_equal(tn_jit_build_image(jit, NULL, &options, out, NULL, &err), TN_EINVAL);
    assert_contains(err.text, "no module was added");
    add(jit, "rules", rules, NULL);
    assert_int_equal(tn_jit_build_image(jit, NULL, &options, out, NULL, &err), TN_EUNDEF);
    assert_contains(err.text, "'nobody'");
    assert_null(out->data);
    tn_jit_destroy(jit);
}

/* Traced in a process of its own, built into an image, and run again on that. */
static void same_workload_compiles_nothing(void **state)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* they build no command */
    skip();
#endif
    char self[500], tenon[500];
    const char *build = getenv("BUILD");
    (void)state;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    assert_non_null(realpath(build ? build : "build", tenon));
    strcat(tenon, "/tenon");
    write_file("rules.ll", rules, strlen(rules));
    write_file("caller.ll", caller, strlen(caller));

    assert_string_equal(shell("%s --workload - both twice", self), "both 110, twice 20, 3 compiled");
    assert_string_equal(
        shell("%s build --targets '%s' --workload '%s --workload - both twice' -o work.a rules.ll caller.ll", tenon,
              targets, self),
        "both 110, twice 20, 3 compiled");
    link_image("work");
    assert_string_equal(shell("%s --workload ./work.so both twice", self), "both 110, twice 20, 0 compiled");
    assert_string_equal(shell("%s --workload ./work.so both triangle", self), "both 110, triangle 55, 0 compiled");
    assert_string_equal(shell("%s --workload ./work.so both seven", self), "both 110, seven 7, 1 compiled");
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--workload") == 0)
        return run_workload(argv[2], argv + 3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_of_a_jit),
        cmocka_unit_test(newest_definition_counts),
        cmocka_unit_test(images_for_the_cpu_of_the_jit),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(same_workload_compiles_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
