/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What debuggers are told of a loaded file. Whether gdb understands it is for debugger.sh. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>

#include "base/os.h"
#include "image/load/image.h"
#include "link/observe/jit_interface.h"
#include "sample.h"

/* As debuggers see it. */
extern struct {
    uint32_t version, action_flag;
    const struct tn__jit_entry *relevant_entry, *first_entry;
} __jit_debug_descriptor;

enum { CODE = 1, UNWIND, LOCAL, DEBUG, NAMES, SECTIONS, UNWIND_SIZE = 24 };

static const char names[] = "\0.text\0.eh_frame\0.tbss\0.debug_info\0.shstrtab";

static struct {
    uint8_t image[SAMPLE_SIZE]; /* with a header that says where the rest is */
    Elf64_Shdr sections[SECTIONS];
    char names[(sizeof names + 7) / 8 * 8]; /* no padding */
} file;

static char path[] = "/tmp/tenon-debugger-XXXXXX";

static void add(int number, const char *name, uint64_t flags, uint64_t address, uint64_t size)
{
    const char *found = memmem(names, sizeof names, name, strlen(name));
    file.sections[number] = (Elf64_Shdr){.sh_name = (Elf64_Word)(found - names),
                                         .sh_type = SHT_PROGBITS,
                                         .sh_flags = flags,
                                         .sh_addr = address,
                                         .sh_offset = address,
                                         .sh_size = size};
}

static int fresh(void **state)
{
    (void)state;
    sample_make(file.image, sample_machine());
    add(CODE, ".text", SHF_ALLOC | SHF_EXECINSTR, SAMPLE_CODE, 0x100);
    add(UNWIND, ".eh_frame", SHF_ALLOC, 0, UNWIND_SIZE);
    add(LOCAL, ".tbss", SHF_ALLOC | SHF_TLS, SAMPLE_DATA, 8);
    add(DEBUG, ".debug_info", 0, 0, 16);
    add(NAMES, ".shstrtab", 0, 0, sizeof file.names);
    file.sections[NAMES].sh_offset = (uint64_t)(file.names - (char *)&file);
    memcpy(file.names, names, sizeof names);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)file.image;
    header->e_shoff = sizeof file.image;
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shnum = SECTIONS;
    header->e_shstrndx = NAMES;
    return 0;
}

static void write_file(size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(&file, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static struct tn_image *open_sample(void)
{
    static uint8_t bytes[SAMPLE_SIZE];
    struct tn_image *image;
    struct tn_error err;
    sample_make(bytes, sample_machine());
    if (tn_image_open_memory("sample", bytes, sizeof bytes, NULL, &image, &err))
        fail_msg("%s", err.text);
    return image;
}

static Elf64_Shdr section(const uint8_t *elf, unsigned number)
{
    Elf64_Ehdr header;
    Elf64_Shdr found;
    memcpy(&header, elf, sizeof header);
    memcpy(&found, elf + header.e_shoff + number * sizeof found, sizeof found);
    return found;
}

static void tells_where_sections_are(void **state)
{
    (void)state;
    enum { SHOWN_CODE = 1, SHOWN_UNWIND, LINK, SHOWN_NAMES };
    struct tn_image *image = open_sample();
    struct tn_error err;
    write_file(sizeof file);
    assert_int_equal(tn_image_observe_gdb(image, path, &err), 0);
    const struct tn__jit_entry *entry = __jit_debug_descriptor.first_entry;
    assert_non_null(entry);
    assert_null(entry->next);
    const uint8_t *elf = entry->bytes;
    Elf64_Ehdr header;
    memcpy(&header, elf, sizeof header);
    assert_int_equal(header.e_shnum, SHOWN_NAMES + 1);
    assert_int_equal(header.e_shstrndx, SHOWN_NAMES);
    Elf64_Shdr code = section(elf, SHOWN_CODE), unwind = section(elf, SHOWN_UNWIND), link = section(elf, LINK);
    Elf64_Shdr texts = section(elf, SHOWN_NAMES);
    assert_ptr_equal(code.sh_addr, tn_image_lookup(image, "one"));
    assert_int_equal(code.sh_type, SHT_NOBITS);
    assert_ptr_equal(unwind.sh_addr, image->file->mapping.start);
    assert_memory_equal(elf + unwind.sh_offset, (void *)unwind.sh_addr, UNWIND_SIZE);
    assert_string_equal((const char *)elf + link.sh_offset, path);
    assert_string_equal((const char *)elf + texts.sh_offset + link.sh_name, ".gnu_debuglink");
    assert_string_equal((const char *)elf + texts.sh_offset + code.sh_name, ".text");
    assert_true(texts.sh_offset + texts.sh_size <= entry->size);
    assert_int_equal(tn_image_observe_gdb(image, path, &err), 0); /* again */
    assert_null(entry->next);
    struct tn_image *second = open_sample();
    assert_int_equal(tn_image_observe_gdb(second, path, &err), 0);
    assert_ptr_equal(__jit_debug_descriptor.first_entry->next, entry);
    tn_image_close(image);
    assert_null(__jit_debug_descriptor.first_entry->next);
    tn_image_close(second);
    assert_null(__jit_debug_descriptor.first_entry);
}

static void refuses(void **state)
{
    (void)state;
    struct tn_image *image = open_sample();
    struct tn_error err;
    assert_int_equal(tn_image_observe_gdb(NULL, path, &err), TN_EINVAL);
    assert_int_equal(tn_image_observe_gdb(image, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_image_observe_gdb(image, "/nowhere/at/all", &err), TN_EIO);
    for (size_t size = 0; size < sizeof file; size += size < SAMPLE_SIZE - 64 ? 61 : 1) {
        write_file(size);
        assert_int_equal(tn_image_observe_gdb(image, path, &err), TN_EFORMAT);
    }
    add(CODE, ".text", SHF_ALLOC, 0, SAMPLE_SIZE); /* which has the image */
    file.image[SAMPLE_IMAGE + TN__IMAGE_AT_BUILD_ID] ^= 1;
    write_file(sizeof file);
    assert_int_equal(tn_image_observe_gdb(image, path, &err), TN_EFORMAT);
    assert_non_null(strstr(err.text, "not the open one"));
    assert_null(__jit_debug_descriptor.first_entry);
    file.image[SAMPLE_IMAGE + TN__IMAGE_AT_BUILD_ID] ^= 1;
    write_file(sizeof file);
    assert_int_equal(tn_image_observe_gdb(image, path, &err), 0);
    tn_image_close(image);
}

/* Whatever headers and names say, nothing outside of the file is read. */
static void survives_spoiled_bytes(void **state)
{
    (void)state;
    int refused = 0, shown = 0;
    for (size_t i = 0; i < sizeof file; i += i == sizeof(Elf64_Ehdr) ? SAMPLE_SIZE - i : 1) {
        uint8_t *byte = (uint8_t *)&file + i;
        *byte ^= 0xc1;
        write_file(sizeof file);
        struct tn_image *image = open_sample();
        struct tn_error err;
        int code = tn_image_observe_gdb(image, path, &err);
        assert_true(!code || code == TN_EFORMAT);
        shown += !code;
        refused += code != 0;
        tn_image_close(image);
        assert_null(__jit_debug_descriptor.first_entry);
        *byte ^= 0xc1;
    }
    assert_true(shown > 100 && refused > 20);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct tn_image *image = open_sample();
    struct tn_error err;
    write_file(sizeof file);
    assert_int_equal(tn__os_set_faults("a1"), 0);
    assert_int_equal(tn_image_observe_gdb(image, path, &err), TN_ENOMEM);
    tn__os_set_faults(NULL);
    assert_null(__jit_debug_descriptor.first_entry);
    assert_int_equal(tn_image_observe_gdb(image, path, &err), 0);
    tn_image_close(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tells_where_sections_are, fresh),
        cmocka_unit_test_setup(refuses, fresh),
        cmocka_unit_test_setup(survives_spoiled_bytes, fresh),
        cmocka_unit_test_setup(out_of_memory, fresh),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
