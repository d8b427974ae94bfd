/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM in workers of a compile server: the same objects as in this process, and damaged bitcode. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/base.h"
#include "tenon_codegen.h"

static const char text[] = "@counter = global i32 7\n"
                           "@name = private constant [3 x i8] c\"ab\\00\"\n"
                           "declare i32 @puts(ptr)\n"
                           "define internal i32 @twice(i32 %a) {\n"
                           "  %r = add i32 %a, %a\n"
                           "  ret i32 %r\n"
                           "}\n"
                           "define i32 @f(i32 %a) {\n"
                           "  %t = call i32 @twice(i32 %a)\n"
                           "  %c = load i32, ptr @counter\n"
                           "  %s = mul i32 %t, %c\n"
                           "  ret i32 %s\n"
                           "}\n"
                           "define i32 @g() {\n"
                           "  %r = call i32 @puts(ptr @name)\n"
                           "  %s = call i32 @f(i32 %r)\n"
                           "  ret i32 %s\n"
                           "}\n";
static const char small[] = "define i32 @h(i32 %a) {\n  %r = add i32 %a, 1\n  ret i32 %r\n}\n";

static struct tn_compiler *server;

static int start(void **state)
{
    struct tn_error err;
    const struct tn_compile_server_options options = {
        .size = sizeof options, .serve = tn_compile_serve, .deadline_ms = 60000, .workers = 2};
    (void)state;
    if (tn_compile_server_start(&options, &server, &err))
        return fprintf(stderr, "%s\n", err.text), -1;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tn_compile_server_stop(server);
    return 0;
}

/* ---- the same as in process ---- */

/* Compiles all parts, one behind the other. */
static void compile_all(const struct tn_compiler *compiler, const struct tn_ir *ir, int level,
                        struct tn_buffer *objects, uint32_t *parts)
{
    const struct tn_compile_observer observer = {.size = sizeof observer};
    const struct tn_compile_options options = {.size = sizeof options, .opt_level = level, .observer = &observer};
    const struct tn_module_description *description;
    struct tn_error err = {0};
    void *module;
    if (compiler->open(compiler->context, ir, &options, &module, &description, &err))
        fail_msg("%s", err.text);
    *parts = description->parts;
    for (uint32_t part = 0; part < *parts; part++) {
        struct tn_compile_stats stats = {.size = sizeof stats};
        const struct tn_part_request request = {.size = sizeof request,
                                                .part = part,
                                                .name = "part",
                                                .observer = &observer,
                                                .stats = &stats,
                                                .opt_level = level};
        objects[part] = (struct tn_buffer){0};
        if (compiler->compile(module, &request, &objects[part], &err))
            fail_msg("%s", err.text);
        assert_true(!part || stats.functions);
    }
    compiler->close(module);
}

static void same_objects(void **state)
{
    (void)state;
    enum { PARTS = 8, LEVELS = 4 };
    static const unsigned char digest[32] = {1, 2, 3};
    for (int whole = 0; whole < 2; whole++)
        for (int level = 0; level < LEVELS; level++) {
            const struct tn_ir ir = {.size = sizeof ir,
                                     .name = "m",
                                     .bytes = text,
                                     .length = sizeof text - 1,
                                     .whole = whole,
                                     .digest = digest};
            struct tn_buffer here[PARTS], there[PARTS];
            uint32_t parts, others;
            compile_all(tn_codegen_compiler(), &ir, level, here, &parts);
            compile_all(server, &ir, level, there, &others);
            assert_int_equal(parts, others);
            assert_true(whole ? parts == 1 : parts > 2);
            for (uint32_t i = 0; i < parts; i++) {
                assert_int_equal(here[i].size, there[i].size);
                assert_memory_equal(here[i].data, there[i].data, here[i].size);
                tn_buffer_free(&here[i]);
                tn_buffer_free(&there[i]);
            }
        }
}

static void the_same_identity(void **state)
{
    (void)state;
    struct tn_buffer here = {0}, there = {0};
    const struct tn_compiler *llvm = tn_codegen_compiler();
    assert_int_equal(llvm->identify(llvm->context, &here, NULL), 0);
    assert_int_equal(server->identify(server->context, &there, NULL), 0);
    assert_int_equal(here.size, there.size);
    assert_memory_equal(here.data, there.data, here.size);
    tn_buffer_free(&here);
    tn_buffer_free(&there);
}

static void all_kinds_of_output(void **state)
{
    (void)state;
    for (int emit = TN_EMIT_OBJECT; emit <= TN_EMIT_BITCODE; emit++) {
        const struct tn_compile_options options = {.size = sizeof options, .opt_level = 1, .emit = (enum tn_emit)emit};
        struct tn_buffer here, there;
        struct tn_compile_stats stats = {.size = sizeof stats};
        struct tn_error err;
        assert_int_equal(tn_compile("m.ll", text, sizeof text - 1, &options, &here, NULL, &err), 0);
        if (tn_compile_server_compile(server, "m.ll", text, sizeof text - 1, &options, &there, &stats, &err))
            fail_msg("%s", err.text);
        assert_int_equal(here.size, there.size);
        assert_memory_equal(here.data, there.data, here.size);
        assert_int_equal(stats.functions, 3);
        tn_buffer_free(&here);
        tn_buffer_free(&there);
    }
}

static void diagnostics_come_back(void **state)
{
    (void)state;
    static const char wrong[] = "define i32 @f() {\n  ret i64 0\n}\n";
    struct tn_buffer out;
    struct tn_error here, there;
    assert_int_equal(tn_compile("m.ll", wrong, sizeof wrong - 1, NULL, &out, NULL, &here), TN_ECOMPILE);
    assert_int_equal(tn_compile_server_compile(server, "m.ll", wrong, sizeof wrong - 1, NULL, &out, NULL, &there),
                     TN_ECOMPILE);
    assert_string_equal(here.text, there.text);
}

/* ---- damaged bitcode ---- */

static struct tn_buffer read_file(const char *path)
{
    struct tn_buffer bytes = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    bytes.size = (size_t)ftell(file);
    rewind(file);
    bytes.data = malloc(bytes.size);
    assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
    fclose(file);
    return bytes;
}

/* Each is an error or an object; this process is still there. */
static void damaged_bitcode(void **state)
{
    (void)state;
    enum { FEW = 300, MANY = 2000 };
    const char *wish = getenv("WHOLE");
    const int turns = wish && *wish == '1' ? MANY : FEW;
    const struct tn_compile_options options = {.size = sizeof options, .opt_level = 1};
    struct tn_buffer good = read_file(DAMAGED), out;
    struct tn_error err;
    unsigned seed = 1, failed = 0;
    for (int i = 0; i < turns; i++) {
        unsigned char *bytes = malloc(good.size);
        memcpy(bytes, good.data, good.size);
        for (int flips = rand_r(&seed) % 3; flips >= 0; flips--)
            bytes[(size_t)rand_r(&seed) % good.size] ^= (unsigned char)(1 << rand_r(&seed) % 8);
        int code = tn_compile_server_compile(server, "m.bc", bytes, good.size, &options, &out, NULL, &err);
        assert_true(!code || code == TN_ECOMPILE || code == TN_EFATAL || code == TN_EINVAL || code == TN_ENOMEM);
        failed += code != 0;
        tn_buffer_free(&out);
        free(bytes);
    }
    assert_true(failed > (unsigned)turns / 4);
    struct tn_compile_server_stats stats = {.size = sizeof stats};
    tn_compile_server_stats(server, &stats);
    print_message("%d damaged modules: %u were refused, %llu workers crashed\n", turns, failed,
                  (unsigned long long)stats.crashed);
    assert_int_equal(tn_compile_server_compile(server, "m.bc", good.data, good.size, &options, &out, NULL, &err), 0);
    tn_buffer_free(&out);
    free(good.data);
    assert_true(turns == FEW || stats.crashed > 1);
}

/* ---- JITs ---- */

static void a_jit_uses_it(void **state)
{
    (void)state;
    const struct tn_jit_options options = {.size = sizeof options, .compiler = server};
    const struct tn_jit_module module = {.size = sizeof module, .name = "m", .ir = small, .length = sizeof small - 1};
    struct tn_jit *jit;
    struct tn_error err;
    void *address;
    assert_int_equal(tn_jit_create(&options, &jit, &err), 0);
    if (tn_jit_add_module(jit, NULL, &module, &err) || tn_lookup(tn_jit_library(jit), "h", &address, &err))
        fail_msg("%s", err.text);
    assert_int_equal(((int (*)(int))address)(41), 42);
    tn_jit_destroy(jit);
}

/* ---- time ---- */

/* The median, and *least. */
static uint64_t median_ns(const struct tn_compiler *compiler, uint64_t *least)
{
    enum { TURNS = 41 };
    static const unsigned char digest[32];
    uint64_t times[TURNS];
    for (int i = 0; i < TURNS; i++) {
        const struct tn_ir ir = {
            .size = sizeof ir, .name = "m", .bytes = small, .length = sizeof small - 1, .whole = 1, .digest = digest};
        struct tn_buffer object[1];
        struct timespec begin, end;
        uint32_t parts;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        compile_all(compiler, &ir, 2, object, &parts);
        clock_gettime(CLOCK_MONOTONIC, &end);
        tn_buffer_free(object);
        uint64_t ns =
            (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (uint64_t)end.tv_nsec - (uint64_t)begin.tv_nsec;
        int at = i;
        for (; at > 0 && times[at - 1] > ns; at--)
            times[at] = times[at - 1];
        times[at] = ns;
    }
    *least = times[0];
    return times[TURNS / 2];
}

static void how_long_it_takes(void **state)
{
    (void)state;
    uint64_t least_here, least_there;
    uint64_t here = median_ns(tn_codegen_compiler(), &least_here), there = median_ns(server, &least_there);
    print_message("one function: %.3f ms in process, %.3f ms by the server; at least %.3f and %.3f\n",
                  (double)here / 1e6, (double)there / 1e6, (double)least_here / 1e6, (double)least_there / 1e6);
    assert_true(least_there < least_here * 3 + 5000000); /* the figure is measured without other load */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_objects),        cmocka_unit_test(the_same_identity),
        cmocka_unit_test(all_kinds_of_output), cmocka_unit_test(diagnostics_come_back),
        cmocka_unit_test(damaged_bitcode),     cmocka_unit_test(a_jit_uses_it),
        cmocka_unit_test(how_long_it_takes),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
