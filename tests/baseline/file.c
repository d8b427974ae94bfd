/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Flat files: what was written is read again; mutants are refused, or compiled; each allocation fails once; threads
 * compile one module. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline/file/file.h"
#include "faults.h"
#include "module.h"

static struct tn_buffer built; /* of module.h */

/* ---- round trips ---- */

static void test_written_again(void **state)
{
    struct tn__flat_file file;
    struct tn__flat_writer w = {0};
    struct tn__flat flat = {0};
    struct tn_buffer again;
    struct tn_error err;
    (void)state;
    check(tn__flat_read(built.data, built.size, &file, &err), &err);
    for (uint32_t i = 0; i < file.function_count; i++) {
        check(tn__flat_read_function(&file, i, &flat, &err), &err);
        tn__flat_write_function(&w, file.functions[i].symbol, &flat);
    }
    const struct tn__flat_pointer *pointers = file.pointers;
    for (uint32_t i = 0; i < file.data_count; pointers += file.data[i++].pointer_count)
        tn__flat_write_data(&w, &file.data[i], pointers);
    for (uint32_t i = 0; i < file.symbol_count; i++)
        tn__flat_write_symbol(&w, &file.symbols[i]);
    check(tn__flat_write_end(&w, &again, &err), &err);
    struct tn__flat_file second;
    struct tn_buffer texts[2];
    check(tn__flat_read(again.data, again.size, &second, &err), &err);
    check(tn__flat_text(&file, &texts[0], &err), &err);
    check(tn__flat_text(&second, &texts[1], &err), &err);
    assert_int_equal(again.size, built.size);
    assert_int_equal(texts[0].size, texts[1].size);
    assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
    for (int i = 0; i < 2; i++)
        tn_buffer_free(&texts[i]);
    tn_buffer_free(&again);
    tn__flat_writer_free(&w);
    tn__flat_free(&flat);
    tn__flat_file_free(&file);
    tn__flat_file_free(&second);
}

/* ---- compiling ---- */

static const struct tn_compile_observer nothing = {.size = sizeof nothing};
static const unsigned char digest[32] = "a digest of more than some bytes";

/* Opens a module; closed by the caller if the result is 0. */
static int open_module(const void *bytes, size_t size, bool whole, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    const struct tn_compiler *compiler = tn_baseline_compiler();
    const struct tn_compile_options options = {.size = sizeof options};
    const struct tn_ir ir = {.size = sizeof ir,
                             .name = "module",
                             .bytes = bytes,
                             .length = size,
                             .whole = whole,
                             .digest = digest,
                             .stays = size % 2};
    return compiler->open(compiler->context, &ir, &options, module, description, err);
}

static int compile_part(void *module, uint32_t part, struct tn_buffer *object, struct tn_error *err)
{
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {
        .size = sizeof request, .part = part, .name = "part", .observer = &nothing, .stats = &stats};
    *object = (struct tn_buffer){0};
    return tn_baseline_compiler()->compile(module, &request, object, err);
}

/* Compiles all parts, or the whole. */
static int compile_all(const void *bytes, size_t size, bool whole, struct tn_error *err)
{
    const struct tn_module_description *description;
    void *module;
    int code = open_module(bytes, size, whole, &module, &description, err);
    if (code)
        return code;
    uint32_t parts = description->parts;
    for (uint32_t part = 0; !code && part < parts; part++) {
        struct tn_buffer object;
        code = compile_part(module, part, &object, err);
        tn_buffer_free(&object);
    }
    tn_baseline_compiler()->close(module);
    return code;
}

/* ---- wrong bytes ---- */

/* Whether the file is refused; otherwise all of it was compiled, and shown. */
static bool is_refused(const void *bytes, size_t size)
{
    struct tn_error err;
    int code = compile_all(bytes, size, true, &err), in_parts = compile_all(bytes, size, false, &err);
    if ((code && code != TN_EFORMAT && code != TN_ENOTSUP) || (!code && in_parts))
        fail_msg("%d, %d: %s", code, in_parts, err.text);
    if (!code) {
        struct tn__flat_file file;
        struct tn_buffer text;
        check(tn__flat_read(bytes, size, &file, &err), &err);
        check(tn__flat_text(&file, &text, &err), &err);
        tn_buffer_free(&text);
        tn__flat_file_free(&file);
    }
    return code;
}

static void test_mutants(void **state)
{
    unsigned refused = 0, accepted = 0;
    uint8_t *bytes = malloc(built.size);
    (void)state;
    memcpy(bytes, built.data, built.size);
    for (size_t at = 0; at < built.size; at++) {
        static const uint8_t changes[] = {1, 2, 16, 128, 255};
        for (size_t i = 0; i < sizeof changes; i++) {
            bytes[at] ^= changes[i];
            bool is = is_refused(bytes, built.size);
            refused += is;
            accepted += !is;
            bytes[at] ^= changes[i];
        }
    }
    free(bytes);
    print_message("%u mutants refused, %u compiled\n", refused, accepted);
    assert_true(refused > 2000 && accepted > 500);
}

static void test_truncated(void **state)
{
    (void)state;
    for (size_t size = 0; size < built.size; size++) {
        void *bytes = malloc(size ? size : 1);
        memcpy(bytes, built.data, size);
        assert_true(is_refused(bytes, size));
        free(bytes);
    }
    assert_false(is_refused(built.data, built.size));
}

/* Rules of the tables: a word of the header, or of a row, that breaks one. */
enum { HEADER, OPERATIONS, SYMBOLS, FUNCTIONS, DATA, POINTERS };
enum { ROW_0 = 0xfffffffe, SYMBOL = 0xfffffffd }; /* as value: what row 0 has there, or that of the symbols */

static const struct {
    size_t table, row, word;
    uint32_t value;
    const char *said;
} wrong[] = {
    {HEADER, 0, 0, 0x32666e54, "does not begin as one"},
    {HEADER, 0, 1, 0xffffffff, "ends after the file"},
    {HEADER, 0, 8, 0, "bytes follow its tables"},
    {OPERATIONS, 0, 0, 0xffff, "an operation has no name"},
    {OPERATIONS, 0, 0, 1, "an operation has no name"}, /* a name without its first letter */
    {OPERATIONS, 0, 0, SYMBOL, "is unknown"},
    {SYMBOLS, 0, 0, 0xffff, "a symbol has no name"},
    {SYMBOLS, 0, 0, 1, "a symbol has no name"}, /* likewise */
    {SYMBOLS, 0, 1, 3, "a symbol is of no kind"},
    {SYMBOLS, 0, 1, 0x400, "a symbol is of no kind"},
    {SYMBOLS, 0, 1, 0x20000, "a symbol is of no kind"},
    {SYMBOLS, 1, 0, ROW_0, "two symbols have one name"},
    {FUNCTIONS, 0, 0, 0xffff, "no such symbol"},
    {FUNCTIONS, 1, 0, ROW_0, "defined twice"},
    {FUNCTIONS, 0, 1, 4, "lies elsewhere"},
    {FUNCTIONS, 0, 3, 0xffffffff, "lies elsewhere"},
    {FUNCTIONS, 0, 10, 2, "a function is of no kind"},
    {DATA, 0, 0, 0xffff, "no such symbol"},
    {DATA, 0, 1, 2, "a variable is of no kind"},
    {DATA, 0, 1, 17 << 8, "a variable is of no kind"},
    {DATA, 0, 3, 1, "a variable is of no kind"}, /* of more than 4 GB */
    {DATA, 0, 2, 0x7fffffff, "too large"},
    {DATA, 0, 2, 1 << 20, "not all of its bytes"},
    {DATA, 0, 4, 5, "not all of its bytes"}, /* more than its size */
    {DATA, 1, 5, 2, "ends after the file"},
    {POINTERS, 0, 0, 1, "lies outside of its variable"},
    {POINTERS, 0, 1, 0xffff, "lies outside of its variable, or has no symbol"},
};

/* Where a row begins. */
static size_t place_of(size_t table, size_t row)
{
    static const size_t words[] = {0, 1, 2, 11, 6, 4};
    size_t at = table == HEADER ? 0 : 4 * TN__FLAT_FILE_WORDS;
    for (size_t i = OPERATIONS; i < table; i++)
        at += tn__get32((const uint8_t *)built.data + 4 * i) * words[i] * 4;
    return at + row * words[table] * 4;
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(wrong); i++) {
        struct tn__flat_file file;
        struct tn_error err;
        uint8_t *bytes = malloc(built.size);
        memcpy(bytes, built.data, built.size);
        size_t word = 4 * wrong[i].word, first = place_of(wrong[i].table, 0) + word;
        tn__put32(bytes + place_of(wrong[i].table, wrong[i].row) + word,
                  wrong[i].value == ROW_0    ? tn__get32(bytes + first)
                  : wrong[i].value == SYMBOL ? tn__get32(bytes + place_of(SYMBOLS, 0))
                                             : wrong[i].value);
        int code = tn__flat_read(bytes, built.size, &file, &err);
        tn__flat_file_free(&file);
        free(bytes);
        if (!code || !strstr(err.text, wrong[i].said))
            fail_msg("case %zu: %d, %s", i, code, err.text);
    }
}

/* Writes the functions f and g, which have personalities. */
static void write_personalities(uint32_t first, uint32_t second, struct tn_buffer *out)
{
    static const char *const names[] = {"f", "g", "p", "q"};
    struct tn__flat_inst end = {.op = TN__FLAT_RETURN};
    struct tn__flat_block block = {0, 1, 0, 0};
    struct tn__flat_address addresses[] = {{0, 0}, {first, 0}};
    const struct tn__flat flat = {.insts = &end,
                                  .inst_count = 1,
                                  .blocks = &block,
                                  .block_count = 1,
                                  .addresses = addresses,
                                  .address_count = TN_COUNT(addresses),
                                  .symbols = TN_COUNT(names),
                                  .personality = TN__FLAT_SYMBOL | 1};
    struct tn__flat_writer w = {0};
    struct tn_error err;
    tn__flat_write_function(&w, 0, &flat);
    addresses[1].symbol = second;
    tn__flat_write_function(&w, 1, &flat);
    for (uint32_t i = 0; i < TN_COUNT(names); i++)
        tn__flat_write_symbol(&w, &(struct tn__flat_symbol){names[i], TN__FLAT_GLOBAL, 0, 0});
    check(tn__flat_write_end(&w, out, &err), &err);
    tn__flat_writer_free(&w);
}

static void test_personalities(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++)
        for (uint32_t second = 2; second < 5; second++) {
            static const int codes[] = {0, TN_ENOTSUP, TN_EFORMAT};
            struct tn_buffer bytes;
            struct tn_error err;
            write_personalities(2, second, &bytes);
            assert_int_equal(compile_all(bytes.data, bytes.size, whole, &err), codes[second - 2]);
            tn_buffer_free(&bytes);
        }
}

/* ---- no memory ---- */

static int build_again(struct tn_error *err)
{
    struct tn_buffer flat = {0};
    int code = build_module(&flat, err);
    tn_buffer_free(&flat);
    return code;
}

static int compile_whole(struct tn_error *err)
{
    return compile_all(built.data, built.size, true, err);
}

static int compile_parts(struct tn_error *err)
{
    return compile_all(built.data, built.size, false, err);
}

static int show(struct tn_error *err)
{
    struct tn__flat_file file;
    struct tn_buffer text = {0};
    int code = tn__flat_read(built.data, built.size, &file, err);
    if (!code)
        code = tn__flat_text(&file, &text, err);
    tn_buffer_free(&text);
    tn__flat_file_free(&file);
    return code;
}

static int identify(struct tn_error *err)
{
    struct tn_buffer text = {0};
    int code = tn_baseline_compiler()->identify(NULL, &text, err);
    tn_buffer_free(&text);
    return code;
}

static void test_no_memory(void **state)
{
    static int (*const functions[])(struct tn_error *) = {build_again, compile_whole, compile_parts, show, identify};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        struct tn_error err;
        int code = TN_ENOMEM;
        long first = 0;
        for (; code == TN_ENOMEM; first++) {
            allocations_left = first;
            code = functions[i](&err);
            allocations_left = -1;
        }
        check(code, &err);
        print_message("%ld allocations have failed\n", first - 1);
        assert_true(first > 1);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, TURNS = 50, MOST_PARTS = 32 };

static struct {
    void *module;
    uint32_t parts;
    struct tn_buffer objects[MOST_PARTS];
} shared;

static void *compile_often(void *unused)
{
    for (int turn = 0; turn < TURNS; turn++)
        for (uint32_t part = 0; part < shared.parts; part++) {
            struct tn_buffer object;
            struct tn_error err;
            int code = compile_part(shared.module, part, &object, &err);
            bool is_same = !code && object.size == shared.objects[part].size &&
                           !memcmp(object.data, shared.objects[part].data, object.size);
            tn_buffer_free(&object);
            if (!is_same)
                return "an object differs";
        }
    return unused;
}

static void test_threads(void **state)
{
    const struct tn_module_description *description;
    pthread_t threads[THREADS];
    struct tn_error err;
    (void)state;
    check(open_module(built.data, built.size, false, &shared.module, &description, &err), &err);
    shared.parts = description->parts;
    assert_in_range(shared.parts, 2, MOST_PARTS);
    for (uint32_t part = 0; part < shared.parts; part++)
        check(compile_part(shared.module, part, &shared.objects[part], &err), &err);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_often, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    for (uint32_t part = 0; part < shared.parts; part++)
        tn_buffer_free(&shared.objects[part]);
    tn_baseline_compiler()->close(shared.module);
}

int main(void)
{
    struct tn_error err;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_personalities), cmocka_unit_test(test_written_again), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_mutants),       cmocka_unit_test(test_truncated),     cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_threads),
    };
    if (build_module(&built, &err))
        return puts(err.text), 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tn_buffer_free(&built);
    return failed;
}
