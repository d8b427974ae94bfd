/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_link to a program: what it refuses, stubs that are none any more, and when memory is out. Whether
 * programs run is for tests/image/exe.sh. */

#include <elf.h>
#include <errno.h>

#include "base/os.h"
#include "support.h"

#define PROGRAM .size = sizeof(struct tn_image_link_options), .kind = TN_IMAGE_PROGRAM

static const char with_main[] = "@own = thread_local global i32 7\n"
                                "define i32 @main() {\n"
                                "  %p = call ptr @llvm.threadlocal.address.p0(ptr @own)\n"
                                "  %v = load i32, ptr %p\n"
                                "  ret i32 %v\n"
                                "}\n";
static const char without[] = "define i32 @other() {\n  ret i32 0\n}\n";

static struct tn__os_file stub; /* the smallest with thread-local data; none if there is no musl */

static struct tn_input make_image(const char *ir, struct tn_buffer *out)
{
    const struct tn_image_input input = {"main.ll", ir, strlen(ir)};
    const struct tn_image_options options = {.size = sizeof options, .triple = "x86_64-linux-musl"};
    struct tn_buffer outputs[TN_IMAGE_OUTPUTS];
    struct tn_error err;
    assert_int_equal(tn_image_build(&input, 1, &options, outputs, NULL, &err), 0);
    *out = outputs[TN_IMAGE_OBJECTS];
    return (struct tn_input){.size = sizeof(struct tn_input), .name = "image", .bytes = out->data, .length = out->size};
}

static int find_stub(void **state)
{
    (void)state;
    return tn__os_map_file(STUB, &stub) == ENOENT ? 0 : stub.size == 0;
}

static int link_with(const void *bytes, size_t size, const struct tn_input *image, struct tn_error *err)
{
    const struct tn_image_link_options options = {PROGRAM, .stub = bytes, .stub_length = size};
    struct tn_buffer out;
    int code = tn_image_link(image, 1, &options, &out, err);
    assert_true(!code ? out.size > size / 2 : !out.data);
    tn_buffer_free(&out);
    return code;
}

static void refused(void **state)
{
    (void)state;
    if (!stub.size)
        skip();
    struct tn_buffer archive, other, out;
    struct tn_error err;
    struct tn_input image = make_image(with_main, &archive), mainless = make_image(without, &other);
    struct tn_image_link_options options = {PROGRAM};
    assert_int_equal(tn_image_link(&image, 1, &options, &out, &err), TN_EINVAL);
    assert_contains(err.text, "a program needs a stub");
    options = (struct tn_image_link_options){PROGRAM, .stub = stub.bytes, .stub_length = stub.size, .image = "another"};
    assert_int_equal(tn_image_link(&image, 1, &options, &out, &err), TN_EUNDEF);
    assert_contains(err.text, "another");
    assert_int_equal(link_with(stub.bytes, stub.size, &mainless, &err), TN_EUNDEF);
    assert_contains(err.text, "'main'");
    assert_int_equal(link_with(image.bytes, image.length, &image, &err), TN_EFORMAT);
    assert_contains(err.text, "not an ELF file");
    assert_int_equal(link_with(stub.bytes, stub.size, &image, &err), 0);
    tn_buffer_free(&archive);
    tn_buffer_free(&other);
}

static void truncated(void **state)
{
    (void)state;
    if (!stub.size)
        skip();
    struct tn_buffer archive;
    struct tn_error err;
    struct tn_input image = make_image(with_main, &archive);
    for (size_t size = 0; size < stub.size; size += size < 1024 ? 8 : 1009)
        assert_int_equal(link_with(stub.bytes, size, &image, &err), TN_EFORMAT);
    tn_buffer_free(&archive);
}

/* Every byte of a range is spoiled in two ways: it is an error, or goes unnoticed, but nothing breaks. */
static unsigned spoil(uint8_t *bytes, size_t from, size_t size, const struct tn_input *image)
{
    unsigned errors = 0;
    struct tn_error err;
    for (size_t at = from; at < from + size; at++)
        for (int way = 0; way < 2; way++) {
            uint8_t was = bytes[at];
            bytes[at] = way ? (uint8_t)~was : (uint8_t)(was ^ 0x80);
            errors += link_with(bytes, stub.size, image, &err) != 0;
            bytes[at] = was;
        }
    return errors;
}

static void spoiled(void **state)
{
    (void)state;
    if (!stub.size)
        skip();
    struct tn_buffer archive;
    struct tn_error err;
    struct tn_input image = make_image(with_main, &archive);
    uint8_t *bytes = malloc(stub.size);
    assert_non_null(bytes);
    memcpy(bytes, stub.bytes, stub.size);
    Elf64_Ehdr file;
    Elf64_Shdr section;
    memcpy(&file, bytes, sizeof file);
    assert_true(spoil(bytes, 0, sizeof file, &image) > 20);
    assert_true(spoil(bytes, file.e_phoff, file.e_phnum * sizeof(Elf64_Phdr), &image) > 50);
    assert_true(spoil(bytes, file.e_shoff, file.e_shnum * sizeof(Elf64_Shdr), &image) > 50);
    for (size_t i = 0; i < file.e_shnum; i++) {
        memcpy(&section, bytes + file.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_SYMTAB)
            assert_true(spoil(bytes, section.sh_offset, 8 * sizeof(Elf64_Sym), &image) > 8);
    }
    assert_int_equal(link_with(bytes, stub.size, &image, &err), 0);
    free(bytes);
    tn_buffer_free(&archive);
}

static void out_of_memory(void **state)
{
    (void)state;
    if (!stub.size)
        skip();
    struct tn_buffer archive;
    struct tn_error err;
    struct tn_input image = make_image(with_main, &archive);
    int n = 0;
    for (int code = TN_ENOMEM; code != 0;) {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", ++n);
        assert_int_equal(tn__os_set_faults(plan), 0);
        code = link_with(stub.bytes, stub.size, &image, &err);
        tn__os_set_faults(NULL);
        assert_true(!code || code == TN_ENOMEM);
    }
    assert_true(n > 10);
    tn_buffer_free(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),
        cmocka_unit_test(truncated),
        cmocka_unit_test(spoiled),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, find_stub, NULL);
}
