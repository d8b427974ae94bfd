/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The programs of data/, as clang -O0 and -O2 hand them over, through every level and two CPUs, linked by libtenon
 * and run: all have to compute what the C compiler's object computes. An analysis that a pass needs and nobody
 * registered is a crash here. Options, levels and inputs are tried in pairs, each pair with half of the programs;
 * with WHOLE=1, all with all. */

#include "support.h"

/* CORPUS comes from rules.mk: "folder/name" of each program. */
static const char *const programs[] = {CORPUS};

static struct tn_input input(const char *name, const void *bytes, size_t length)
{
    return (struct tn_input){.size = sizeof(struct tn_input), .name = name, .bytes = bytes, .length = length};
}

/* Links one object in a session of its own and answers run(). */
static uint64_t run_object(const char *name, const void *bytes, size_t length)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    void *run = NULL;
    struct tn_input object = input(name, bytes, length);
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, name, &library, &err) ||
        tn_add_resolver(library, tn_resolve_dlsym, NULL, &err) || tn_add_object(library, &object, &err) ||
        tn_lookup(library, "run", &run, &err) || tn_run_initializers(library, 0, NULL, NULL, &err))
        fail_msg("%s: %s", name, err.text);
    uint64_t (*call)(void);
    memcpy(&call, &run, sizeof call);
    uint64_t result = call();
    tn_session_destroy(session);
    return result;
}

static char *read_file(const char *name, const char *suffix, size_t *length)
{
    char path[400];
    snprintf(path, sizeof path, "%s%s", name, suffix);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *bytes = malloc(1 << 20);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Whether this is one of the pairs: numbers of the program, its options and the level. */
static bool is_tried(size_t program, size_t row, int level)
{
    return getenv("WHOLE") || (program + row + (size_t)level) % 2 == 0;
}

static void check_program(size_t program, size_t of_input, const char *suffix)
{
    const char *name = programs[program];
    static const struct {
        struct tn_compile_options options;
    } rows[] = {
        {{DEFAULTS, .cpu = "generic"}},
        {{DEFAULTS, .cpu = "native"}},
        {{DEFAULTS}},
        {{DEFAULTS, .cpu = "native", .function_sections = 1, .reloc_model = TN_RELOC_PIC}},
    };
    size_t length, native_length;
    char *ir = read_file(name, suffix, &length), *native = read_file(name, ".o", &native_length);
    uint64_t expected = run_object(name, native, native_length);
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int level = 0; level <= 3; level++) {
            if (!is_tried(program, i, level) || !is_tried(of_input, i, level / 2))
                continue;
            struct tn_compile_options options = rows[i].options;
            options.opt_level = level;
            struct outcome outcome = compile(ir, length, &options);
            if (outcome.code)
                fail_msg("%s%s, row %zu, level %d: %s", name, suffix, i, level, outcome.err.text);
            uint64_t result = run_object(name, outcome.out.data, outcome.out.size);
            if (result != expected)
                fail_msg("%s%s, row %zu, level %d: %llx, not %llx", name, suffix, i, level, (unsigned long long)result,
                         (unsigned long long)expected);
            tn_buffer_free(&outcome.out);
        }
    free(ir);
    free(native);
}

static void results_are_those_of_the_c_compiler(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(programs); i++) {
        check_program(i, i / 2, ".O0.bc");
        check_program(i, i / 2 + 1, ".O2.bc");
    }
}

/* For other machines than this one it has to get as far as an object. */
static void other_targets_compile_it(void **state)
{
    (void)state;
    static const struct {
        struct tn_compile_options options;
        const char *suffix;
    } rows[] = {
        {{AARCH64}, ".aarch64.bc"},
        {{AARCH64, .cpu = "neoverse-v1"}, ".aarch64.bc"},
        {{RISCV}, ".riscv64.bc"},
        {{RISCV, .cpu = "sifive-x280"}, ".riscv64.bc"},
    };
    for (size_t i = 0; i < COUNT(programs) * COUNT(rows); i++) {
        const char *name = programs[i / COUNT(rows)];
        struct tn_compile_options options = rows[i % COUNT(rows)].options;
        if (!built_in(&options))
            continue;
        size_t length;
        char *ir = read_file(name, rows[i % COUNT(rows)].suffix, &length);
        for (options.opt_level = 0; options.opt_level <= 3; options.opt_level++) {
            if (!is_tried(i / COUNT(rows), i % COUNT(rows), options.opt_level))
                continue;
            struct outcome outcome = compile(ir, length, &options);
            if (outcome.code)
                fail_msg("%s, %s, level %d: %s", name, options.triple, options.opt_level, outcome.err.text);
            tn_buffer_free(&outcome.out);
        }
        free(ir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_c_compiler),
        cmocka_unit_test(other_targets_compile_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
