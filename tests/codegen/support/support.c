/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "support.h"

#include <fcntl.h>
#include <unistd.h>

static FILE *printed;
static int saved[2];

void quiet_begin(void)
{
    fflush(NULL);
    printed = tmpfile();
    assert_non_null(printed);
    for (int i = 0; i < 2; i++) {
        saved[i] = dup(i + 1);
        dup2(fileno(printed), i + 1);
    }
}

void quiet_end(void)
{
    char text[200];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    rewind(printed);
    size_t length = fread(text, 1, sizeof text, printed);
    fclose(printed);
    if (length)
        fail_msg("printed: %.*s", (int)length, text);
}

struct outcome compile(const void *ir, size_t length, const struct tn_compile_options *options)
{
    struct outcome outcome = {.stats.size = sizeof outcome.stats};
    quiet_begin();
    outcome.code = tn_compile("test.ll", ir, length, options, &outcome.out, &outcome.stats, &outcome.err);
    quiet_end();
    assert_true(outcome.code == 0 ? outcome.out.size > 0 : !outcome.out.data && outcome.err.code == outcome.code);
    return outcome;
}

struct outcome compile_text(const char *ir, const struct tn_compile_options *options)
{
    /* Without the NUL: input need not have one, and a sanitizer sees who reads it. */
    size_t length = strlen(ir);
    char *copy = malloc(length ? length : 1);
    memcpy(copy, ir, length);
    struct outcome outcome = compile(copy, length, options);
    free(copy);
    return outcome;
}

char *assembly(const char *ir, struct tn_compile_options options)
{
    if (options.emit == TN_EMIT_OBJECT)
        options.emit = TN_EMIT_ASM;
    struct outcome outcome = compile_text(ir, &options);
    if (outcome.code)
        fail_msg("%s", outcome.err.text);
    char *text = strndup(outcome.out.data, outcome.out.size);
    tn_buffer_free(&outcome.out);
    return text;
}

bool built_in(const struct tn_compile_options *options)
{
    static const struct {
        const char *prefix, *target;
    } rows[] = {{"x86_64", "X86"}, {"aarch64", "AArch64"}, {"riscv64", "RISCV"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (const char *const *name = tn_codegen_targets(); *name; name++)
            if (strncmp(options->triple, rows[i].prefix, strlen(rows[i].prefix)) == 0 &&
                strcmp(*name, rows[i].target) == 0)
                return true;
    return false;
}

void for_program(const char *program, const char *way,
                 void (*check)(const char *path, const void *bytes, size_t length))
{
    enum { LARGEST = 1 << 20 };
    char path[400];
    snprintf(path, sizeof path, "%s.%s.bc", program, way);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(LARGEST);
    assert_non_null(bytes);
    size_t length = fread(bytes, 1, LARGEST, file);
    fclose(file);
    check(path, bytes, length);
    free(bytes);
}

void for_each_program(const char *const *programs, size_t count,
                      void (*check)(const char *path, const void *bytes, size_t length))
{
    for (size_t i = 0; i < 2 * count; i++)
        for_program(programs[i / 2], i % 2 ? "O0" : "O2", check);
}

struct tn_cpu cpu_named(const char *name)
{
    struct tn_cpu cpu = {.size = sizeof cpu, .arch = tn_cpu_arch_find("x86-64")};
    const char *alias;
    for (size_t i = 0; (cpu.name = tn_cpu_name_at(cpu.arch, i, &cpu.features, &alias)); i++)
        if (strcmp(cpu.name, name) == 0)
            return cpu;
    fail_msg("no CPU '%s'", name);
    return cpu;
}
