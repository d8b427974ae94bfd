/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What comes out: objects for each architecture, assembly, IR as text and as bitcode. */

#include <elf.h>

#include "support.h"

static const char twice[] = "define i32 @twice(i32 %x) {\n  %y = add i32 %x, %x\n  ret i32 %y\n}\n";

static void objects(void **state)
{
    (void)state;
    static const struct {
        struct tn_compile_options options;
        int machine;
        uint32_t flags;
    } rows[] = {
        {{X86}, EM_X86_64, 0},
        {{DEFAULTS, .triple = "x86_64"}, EM_X86_64, 0},
        {{AARCH64}, EM_AARCH64, 0},
        {{RISCV}, EM_RISCV, EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE}, /* what every distribution assumes */
        {{RISCV, .cpu = "generic"}, EM_RISCV, EF_RISCV_FLOAT_ABI_SOFT},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int level = 0; level <= 3; level++) {
            struct tn_compile_options options = rows[i].options;
            options.opt_level = level;
            if (!built_in(&options))
                continue;
            struct outcome outcome = compile_text(twice, &options);
            assert_int_equal(outcome.code, 0);
            Elf64_Ehdr header;
            assert_true(outcome.out.size > sizeof header);
            memcpy(&header, outcome.out.data, sizeof header);
            assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
            assert_int_equal(header.e_ident[EI_CLASS], ELFCLASS64);
            assert_int_equal(header.e_ident[EI_DATA], ELFDATA2LSB);
            assert_int_equal(header.e_type, ET_REL);
            assert_int_equal(header.e_machine, rows[i].machine);
            assert_int_equal(header.e_flags, rows[i].flags);
            tn_buffer_free(&outcome.out);
        }
}

static void other_object_formats(void **state)
{
    (void)state;
    static const struct {
        struct tn_compile_options options;
        const char *magic;
    } rows[] = {
        {{DEFAULTS, .triple = "x86_64-apple-macosx11"}, "\xcf\xfa\xed\xfe"},
        {{DEFAULTS, .triple = "x86_64-windows-msvc"}, "\x64\x86"},
        {{DEFAULTS, .triple = "aarch64-windows-msvc"}, "\x64\xaa"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!built_in(&rows[i].options))
            continue;
        struct outcome outcome = compile_text(twice, &rows[i].options);
        assert_int_equal(outcome.code, 0);
        assert_memory_equal(outcome.out.data, rows[i].magic, strlen(rows[i].magic));
        tn_buffer_free(&outcome.out);
    }
}

/* The triple that counts: the client's, else the module's, else the host's. */
static void triples(void **state)
{
    (void)state;
    static const struct {
        const char *ir_triple, *option, *result;
    } rows[] = {
        {"aarch64-linux-gnu", NULL, "target triple = \"aarch64-unknown-linux-gnu\""},
        {"aarch64-linux-gnu", "x86_64-linux-gnu", "target triple = \"x86_64-unknown-linux-gnu\""},
        {"x86_64-linux-gnu", "riscv64-linux-gnu", "target triple = \"riscv64-unknown-linux-gnu\""},
        {NULL, "riscv64-linux-gnu", "target triple = \"riscv64-unknown-linux-gnu\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_compile_options options = {DEFAULTS, .triple = rows[i].option, .emit = TN_EMIT_LLVM};
        const char *effective = rows[i].option ? rows[i].option : rows[i].ir_triple;
        if (!built_in(&(struct tn_compile_options){DEFAULTS, .triple = effective}))
            continue;
        char ir[300] = "";
        if (rows[i].ir_triple)
            sprintf(ir, "target triple = \"%s\"\n", rows[i].ir_triple);
        strcat(ir, twice);
        char *text = assembly(ir, options);
        assert_contains(text, rows[i].result);
        assert_contains(text, "target datalayout = \"e-m:e-");
        free(text);
    }
    char *text = assembly(twice, (struct tn_compile_options){DEFAULTS, .emit = TN_EMIT_LLVM});
    assert_contains(text, tn_codegen_host_triple());
    free(text);
}

/* IR that was read without a data layout is read with the target's: i64 is aligned to 8 bytes on x86-64, not to 4. */
static void layout_holds_while_reading(void **state)
{
    (void)state;
    char *text = assembly("define i64 @f(ptr %p) {\n  %v = load i64, ptr %p\n  ret i64 %v\n}\n",
                          (struct tn_compile_options){DEFAULTS, .emit = TN_EMIT_LLVM});
    assert_contains(text, "load i64, ptr %p, align 8");
    free(text);
}

/* Text and bitcode can be compiled further, and say what the first compilation would have said. */
static void round_trip(void **state)
{
    (void)state;
    static const enum tn_emit kinds[] = {TN_EMIT_LLVM, TN_EMIT_BITCODE};
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (int level = 0; level <= 3; level++) {
            struct tn_compile_options options = {DEFAULTS, .opt_level = level, .emit = kinds[i]};
            struct outcome ir = compile_text(twice, &options);
            assert_int_equal(ir.code, 0);
            assert_memory_equal(ir.out.data, i ? "BC\xc0\xde" : "; Mo", 4);
            options.opt_level = 0;
            options.emit = TN_EMIT_ASM;
            struct outcome text = compile(ir.out.data, ir.out.size, &options);
            assert_int_equal(text.code, 0);
            assert_non_null(memmem(text.out.data, text.out.size, "twice:", 6));
            tn_buffer_free(&ir.out);
            tn_buffer_free(&text.out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects),    cmocka_unit_test(other_object_formats),
        cmocka_unit_test(triples),    cmocka_unit_test(layout_holds_while_reading),
        cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
