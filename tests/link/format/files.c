/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files that change under the linker: truncated, or rewritten between two of its phases. What others may write is
 * copied; what is mapped is checked again before it is written. */

#include "elf_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/partial_file.h"

enum { SMALL = 4096, LARGE = 3 << 20, MEMBERS = 3 };

/* A function and `size` bytes of data with one relocation at their end. */
static struct bytes object_of(const char *name, size_t size)
{
    static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42, %eax; ret */
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    uint8_t *zeros = calloc(1, size);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, zeros, size);
    unsigned function = elf_function(&elf, name, text, 0);
    elf_reloc(&elf, data, size - 8, function, R_X86_64_64, 0);
    struct bytes object = elf_finish(&elf);
    free(zeros);
    return object;
}

static const char *file_of(struct bytes contents, mode_t mode)
{
    const char *path = scratch_file("changing");
    write_bytes(path, contents.at, contents.size);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

/* ---- truncated while it is in use ---- */

struct truncation {
    const char *name;
    size_t size;
    mode_t mode;
    bool archive;
};

static const struct truncation truncations[] = {
    {"a small object", SMALL, 0600, false},
    {"a large object that others may write", LARGE, 0666, false},
    {"a large object that the group may write", LARGE, 0620, false},
    {"a small archive", SMALL, 0600, true},
    {"a large archive that others may write", LARGE, 0666, true},
};

static void put_member(struct bytes *archive, const char *name, struct bytes contents)
{
    char header[61];
    snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, contents.size);
    archive->at = realloc(archive->at, archive->size + 60 + contents.size + 1);
    memcpy(archive->at + archive->size, header, 60);
    memcpy(archive->at + archive->size + 60, contents.at, contents.size);
    archive->size += 60 + contents.size;
    if (archive->size % 2)
        archive->at[archive->size++] = '\n';
}

/* Members f0, f1, f2, each in an object of its own; with GNU's index. */
static struct bytes archive_of(size_t size)
{
    struct bytes archive = {malloc(8), 8}, index = {calloc(1, 64), 4 + MEMBERS * 4};
    memcpy(archive.at, "!<arch>\n", 8);
    index.at[3] = MEMBERS;
    for (unsigned pass = 0; pass < 2; pass++) {
        archive.size = 8;
        index.size = 4 + MEMBERS * 4 + MEMBERS * 3;
        put_member(&archive, "/", index);
        for (unsigned i = 0; i < MEMBERS; i++) {
            char name[] = "f0", file[] = "f0.o/";
            name[1] = file[1] = (char)('0' + i);
            for (unsigned byte = 0; byte < 4; byte++)
                index.at[4 + i * 4 + byte] = (uint8_t)(archive.size >> (24 - 8 * byte));
            memcpy(index.at + 4 + MEMBERS * 4 + i * 3, name, 3);
            struct bytes object = object_of(name, size);
            put_member(&archive, file, object);
            free(object.at);
        }
    }
    free(index.at);
    return archive;
}

/* What is cut off is either there already, or its absence is an error. */
static void truncate_it(void **state)
{
    const struct truncation *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes contents = row->archive ? archive_of(row->size) : object_of("f0", row->size);
    const char *path = file_of(contents, row->mode);
    assert_ok(tn_add_file(f.library, path, &err), &err);
    if (row->archive && row->size == LARGE)
        assert_int_equal(call(&f, "f0"), 42);
    assert_int_equal(truncate(path, 0), 0);
    void *address;
    assert_int_equal(call(&f, "f0"), 42);
    if (row->archive) {
        int code = tn_lookup(f.library, "f2", &address, &err);
        if (row->size == LARGE)
            assert_error(code, TN_EIO, &err, path, "cannot be read");
        else
            assert_ok(code, &err);
    }
    close_fixture(&f);
    free(contents.at);
}

static void truncation_is_no_fault(void **state)
{
    assert_int_equal(in_child(truncate_it, *state), 0);
}

/* ---- rewritten between scan and apply ---- */

struct change {
    const char *name;
    size_t offset; /* in the relocation's record */
    uint64_t value;
    unsigned bytes;
    bool harmless;
};

static const struct change changes[] = {
    {"the place of a relocation", offsetof(Elf64_Rela, r_offset), LARGE - 7, 8, false},
    {"its place, far away", offsetof(Elf64_Rela, r_offset), UINT64_C(1) << 40, 8, false},
    {"its symbol", offsetof(Elf64_Rela, r_info) + 4, 1U << 30, 4, false},
    {"its type, to one that needs a slot", offsetof(Elf64_Rela, r_info), R_X86_64_GOTPCREL, 4, false},
    {"its type, to none", offsetof(Elf64_Rela, r_info), 12345, 4, false},
    {"its type, to another one that fits", offsetof(Elf64_Rela, r_info), R_X86_64_PC64, 4, true},
    {"its addend", offsetof(Elf64_Rela, r_addend), 7, 8, true},
};

struct changing {
    const struct change *change;
    const char *path;
    size_t at; /* of the record in the file */
    bool done;
};

#ifdef __SANITIZE_THREAD__ /* which knows few ranges */
static const uint64_t WINDOW = UINT64_C(0x567000000000);
#else
static const uint64_t WINDOW = UINT64_C(0x500000000000);
#endif

/* Memory of the client's is asked for between the two scans. */
static int map_and_change(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes,
                          struct tn_error *err)
{
    (void)zone, (void)err;
    struct changing *changing = context;
    *bytes = mmap((void *)(uintptr_t)address, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                  -1, 0);
    if (*bytes == MAP_FAILED)
        return TN_ENOMEM;
    int fd = open(changing->path, O_WRONLY | O_CLOEXEC);
    const struct change *change = changing->change;
    assert_int_equal(pwrite(fd, &change->value, change->bytes, (off_t)(changing->at + change->offset)), change->bytes);
    close(fd);
    changing->done = true;
    return 0;
}

static int publish(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                   struct tn_error *err)
{
    static const int prot[] = {
        [TN_ZONE_CODE] = PROT_READ | PROT_EXEC, [TN_ZONE_RODATA] = PROT_READ, [TN_ZONE_DATA] = PROT_READ | PROT_WRITE};
    (void)context, (void)bytes, (void)err;
    return mprotect((void *)(uintptr_t)address, length, prot[zone]) ? TN_ENOMEM : 0;
}

static void unmap(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes)
{
    (void)context, (void)zone, (void)bytes;
    munmap((void *)(uintptr_t)address, length);
}

static void change_it(void **state)
{
    const struct change *change = *state;
    struct bytes object = object_of("f0", LARGE);
    struct changing changing = {.change = change, .path = file_of(object, 0600)};
    changing.at = elf_section_of_type(object, SHT_RELA)->sh_offset;
    const struct tn_memory memory = {.size = sizeof memory,
                                     .context = &changing,
                                     .map = map_and_change,
                                     .publish = publish,
                                     .unmap = unmap,
                                     .window_address = WINDOW,
                                     .window_size = 64 << 20,
                                     .page_size = (size_t)sysconf(_SC_PAGESIZE)};
    const struct tn_session_options options = {.size = sizeof options, .memory = &memory};
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    assert_ok(tn_add_file(f.library, changing.path, &err), &err);
    int code = tn_link(f.library, &err);
    assert_true(changing.done);
    if (change->harmless)
        assert_ok(code, &err);
    else
        assert_error(code, TN_EFORMAT, &err, changing.path, "has changed while it was linked");
    close_fixture(&f);
    free(object.at);
}

static void a_change_is_an_error(void **state)
{
    assert_int_equal(in_child(change_it, *state), 0);
}

/* ---- parts ---- */

static void parts_are_read_once(void **state)
{
    (void)state;
    size_t page = tn__os_page_size(), size = LARGE + 5;
    uint8_t *contents = malloc(size);
    for (size_t i = 0; i < size; i++)
        contents[i] = (uint8_t)(i / page + i * 7);
    const char *path = file_of((struct bytes){contents, size}, 0666);
    struct tn__partial_file *file;
    const uint8_t *bytes;
    size_t length;
    int fd;
    assert_int_equal(tn__os_open(path, &fd), 0);
    assert_int_equal(tn__partial_file_open(fd, NULL, &file, &bytes, &length), 0);
    assert_non_null(file);
    assert_int_equal(length, size);
    assert_int_equal(tn__partial_file_need(file, page + 3, 2 * page), 0);
    assert_memory_equal(bytes + page + 3, contents + page + 3, 2 * page);
    int changer = open(path, O_WRONLY | O_CLOEXEC);
    uint8_t *changed = calloc(1, size);
    assert_int_equal(pwrite(changer, changed, size, 0), size);
    assert_int_equal(tn__partial_file_need(file, 0, 8 * page), 0);
    for (size_t i = 0; i < 8; i++)
        assert_memory_equal(bytes + i * page, i >= 1 && i <= 3 ? contents + i * page : changed, page);
    assert_int_equal(tn__partial_file_need(file, size - 1, 1), 0);
    assert_int_equal(bytes[size - 1], 0);
    assert_int_equal(ftruncate(changer, (off_t)(10 * page)), 0);
    assert_int_equal(tn__partial_file_need(file, 8 * page, 2 * page), 0);
    assert_int_equal(tn__partial_file_need(file, 9 * page, 2 * page), ENODATA);
    assert_int_equal(tn__partial_file_need(file, 0, 10 * page), 0);
    close(changer);
    close(fd); /* as programs do that close all they do not know */
    assert_int_equal(tn__partial_file_need(file, 12 * page, 1), EBADF);
    tn__partial_file_close(file);
    free(changed);
    free(contents);
}

static void faults_leave_nothing(void **state)
{
    (void)state;
    struct bytes archive = archive_of(LARGE);
    const char *path = file_of(archive, 0666);
    struct tn_error err;
    int failures = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int i = 1; i < 60; i++) {
            struct fixture f = open_fixture(NULL);
            char plan[256] = "";
            for (int k = 1; !kind && k < i; k++)
                strcat(plan, ". ");
            snprintf(plan + strlen(plan), 16, kind ? "a%d" : "F", i);
            assert_int_equal(tn__os_set_faults(plan), 0);
            void *address;
            int code = tn_add_file(f.library, path, &err);
            if (!code)
                code = tn_lookup(f.library, "f1", &address, &err);
            tn__os_set_faults(NULL);
            failures += code != 0;
            check_still_works(&f);
            close_fixture(&f);
        }
    assert_true(failures > 10);
    free(archive.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_read_once), cmocka_unit_test(faults_leave_nothing)};
    int failed = cmocka_run_group_tests_name("link/files", tests, NULL, NULL);
    failed += RUN_ROWS("truncated", truncations, truncation_is_no_fault);
    return failed + RUN_ROWS("changed", changes, a_change_is_an_error);
}
