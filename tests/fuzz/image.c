/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a shared library with an image: its headers, its tables with a checksum that fits, its relocations in
 * memory. Nothing of it is called. */

#include "base/os.h"
#include "fuzz.h"
#include "image/load/image.h"
#include "tenon_compiler.h"

static void *resolve(void *context, const char *name)
{
    return *name == 'u' ? NULL : context;
}

/* Signs the tables, if the header says a possible size: fuzzers do not guess checksums. */
static void sign(uint8_t *header, uint64_t available)
{
    if (available < TN__IMAGE_HEADER)
        return;
    uint32_t size = tn__get32(header + TN__IMAGE_AT_SIZE);
    if (size >= TN__IMAGE_HEADER && size <= available)
        tn__put64(header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(header, size));
}

static void compare_with_itself(const struct tn__image_view *view, uint32_t dependency, struct tn_error *err)
{
    struct tn_image image = {.view = *view};
    struct tn_image_load_options options = {.size = sizeof options};
    struct tn__image_opening opening = {&image, &options, err, NULL};
    tn__image_compare_edges("fuzz", view, dependency, view, err);
    tn__image_find_stale(&opening, dependency, &image, false);
    tn__image_find_stale(&opening, dependency, &image, true);
    tn__arena_free(&image.arena);
}

static int refuse(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                  const struct tn_module_description **description, struct tn_error *err)
{
    (void)context, (void)ir, (void)options, (void)module, (void)description, (void)err;
    return TN_ENOTSUP;
}

static int refuse_part(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                       struct tn_error *err)
{
    (void)module, (void)request, (void)object, (void)err;
    return TN_ENOTSUP;
}

static void close_none(void *module)
{
    (void)module;
}

static void nothing(void)
{
}

/* As if all functions whose IR is kept were stale: the IR of each is read when its stub is called. */
static void recompile(struct tn_image *image, const struct tn__image_source *from)
{
    static const struct tn_compiler compiler = {
        .size = sizeof compiler, .open = refuse, .compile = refuse_part, .close = close_none};
    struct tn_image_load_options options = {
        .size = sizeof options, .compiler = &compiler, .recompiler = tn_image_recompiler(), .on_failure = nothing};
    struct tn_error err;
    const struct tn__image_opening opening = {image, &options, &err, NULL};
    uint32_t cells = image->view.tables[TN__IMAGE_CELL_TABLE].count;
    if (!image->view.tables[TN__IMAGE_KEPT_TABLE].count)
        return;
    image->stale = tn__arena_array(&image->arena, cells, sizeof *image->stale);
    for (uint32_t cell = 0; cell < cells; cell++)
        image->stale[cell] = tn__image_kept(&image->view, cell) ? TN__STALE_AGAIN : TN__FRESH;
    bool good = options.recompiler->begin(&opening, from) == 0;
    for (uint32_t cell = 0; cell < cells && good; cell++)
        if (image->stale[cell] == TN__STALE_AGAIN) {
            void (*function)(void);
            memcpy(&function, &image->again[cell], sizeof function);
            function();
        }
    if (image->file->recompilation)
        image->file->end_recompilation(image->file->recompilation);
}

static void read_tables(const uint8_t *header, uint64_t available)
{
    struct tn__arena arena = {.from = NULL};
    struct tn__image_view view;
    struct tn_error err;
    bool good = header && tn__image_read("fuzz", header, available, &arena, &view, &err) == 0;
    for (uint32_t i = 0; good && i < view.tables[TN__IMAGE_FUNCTION_TABLE].count; i++) {
        if (tn__image_function_clones(&view, i) == strlen(tn__image_function_name(&view, i)))
            (void)tn__image_function_is_public(&view, i);
        for (size_t t = 0; t < view.tables[TN__IMAGE_TARGET_TABLE].count; t++)
            if (tn__image_version(&view, i, t) >= view.places)
                __builtin_trap();
        uint32_t cell = tn__image_cell(&view, i);
        if (cell != TN__IMAGE_NO_CELL && view.cells_at + 1 + cell >= view.places)
            __builtin_trap();
    }
    if (good)
        tn__image_check_functions("fuzz", &view, &err);
    for (uint32_t i = 0; good && i < view.tables[TN__IMAGE_DEPENDENCY_TABLE].count; i++)
        compare_with_itself(&view, i, &err);
    if (good)
        tn__image_check_items("fuzz", &view, &err);
    tn__arena_free(&arena);
}

/* Places of shared symbols are checked there. */
static void read_kept(struct tn_image *image, const struct tn__image_source *from)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    struct tn_error err;
    uint64_t available;
    const uint8_t *header = tn__image_file_bytes(m, m->header, &available);
    if (header && tn__image_read("fuzz", header, available, &image->arena, &image->view, &err) == 0 &&
        available - image->view.size >= 4 * (uint64_t)image->view.places)
        recompile(image, from);
    tn__arena_free(&image->arena);
}

/* Signs the image that a mapped file has, in the file; what was mapped of it changes with it. */
static void sign_file(const struct tn__image_mapping *mapping, int fd)
{
    uint64_t available;
    const uint8_t *header = tn__image_file_bytes(mapping, mapping->header, &available);
    if (!header || available < TN__IMAGE_HEADER)
        return;
    uint8_t *copy = tn__alloc(NULL, available);
    memcpy(copy, header, available);
    sign(copy, available);
    for (size_t i = 0; i < mapping->segment_count; i++) {
        const struct tn__image_segment *s = &mapping->segments[i];
        if (mapping->header >= s->address && mapping->header - s->address < s->file_size)
            tn__os_write(fd, s->offset + (mapping->header - s->address), &(struct tn__piece){copy, TN__IMAGE_HEADER},
                         1);
    }
    tn__free(NULL, copy);
}

static void load(const uint8_t *bytes, size_t size)
{
    int fd;
    uint64_t available;
    struct tn_error err;
    struct tn__opened_file file = {.tls = NULL};
    struct tn_image image = {.file = &file};
    struct tn_image_load_options options = {.resolver = resolve, .context = &file};
    struct tn__image_mapping *mapping = &file.mapping;
    if (tn__os_memfd(size, &fd))
        return;
    if (tn__os_write(fd, 0, &(struct tn__piece){bytes, size}, 1) == 0 &&
        tn__image_map("fuzz", &(struct tn__image_source){.size = size, .fd = fd}, mapping, &err) == 0) {
        sign_file(mapping, fd);
        read_tables(tn__image_file_bytes(mapping, mapping->header, &available), available);
        read_kept(&image, &(struct tn__image_source){.size = size, .fd = fd});
        const struct tn__image_opening opening = {&image, &options, &err};
        if (tn__image_relocate(&opening) == 0)
            tn__image_register_frames(&opening);
        tn__image_forget_frames(&file);
        tn__image_give_variables(&file);
        tn__image_unmap(mapping);
    }
    tn__os_close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size && bytes[0] != 0x7f) { /* the tables alone */
        uint8_t *copy = tn__alloc(NULL, size);
        memcpy(copy, bytes, size);
        copy[0] = (uint8_t)TN__IMAGE_MAGIC[0];
        sign(copy, size);
        read_tables(copy, size);
        tn__free(NULL, copy);
    } else if (size) {
        struct tn_error err;
        tn__image_verify("fuzz", bytes, size, &err);
        load(bytes, size);
    }
    return 0;
}
