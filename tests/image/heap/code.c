/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images with both code and objects: opened as files, and as parts of the program, whose zones are moved to their
 * place. */

#include <elf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "image/write/saved.h"
#include "with_code.h"
#include "zones.h"

/* ---- the image, in a file and in the program ---- */

struct program {
    const char *path; /* of the file with code */
    struct with_code image;
    char *start; /* where the system's loader has mapped it; NULL: nowhere */
};

static struct program make(const char *name)
{
    struct program program = {.path = saved_path(name)};
    size_t size;
    zones_make(program.path, name);
    uint8_t *bytes = saved_read(program.path, &size);
    assert_int_equal(with_code_make(bytes, size, &program.image, &err), 0);
    free(bytes);
    zones_sign(program.image.bytes, program.image.size, program.image.header);
    unlink(program.path);
    saved_store(program.path, program.image.bytes, program.image.size);
    return program;
}

static void unload(struct program *program)
{
    if (program->start)
        munmap(program->start, program->image.size);
    program->start = NULL;
}

static void destroy(struct program *program)
{
    unload(program);
    free(program->image.bytes);
    unlink(program->path);
}

/* As the kernel maps a program: a private mapping of the file for each segment. */
static const void *load(struct program *program)
{
    const Elf64_Ehdr *file = (const void *)program->image.bytes;
    const Elf64_Phdr *h = (const void *)(program->image.bytes + file->e_phoff);
    FILE *opened = fopen(program->path, "rb");
    assert_non_null(opened);
    unload(program);
    char *start = mmap(NULL, program->image.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(start != MAP_FAILED);
    for (int i = 0; i < file->e_phnum; i++) {
        int prot = PROT_READ | (h[i].p_flags & PF_W ? PROT_WRITE : 0) | (h[i].p_flags & PF_X ? PROT_EXEC : 0);
        if (h[i].p_type == PT_LOAD)
            assert_true(mmap(start + h[i].p_vaddr, h[i].p_filesz, prot, MAP_PRIVATE | MAP_FIXED, fileno(opened),
                             (off_t)h[i].p_offset) == start + h[i].p_vaddr);
    }
    fclose(opened);
    program->start = start;
    return start + program->image.header;
}

enum way { FROM_FILE, FROM_MEMORY, LINKED, WAYS };

static int open_image(struct program *program, enum way way, const struct tn_image_load_options *options,
                      struct tn_image **image)
{
    if (way == LINKED)
        return tn_image_open_linked(program->start + program->image.header, options, image, &err);
    if (way == FROM_FILE)
        return tn_image_open(program->path, options, image, &err);
    return tn_image_open_memory("memory", program->image.bytes, program->image.size, options, image, &err);
}

/* What zones were linked in as is there as the file has it. */
static void check_original(const struct program *program)
{
    const struct with_code *image = &program->image;
    uint64_t words = image->values / image->page * image->page;
    assert_memory_equal(program->start + image->zones, image->bytes + image->zones, words - image->zones);
    words += image->page;
    assert_memory_equal(program->start + words, image->bytes + words, image->end - words);
}

static void check_image(struct tn_heap *heap, const struct program *program, const struct tn_image *image)
{
    zones_check(heap, image);
    const struct tn_handle *root = saved_root(heap, image);
    const uint64_t *values = tn_image_lookup(image, "run");
    assert_non_null(values);
    values = (const void *)((const char *)values - program->image.code + program->image.values);
    assert_true(values[0] == (uintptr_t)tn_image_type(image, "link"));
    tn_managed_begin();
    assert_true(values[1] == (uintptr_t)tn_handle_object(root));
    tn_managed_end();
    assert_true(values[2] == 1 && values[-1] == (uintptr_t)tn_image_lookup(image, "run"));
}

static bool is_at_its_place(const struct tn_image *image)
{
    return zones_memory(image).address == zones_memory(image).intended;
}

/* ---- opening ---- */

static void zones_come_to_their_place(void **state)
{
    struct program program = make("code");
    (void)state;
    for (enum way way = 0; way < WAYS; way++)
        for (uint64_t flags = 0; flags <= TN_IMAGE_RELOCATE; flags += TN_IMAGE_RELOCATE) {
            struct tn_image *image;
            struct tn_heap *heap = saved_heap();
            struct tn_image_load_options options = zones_options(heap, flags | TN_IMAGE_VERIFY);
            load(&program);
            assert_int_equal(open_image(&program, way, &options, &image), 0);
            assert_true(is_at_its_place(image) == !flags);
            assert_true(zones_memory(image).written < 10 || flags);
            check_image(heap, &program, image);
            check_original(&program);
            struct tn_handle *list = saved_root(heap, image);
            assert_int_equal(tn_handle_store(list, offsetof(struct link, other), list, &err), 0);
            tn_heap_collect(heap, 0);
            check_original(&program);
            tn_image_close(image);
            tn_heap_destroy(heap);
        }
    destroy(&program);
}

static void what_is_taken_is_not_replaced(void **state)
{
    struct program program = make("taken");
    struct tn_image *image, *again;
    (void)state;
    for (enum way way = 0; way < WAYS; way++) {
        struct tn_heap *heap = saved_heap();
        struct tn_image_load_options options = zones_options(heap, 0);
        load(&program);
        assert_int_equal(open_image(&program, way, &options, &image), 0);
        struct tn_image_memory memory = zones_memory(image);
        int code = open_image(&program, way, &options, &again);
        assert_int_equal(code, way == LINKED ? TN_EDUP : 0);
        assert_true(way == LINKED || !is_at_its_place(again));
        tn_image_close(image);
        assert_int_equal(open_image(&program, LINKED, &options, &image), way == LINKED ? TN_EDUP : 0);
        tn_image_close(image);
        tn_image_close(again);
        tn_heap_destroy(heap);
        heap = options.heap = saved_heap();
        char *other = mmap((void *)(uintptr_t)(memory.intended + memory.length - 4096), 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        assert_true((uintptr_t)other == memory.intended + memory.length - 4096);
        other[9] = 9;
        load(&program);
        assert_int_equal(open_image(&program, way, &options, &image), 0);
        assert_true(!is_at_its_place(image) && other[9] == 9);
        check_image(heap, &program, image);
        tn_image_close(image);
        tn_heap_destroy(heap);
        munmap(other, 4096);
    }
    destroy(&program);
}

/* Where requests fail, objects are copied, or displaced, or it is an error that leaves nothing. */
static void refusals_are_survived(void **state)
{
    enum { MOVE = 1 }; /* the second request, if the image is linked in; pages that cannot be moved are copied */
    static const char *const kinds[] = {"F", "P"};
    struct program program = make("refused");
    (void)state;
    for (enum way way = 0; way < WAYS; way++)
        for (int at = 0; at < 40 * (int)TN_COUNT(kinds); at++) {
            struct tn_image *image = NULL;
            struct tn_heap *heap = saved_heap();
            struct tn_image_load_options options = zones_options(heap, 0);
            char plan[256] = "";
            for (int i = 0; i < at / (int)TN_COUNT(kinds); i++)
                strcat(plan, ". ");
            strcat(plan, kinds[at % (int)TN_COUNT(kinds)]);
            load(&program);
            assert_int_equal(tn__os_set_faults(plan), 0);
            int code = open_image(&program, way, &options, &image);
            tn__os_set_faults(NULL);
            assert_true(!code || code == TN_ENOMEM || code == TN_EPERM || code == TN_EIO);
            assert_true(way != LINKED || at / (int)TN_COUNT(kinds) != MOVE || (!code && is_at_its_place(image)));
            check_original(&program);
            if (code == 0)
                check_image(heap, &program, image);
            tn_image_close(image);
            tn_heap_destroy(heap);
            heap = options.heap = saved_heap();
            assert_int_equal(open_image(&program, way, &options, &image), 0);
            assert_true(is_at_its_place(image));
            tn_image_close(image);
            tn_heap_destroy(heap);
        }
    destroy(&program);
}

/* Objects are compared with what they were, so only what has changed is a patch. */
static void images_are_saved_on_top(void **state)
{
    struct program program = make("below");
    const char *path = saved_path("above");
    struct tn_image *below, *above;
    (void)state;
    for (enum way way = 0; way < WAYS; way++)
        for (uint64_t flags = 0; flags <= TN_IMAGE_RELOCATE; flags += TN_IMAGE_RELOCATE) {
            struct tn_heap *heap = saved_heap();
            struct tn_image_load_options options = zones_options(heap, flags);
            load(&program);
            assert_int_equal(open_image(&program, way, &options, &below), 0);
            struct tn_handle *list = saved_root(heap, below);
            uint64_t value = 44, count;
            assert_int_equal(tn_handle_write(list, offsetof(struct link, value), &value, 8, &err), 0);
            const struct tn_save_options save = {.size = sizeof save,
                                                 .name = "above",
                                                 .images = &below,
                                                 .image_count = 1,
                                                 .name_of = zones_name,
                                                 .flags = TN_SAVE_STRICT};
            assert_int_equal(saved_write(heap, &save, list, NULL, path), 0);
            assert_int_equal(zones_rows(path, TN__IMAGE_PATCH_TABLE), 1);
            tn_image_close(below);
            tn_heap_destroy(heap);

            heap = options.heap = saved_heap();
            load(&program);
            assert_int_equal(open_image(&program, way, &options, &below), 0);
            options.images = &below;
            options.image_count = 1;
            assert_int_equal(tn_image_open(path, &options, &above, &err), 0);
            list = saved_root(heap, below);
            assert_true(saved_sum(list, &count) == 7 - 4 + 44 + (uintptr_t)zones_anchor && count == 4);
            tn_image_close(above);
            tn_image_close(below);
            tn_heap_destroy(heap);
        }
    unlink(path);
    destroy(&program);
}

/* Zones that would not be brought together, and objects that are in no file. */
static void what_is_wrong_is_refused(void **state)
{
    struct program program = make("wrong");
    const char *path = saved_path("alone");
    struct tn_image *image;
    size_t size;
    uint32_t rows;
    (void)state;
    zones_make(path, "alone");
    struct tn_heap *heap = saved_heap();
    struct tn_image_load_options options = zones_options(heap, 0);
    uint8_t *bytes = program.image.bytes,
            *row = bytes + zones_table(bytes, program.image.size, TN__IMAGE_ZONE_TABLE, &rows) + TN__IMAGE_ZONE;
    uint64_t address = tn__get64(row + TN__IMAGE_ZONE_ADDRESS);
    for (int pages = -1; pages <= 1; pages++) {
        tn__put64(row + TN__IMAGE_ZONE_ADDRESS, address + (uint64_t)pages * program.image.page);
        zones_sign(bytes, program.image.size, program.image.header);
        int code = open_image(&program, FROM_MEMORY, &options, &image);
        assert_int_equal(code, pages ? TN_EFORMAT : 0);
        assert_true(!code || strstr(err.text, "does not follow the one before"));
        tn_image_close(image);
    }
    bytes = saved_read(path, &size);
    assert_int_equal(tn_image_open_linked(bytes + zones_header(bytes, size), &options, &image, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "it has saved objects without code, and is no file"));
    free(bytes);
    unlink(path);
    tn_heap_destroy(heap);
    destroy(&program);
}

/* ---- the object that linkers get ---- */

static const Elf64_Shdr *find_section(const uint8_t *object, const char *name)
{
    const Elf64_Ehdr *file = (const void *)object;
    const Elf64_Shdr *sections = (const void *)(object + file->e_shoff);
    const char *names = (const char *)object + sections[file->e_shstrndx].sh_offset;
    for (int i = 0; i < file->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    return NULL;
}

/* One for each section of objects or lists, with its name. */
static void check_symbols(const uint8_t *object, const Elf64_Shdr *table)
{
    const Elf64_Ehdr *file = (const void *)object;
    const Elf64_Shdr *sections = (const void *)(object + file->e_shoff);
    const Elf64_Sym *symbols = (const void *)(object + table->sh_offset);
    for (size_t i = 1; i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Shdr *section = &sections[symbols[i].st_shndx];
        const char *name = (const char *)object + sections[table->sh_link].sh_offset + symbols[i].st_name,
                   *in = (const char *)object + sections[file->e_shstrndx].sh_offset + section->sh_name;
        assert_true(strncmp(name, "image.", 6) == 0 && strncmp(in, ".tenon.", 7) == 0);
        assert_string_equal(name + 6, in + 7);
        assert_true(symbols[i].st_size == section->sh_size && symbols[i].st_value == 0);
        assert_true(ELF64_ST_BIND(symbols[i].st_info) == STB_GLOBAL && symbols[i].st_other == STV_HIDDEN);
    }
    assert_int_equal(table->sh_info, 1);
}

static void objects_become_sections(void **state)
{
    static const char *const names[] = {".tenon.frozen", ".tenon.sealed", ".tenon.bound", ".tenon.mutable"};
    const char *path = saved_path("object");
    struct tn__arena arena = {.from = NULL};
    struct tn__saved saved;
    struct tn_buffer object;
    size_t size, found = 0;
    uint32_t count;
    (void)state;
    zones_make(path, "object");
    uint8_t *bytes = saved_read(path, &size);
    assert_int_equal(tn__saved_read_file(path, bytes, size, &arena, &saved, &err), 0);
    assert_int_equal(tn__saved_object(&saved, "image", &object, &err), 0);
    const uint8_t *at = saved.zones;
    for (int kind = 0; kind < TN__ZONES; kind++) {
        const Elf64_Shdr *in_file = find_section(bytes, names[kind]), *section = find_section(object.data, names[kind]);
        assert_true(!in_file == !section);
        if (!section)
            continue;
        found++;
        assert_true(section->sh_size == in_file->sh_size && section->sh_addralign == in_file->sh_addralign);
        assert_true(section->sh_flags == (SHF_ALLOC | (kind == TN__ZONE_FROZEN ? 0 : SHF_WRITE)));
        assert_memory_equal((uint8_t *)object.data + section->sh_offset, bytes + in_file->sh_offset, section->sh_size);
        assert_ptr_equal(at, bytes + in_file->sh_offset);
        at += section->sh_size;
    }
    assert_true(found >= 3);
    const struct tn__image_rows *lists = &saved.view.tables[TN__IMAGE_LIST_TABLE];
    const Elf64_Shdr *section = find_section(object.data, ".tenon.lists");
    uint64_t total = 0, first = UINT64_MAX, end = 0;
    uint8_t *rows = malloc((size_t)lists->count * lists->size);
    tn__saved_copy_rows(&saved, TN__IMAGE_LIST_TABLE, rows);
    for (uint32_t i = 0; i < lists->count; i++) {
        uint64_t place = tn__get64(rows + i * lists->size + TN__IMAGE_LIST_PLACE),
                 length = tn__get64(rows + i * lists->size + TN__IMAGE_LIST_SIZE);
        assert_true(tn__inside(place, length, section->sh_size));
        assert_true(tn__image_checksum((uint8_t *)object.data + section->sh_offset + place, length, 0) ==
                    tn__get64(rows + i * lists->size + TN__IMAGE_LIST_SUM));
        total += length;
        first = tn__min64(first, place);
        end = tn__max64(end, place + length);
    }
    assert_true(first == 0 && end == total && end == section->sh_size && total);
    assert_null(find_section(object.data, ".rela.tenon.frozen"));
    const Elf64_Shdr *symbols = find_section(object.data, ".symtab");
    assert_int_equal(symbols->sh_size / sizeof(Elf64_Sym), 1 + found + 1);
    check_symbols(object.data, symbols);
    free(rows);
    tn_buffer_free(&object);
    size_t zone = zones_table(bytes, size, TN__IMAGE_ZONE_TABLE, &count);
    for (uint64_t too_large = UINT64_C(1) << 31; too_large <= UINT64_C(1) << 40; too_large *= 2) {
        tn__put64(bytes + zone + TN__IMAGE_ZONE_SIZE, too_large);
        assert_int_equal(tn__saved_object(&saved, "image", &object, &err), TN_ERANGE);
    }
    tn__arena_free(&arena);
    free(bytes);
    unlink(path);
}

/* Rows of the types of code. */
static void damaged_layouts_are_refused(void **state)
{
    static const struct {
        uint32_t field, value;
        int code;
        const char *text;
    } cases[] = {
        {TN__IMAGE_LAYOUT_OFFSET_COUNT, 1, 0, ""},
        {TN__IMAGE_LAYOUT_NAME, UINT32_MAX, TN_EFORMAT, "layout 0: its name lies outside of the text"},
        {TN__IMAGE_LAYOUT_OFFSET_COUNT, UINT32_MAX, TN_EFORMAT, "layout 0: its offsets lie outside of the text"},
        {TN__IMAGE_LAYOUT_OFFSETS, UINT32_MAX, TN_EFORMAT, "layout 0: its offsets lie outside of the text"},
        {TN__IMAGE_LAYOUT_OFFSETS, 0, 0, ""},
    };
    struct program program = make("layouts");
    struct tn_heap *heap = saved_heap();
    const struct tn_image_load_options options = zones_options(heap, 0);
    uint8_t *row = program.image.bytes + program.image.layout;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        struct tn_image *image;
        uint32_t before = tn__get32(row + cases[i].field);
        tn__put32(row + cases[i].field, cases[i].value);
        zones_sign(program.image.bytes, program.image.size, program.image.header);
        int code = open_image(&program, FROM_MEMORY, &options, &image);
        if (code != cases[i].code || (code && !strstr(err.text, cases[i].text)))
            fail_msg("case %zu: %d %s", i, code, err.text);
        tn_image_close(image);
        tn__put32(row + cases[i].field, before);
    }
    tn_heap_destroy(heap);
    destroy(&program);
}

/* Files whose zones or lists lie outside, or which have code. */
static void other_files_are_no_objects(void **state)
{
    static const struct {
        uint32_t table, field, size;
        uint64_t value;
        int code;
    } cases[] = {
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_SIZE, 8, 1 << 20, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_SIZE, 8, 4097, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_SIZE, 8, UINT64_MAX / 4096 * 4096, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PAGE, 4, 0, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PAGE, 4, 4095, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, 3 * TN__IMAGE_ZONE + TN__IMAGE_ZONE_KIND, 4, TN__ZONES, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_KIND, 4, TN__ZONE_MUTABLE, TN_EFORMAT},
        {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PLACE, 8, 4096, TN_EFORMAT},
        {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_PLACE, 8, 1 << 30, TN_EFORMAT},
        {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_SIZE, 8, 1 << 30, TN_EFORMAT},
        {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_PLACE, 8, 4, TN_EFORMAT},
    };
    const char *path = saved_path("refused");
    struct tn__arena arena = {.from = NULL};
    struct tn__saved saved;
    size_t size;
    uint32_t rows;
    (void)state;
    zones_make(path, "refused");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        memcpy(copy, bytes, size);
        size_t header = zones_header(copy, size), table = zones_table(copy, size, cases[i].table, &rows);
        memcpy(copy + table + cases[i].field, &cases[i].value, cases[i].size);
        zones_sign(copy, size, header);
        int code = tn__saved_read_file(path, copy, size, &arena, &saved, &err);
        if (code != cases[i].code)
            print_error("case %zu: %d\n", i, code);
        assert_int_equal(code, cases[i].code);
    }
    struct program program = make("refused");
    assert_int_equal(tn__saved_read_file(path, program.image.bytes, program.image.size, &arena, &saved, &err),
                     TN_ENOTSUP);
    assert_non_null(strstr(err.text, "not an image of saved objects alone"));
    destroy(&program);
    tn__arena_free(&arena);
    free(bytes);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_come_to_their_place),   cmocka_unit_test(what_is_taken_is_not_replaced),
        cmocka_unit_test(refusals_are_survived),       cmocka_unit_test(images_are_saved_on_top),
        cmocka_unit_test(what_is_wrong_is_refused),    cmocka_unit_test(objects_become_sections),
        cmocka_unit_test(damaged_layouts_are_refused), cmocka_unit_test(other_files_are_no_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
