/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_link: options, pages of any size, inputs of every kind, and what happens when memory is out. Whether the
 * files run is for tests/image. */

#include <elf.h>
#include <sys/resource.h>

#include "base/os.h"
#include "support.h"

#define LINK .size = sizeof(struct tn_image_link_options)

static const char program[] = "@data = global [2 x ptr] [ptr @f, ptr @outside]\n"
                              "@zeros = global [5000 x i8] zeroinitializer\n"
                              "declare void @outside()\n"
                              "define void @f() {\n  call void @outside()\n  ret void\n}\n";

static struct tn_input make_object(struct tn_buffer *object)
{
    struct outcome outcome = compile_text(program, &(struct tn_compile_options){X86});
    assert_int_equal(outcome.code, 0);
    *object = outcome.out;
    return (struct tn_input){
        .size = sizeof(struct tn_input), .name = "f.o", .bytes = object->data, .length = object->size};
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        struct tn_image_link_options options;
        const char *says;
    } rows[] = {
        {{.size = 1}, "size 1"},
        {{LINK, .kind = (enum tn_image_file)99}, "unknown kind of file 99"},
        {{LINK, .page_size = 2048}, "pages of 2048 bytes"},
        {{LINK, .page_size = 4097}, "pages of 4097 bytes"},
        {{LINK, .page_size = 2 << 20}, "pages of 2097152 bytes"},
    };
    struct tn_buffer object, out;
    struct tn_error err;
    struct tn_input input = make_object(&object), bad = {.size = 8};
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(tn_image_link(&input, 1, &rows[i].options, &out, &err), TN_EINVAL);
        assert_contains(err.text, rows[i].says);
    }
    assert_int_equal(tn_image_link(NULL, 0, NULL, &out, &err), TN_EINVAL);
    assert_contains(err.text, "nothing to link");
    assert_int_equal(tn_image_link(&bad, 1, NULL, &out, &err), TN_EINVAL);
    assert_contains(err.text, "input 0");
    assert_int_equal(tn_image_link(&input, 1, NULL, NULL, &err), TN_EINVAL);
    input.bytes = "no object";
    input.length = 9;
    assert_int_equal(tn_image_link(&input, 1, NULL, &out, &err), TN_EFORMAT);
    assert_contains(err.text, "f.o");
    assert_null(out.data);
    tn_buffer_free(&object);
}

/* Segments can be mapped in pages of that size, and what is sealed fills whole ones. */
static void any_page_size(void **state)
{
    (void)state;
    struct tn_buffer object, out;
    struct tn_error err;
    struct tn_input input = make_object(&object);
    for (uint64_t page = 4096; page <= 1 << 20; page *= 2)
        for (enum tn_image_file kind = TN_IMAGE_SHARED; kind <= TN_IMAGE_LOADABLE; kind++) {
            struct tn_image_link_options options = {LINK, .name = "f.so", .kind = kind, .page_size = page};
            assert_int_equal(tn_image_link(&input, 1, &options, &out, &err), 0);
            const Elf64_Ehdr *elf = out.data;
            const Elf64_Phdr *segments = (const void *)((const char *)out.data + elf->e_phoff);
            uint64_t end = 0;
            unsigned loaded = 0;
            for (unsigned i = 0; i < elf->e_phnum; i++) {
                const Elf64_Phdr *s = &segments[i];
                assert_true(s->p_offset + s->p_filesz <= out.size);
                if (s->p_type == PT_GNU_RELRO)
                    assert_int_equal((s->p_vaddr + s->p_memsz) % page, 0);
                if (s->p_type != PT_LOAD)
                    continue;
                assert_int_equal(s->p_vaddr % page, s->p_offset % page);
                assert_true(s->p_vaddr / page * page >= end);
                end = (s->p_vaddr + s->p_memsz + page - 1) / page * page;
                loaded++;
            }
            assert_int_equal(loaded, 4);
            tn_buffer_free(&out);
        }
    tn_buffer_free(&object);
}

/* Each note has a program header, the file itself four; there is room for 32. */
static void many_notes(void **state)
{
    (void)state;
    for (int count = 28; count <= 29; count++) {
        char ir[4000];
        size_t length = 0;
        for (int i = 0; i < count; i++)
            length +=
                (size_t)snprintf(ir + length, sizeof ir - length,
                                 "@n%d = constant [3 x i32] [i32 0, i32 0, i32 1], section \".note.n%d\"\n", i, i);
        struct outcome object = compile_text(ir, &(struct tn_compile_options){X86});
        struct tn_input input = {
            .size = sizeof input, .name = "notes.o", .bytes = object.out.data, .length = object.out.size};
        struct tn_buffer out;
        struct tn_error err;
        int code = tn_image_link(&input, 1, NULL, &out, &err);
        if (code)
            assert_contains(err.text, "33 program headers; there is room for 32");
        assert_int_equal(code, count == 28 ? 0 : TN_ENOTSUP);
        tn_buffer_free(&object.out);
        tn_buffer_free(&out);
    }
}

/* The file is made in memory, but could not be stored. */
static void a_limit_on_files_is_an_error(void **state)
{
    (void)state;
    struct tn_buffer object, out, again;
    struct tn_error err;
    struct tn_input input = make_object(&object);
    struct rlimit before, limit;
    assert_int_equal(tn_image_link(&input, 1, NULL, &out, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t missing = 0; missing <= out.size; missing += missing ? out.size - 1 : 1) {
        limit = (struct rlimit){out.size - missing, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        int code = tn_image_link(&input, 1, NULL, &again, &err);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(code, missing ? TN_EIO : 0);
        if (code)
            assert_string_equal(err.text, "cannot write an ELF file: File too large");
        tn_buffer_free(&again);
    }
    tn_buffer_free(&object);
    tn_buffer_free(&out);
}

static void older_callers(void **state)
{
    (void)state;
    struct tn_buffer object, first, second;
    struct tn_error err;
    struct tn_input input = make_object(&object);
    const struct tn_image_link_options small = {.size = sizeof(size_t)};
    assert_int_equal(tn_image_link(&input, 1, NULL, &first, &err), 0);
    assert_int_equal(tn_image_link(&input, 1, &small, &second, &err), 0);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    tn_buffer_free(&first);
    tn_buffer_free(&second);
    tn_buffer_free(&object);
}

/* Every allocation, and every request to the system, fails once. */
static void out_of_memory(void **state)
{
    (void)state;
    struct tn_buffer object, out;
    struct tn_error err;
    struct tn_input input = make_object(&object);
    unsigned failures[2] = {0};
    for (int kind = 0; kind < 2; kind++)
        for (int code = TN_ENOMEM, n = 1; code != 0; n++) {
            char plan[128] = "";
            for (int i = 1; kind && i < n; i++)
                strcat(plan, ". ");
            snprintf(plan + strlen(plan), 16, kind ? "F" : "a%d", n);
            assert_int_equal(tn__os_set_faults(plan), 0);
            code = tn_image_link(&input, 1, NULL, &out, &err);
            tn__os_set_faults(NULL);
            failures[kind] += code != 0;
            assert_true(!code || (code == TN_ENOMEM && !out.data));
            if (!code)
                tn_buffer_free(&out);
        }
    assert_true(failures[0] > 5 && !failures[1]); /* nothing but memory is asked for */
    tn_buffer_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),       cmocka_unit_test(any_page_size),
        cmocka_unit_test(many_notes),    cmocka_unit_test(older_callers),
        cmocka_unit_test(out_of_memory), cmocka_unit_test(a_limit_on_files_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
