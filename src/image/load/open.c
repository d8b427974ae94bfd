/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images in files of their own are mapped, checked and relocated, and their slots filled, before anything in them is
 * called. After an error nothing of them is left. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "image/load/image.h"

static void unload(struct tn_image *image)
{
    tn__image_run_thread_exits(image);
    tn__image_finalize(image);
    tn__image_leave(image);
}

/* ---- places ---- */

/* As a file's address. */
static uint64_t address_at(const struct tn__image_mapping *m, const uint8_t *places, uint32_t index)
{
    return m->header + (uint64_t)(int64_t)(int32_t)tn__get32(places + 4 * (size_t)index);
}

/* Whether `count` places lie in one segment of code. There may be many: no branch for each. */
static bool all_code(const struct tn__image_mapping *m, const uint8_t *places, uint32_t first, uint32_t count)
{
    const struct tn__image_segment *code =
        count ? tn__image_segment_at(m, address_at(m, places, first), 1, TN__PROT_RX) : NULL;
    if (!code)
        return !count;
    uint64_t start = code->address, size = code->size;
    bool outside = false;
    for (uint32_t i = 0; i < count; i++)
        outside |= address_at(m, places, first + i) - start >= size;
    return !outside;
}

/* Cells have to stay writable when the image is open, and entries have to be code. */
static int check_cells(const struct tn__image_opening *o, const uint8_t *places)
{
    const struct tn__image_view *view = &o->image->view;
    const struct tn__image_mapping *m = &o->image->file->mapping;
    uint32_t count = view->tables[TN__IMAGE_CELL_TABLE].count;
    if (!count)
        return 0;
    uint64_t cells = address_at(m, places, view->cells_at), size = TN__IMAGE_CELL * (uint64_t)count;
    uint64_t page = tn__os_page_size(), sealed = m->relro.address / page * page,
             end = (m->relro.address + m->relro.size) / page * page;
    if (cells % 8 || !tn__image_at(m, cells, size, TN__PROT_RW) || (cells < end && cells + size > sealed))
        return tn__fail(o->err, TN_EFORMAT, "%s: its cells lie outside of its writable memory", m->name);
    if (!all_code(m, places, view->cells_at + 1, count))
        return tn__fail(o->err, TN_EFORMAT, "%s: its entries do not all lie in one segment of code", m->name);
    return 0;
}

/* Slots have to be writable memory, and versions code; versions for other targets are not checked. */
static int check_places(const struct tn__image_opening *o)
{
    const struct tn__image_view *view = &o->image->view;
    struct tn__opened_file *file = o->image->file;
    const struct tn__image_mapping *m = &file->mapping;
    uint64_t available;
    const uint8_t *places = tn__image_file_bytes(m, m->header, &available) + view->size;
    available -= view->size;
    uint32_t functions = view->tables[TN__IMAGE_FUNCTION_TABLE].count;
    uint32_t chosen = tn__image_version(view, 0, o->image->chosen), single = tn__image_version(view, view->slots, 0);
    if (view->places > available / 4)
        return tn__fail(o->err, TN_EFORMAT, "%s: %u places, where %llu bytes are", m->name, view->places,
                        (unsigned long long)available);
    file->slots = address_at(m, places, TN__IMAGE_SLOT_PLACE);
    file->slots_size = 8 * (uint64_t)view->slots;
    if (view->slots && (file->slots % 8 || !tn__image_at(m, file->slots, file->slots_size, TN__PROT_RW)))
        return tn__fail(o->err, TN_EFORMAT, "%s: its %u slots lie outside of its writable memory", m->name,
                        view->slots);
    if (!all_code(m, places, chosen, view->slots) || !all_code(m, places, single, functions - view->slots))
        return tn__fail(o->err, TN_EFORMAT, "%s: its functions do not all lie in one segment of code", m->name);
    uint64_t values = view->values_at ? address_at(m, places, view->values_at) : 0,
             size = 8 * ((uint64_t)view->tables[TN__IMAGE_VALUE_TABLE].count + (view->zones_at != 0));
    if (size && (values % 8 || !tn__image_at(m, values, size, TN__PROT_RW)))
        return tn__fail(o->err, TN_EFORMAT, "%s: its values lie outside of its writable memory", m->name);
    return check_cells(o, places);
}

/* Pages that contain nothing but slots are replaced by fresh ones, all at once: those of the file would be copied one
 * by one, only to be overwritten. */
static int fill_slots(const struct tn__image_opening *o)
{
    const struct tn__opened_file *file = o->image->file;
    uint64_t page = tn__os_page_size(), first = file->mapping.bias + file->slots;
    uint64_t start = tn__align_up(first, page), end = (first + file->slots_size) / page * page;
    int error = end > start ? tn__os_commit(start, end - start, TN__PROT_RW) : 0;
    if (error)
        return tn__fail(o->err, TN_ENOMEM, "%s: no memory for its slots: %s", file->mapping.name, strerror(error));
    if (end > start)
        tn__os_prefault(start, end - start);
    return tn__image_fill_slots(o);
}

/* ---- from a file to memory ---- */

struct tn__image_contents {
    const char *name;
    struct tn__image_source from;
    struct tn__os_file copied; /* what may change while it is read */
    int copy;                  /* the file in memory that is mapped instead of `from`; -1: none */
    const uint8_t *id;         /* the build id that it has to have; NULL: any */
};

/* Contents that others may change are copied first. */
static int read_contents(const struct tn__image_opening *o)
{
    struct tn__image_contents *c = o->contents;
    bool is_ours;
    c->from.at_address = o->options->heaps && !(o->options->flags & TN_IMAGE_RELOCATE);
    if (c->from.bytes)
        return 0;
    int error = tn__os_file_status(c->from.fd, &c->from.size, &is_ours);
    if (!error && is_ours && !(o->options->flags & TN_IMAGE_COPY))
        return 0;
    if (!error)
        error = tn__os_copy_open_file(c->from.fd, &c->copied);
    if (error)
        return tn__fail(o->err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: cannot be read: %s", c->name,
                        strerror(error));
    if (!c->copied.size)
        return tn__fail(o->err, TN_EFORMAT, "%s: not an ELF file: it is empty", c->name);
    c->from.bytes = c->copied.bytes;
    c->from.size = c->copied.size;
    return 0;
}

static int verify(const struct tn__image_opening *o)
{
    const struct tn__image_contents *c = o->contents;
    struct tn__os_file file;
    if (!(o->options->flags & TN_IMAGE_VERIFY))
        return 0;
    if (c->from.bytes)
        return tn__image_verify(c->name, c->from.bytes, c->from.size, o->err);
    int error = tn__os_map_open_file(c->from.fd, &file);
    if (error)
        return tn__fail(o->err, TN_EIO, "%s: cannot be read: %s", c->name, strerror(error));
    int code = tn__image_verify(c->name, file.bytes, file.size, o->err);
    tn__os_unmap_file(&file);
    return code;
}

/* A file of this process alone with these contents. */
static int make_file(const struct tn__image_contents *c, int *fd, struct tn_error *err)
{
    int error = tn__os_memfd(c->from.size, fd);
    if (error)
        return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EPERM, "%s: the system refuses a file in memory: %s",
                        c->name, strerror(error));
    error = tn__os_write(*fd, 0, &(struct tn__piece){c->from.bytes, c->from.size}, 1);
    if (!error)
        error = tn__os_seal(*fd);
    if (!error)
        return 0;
    tn__os_close(*fd);
    return tn__fail(err, TN_EIO, "%s: cannot be copied: %s", c->name, strerror(error));
}

/* Policies that refuse a file in memory often permit private memory, and the other way round. */
static int map(const struct tn__image_opening *o)
{
    struct tn__image_contents *c = o->contents;
    struct tn__image_mapping *mapping = &o->image->file->mapping;
    struct tn__image_source file = {.size = c->from.size, .at_address = c->from.at_address};
    int code = c->from.bytes ? make_file(c, &file.fd, o->err) : TN_EPERM;
    if (!code) {
        c->copy = file.fd;
        code = tn__image_map(c->name, &file, mapping, o->err);
    }
    return code == TN_EPERM ? tn__image_map(c->name, &c->from, mapping, o->err) : code;
}

static void unmap(struct tn__opened_file *file)
{
    tn__image_unmap(&file->mapping);
}

/* Reads the image in the mapped file. It is in memory that is never written, so it stays as it was checked. */
static int read_tables(const struct tn__image_opening *o)
{
    const struct tn__image_mapping *m = &o->image->file->mapping;
    uint64_t available;
    const uint8_t *header = tn__image_file_bytes(m, m->header, &available);
    if (!header)
        return tn__fail(o->err, TN_EFORMAT, "%s: the image lies outside of its segments, or in writable memory",
                        m->name);
    int code = tn__image_read(m->name, header, available, &o->image->arena, &o->image->view, o->err);
    if (!code && o->image->view.machine != m->machine)
        code = tn__fail(o->err, TN_EFORMAT, "%s: an image for ELF machine %u in a file for %u", m->name,
                        o->image->view.machine, m->machine);
    if (!code && o->contents->id && memcmp(tn_image_build_id(o->image), o->contents->id, TN__IMAGE_ID))
        code = tn__fail(o->err, TN_EFORMAT, "%s: it has another build id than its name says", m->name);
    return code;
}

/* ---- stale functions ---- */

static int begin_recompiling(const struct tn__image_opening *o)
{
    return o->image->stale && o->options->recompiler ? o->options->recompiler->begin(o, &o->contents->from) : 0;
}

static void end_recompiling(struct tn__opened_file *file)
{
    if (file->recompilation)
        file->end_recompilation(file->recompilation);
}

/* ---- the phases ---- */

/* So many phases only read the file; so many check what depends on this process, and call nothing. */
enum { READING = 4, CHECKING = 8 };

/* Closing undoes them, too. */
static const struct tn__image_phase loading[] = {
    {read_contents},                                      /* copies a file that others may change */
    {verify},                                             /* the checksum of the whole file, if asked for */
    {map, unmap},                                         /* reserves addresses, and maps the segments there */
    {read_tables},                                        /* all but the rows of functions */
    {tn__image_choose},                                   /* a target for this CPU */
    {tn__image_check_dependencies},                       /* they are open, and have what is used of them */
    {check_places},                                       /* entries in code, slots and cells in data */
    {tn__image_relocate, tn__image_give_variables},       /* binds symbols; takes space in the TLS reserve */
    {tn__image_register_frames, tn__image_forget_frames}, /* for the program's unwinder */
    {tn__image_enter_managed, tn__image_leave_managed},   /* stack maps and root ranges, for the collector */
    {begin_recompiling, end_recompiling},                 /* stubs for stale functions */
    {fill_slots},                                         /* with the versions for the chosen target */
    {tn__image_open_heap},                                /* saved objects become part of the heap */
    {tn__image_fill_values},                              /* code finds types and objects; types are compared */
    {tn__image_seal},                                     /* what only relocations write */
    {tn__image_enter},                                    /* it has users, and stays until the last is gone */
};

void tn__image_close_checked(struct tn_image *image)
{
    tn__image_release(image->file);
    tn__image_free(image);
}

void tn__image_release(struct tn__opened_file *file)
{
    for (size_t i = TN_COUNT(loading); i-- > 0;)
        if (loading[i].undo)
            loading[i].undo(file);
}

static int initialize(const struct tn__image_opening *o)
{
    const struct tn__image_calls *calls = &o->image->file->initializers;
    o->image->unload = unload;
    for (uint64_t i = 0; i < calls->count; i++) {
        void (*function)(int count, char **values, char **environment);
        memcpy(&function, (const void *)(uintptr_t)(calls->address + 8 * i), sizeof function);
        function(0, NULL, environ);
    }
    return 0;
}

/* From here on other images may use its types, so it is closed after an error. The program's functions run last; when
 * one fails, the heap has not used the image. */
static const struct tn__image_phase starting[] = {
    {tn__image_settle},           /* types that images of the heap have already are led to these */
    {tn__image_finalize_at_exit}, /* finalizers that closing has not run */
    {initialize},                 /* runs initializers */
    {tn__image_restore},          /* runs the functions of TN_RESTORE */
};

static int load(const struct tn__image_opening *o, size_t phases)
{
    static const struct tn__image_files files = {tn__image_segment_at, tn__image_file_bytes};
    o->image->files = &files;
    o->image->leave = tn__image_leave;
    int code = tn__image_run(loading, phases, o);
    if (!code)
        return 0;
    if (o->image->heap)
        o->options->heaps->close(o->image);
    tn__image_close_checked(o->image);
    return code;
}

static int start(const struct tn__image_opening *o)
{
    struct tn_image *image = o->image;
    int code = tn__image_run(starting, TN_COUNT(starting), o);
    if (!code)
        return 0;
    if (image->heap && o->options->heaps->close(image))
        tn__image_leave(image);
    if (image->unload)
        tn_image_close(image);
    else
        tn__image_leave(image);
    return code;
}

/* Of all phases of loading, the file is started too. */
static int open_source(const struct tn__image_source *from, const char *name, const uint8_t *id, size_t phases,
                       const struct tn_image_load_options *given, struct tn_image **out, struct tn_error *err)
{
    struct tn__image_contents contents = {.name = name, .from = *from, .copy = -1, .id = id};
    struct tn_image_load_options options;
    struct tn_image *image;
    *out = NULL;
    int code = tn__image_new(name, given, &options, &image, err);
    if (code)
        return code;
    image->file = tn__arena_array(&image->arena, 1, sizeof *image->file);
    if (!image->file) {
        tn__image_free(image);
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    }
    struct tn__image_opening opening = {image, &options, err, &contents};
    code = load(&opening, phases);
    if (contents.copy >= 0)
        tn__os_close(contents.copy);
    tn__os_unmap_file(&contents.copied);
    if (code)
        return code;
    if (phases == TN_COUNT(loading)) {
        image->file->mapping.name = NULL; /* the caller's */
        code = start(&opening);
    }
    *out = code ? NULL : image;
    return code;
}

int tn__image_open_source(const struct tn__image_source *from, const char *name, const uint8_t *id,
                          const struct tn_image_load_options *options, struct tn_image **out, struct tn_error *err)
{
    return open_source(from, name, id, TN_COUNT(loading), options, out, err);
}

int tn__image_open_reading(const struct tn__image_source *from, const char *name,
                           const struct tn_image_load_options *options, struct tn_image **out, struct tn_error *err)
{
    return open_source(from, name, NULL, READING, options, out, err);
}

int tn__image_open_checked(const struct tn__image_source *from, const char *name,
                           const struct tn_image_load_options *options, struct tn_image **out, struct tn_error *err)
{
    return open_source(from, name, NULL, CHECKING, options, out, err);
}

int tn_image_open(const char *path, const struct tn_image_load_options *options, struct tn_image **out,
                  struct tn_error *err)
{
    struct tn__image_source from = {.size = 0};
    if (!path || !out)
        return tn__no_argument(err);
    *out = NULL;
    int error = tn__os_open(path, &from.fd);
    if (error)
        return tn__fail(err, TN_EIO, "%s: cannot be opened: %s", path, strerror(error));
    int code = tn__image_open_source(&from, path, NULL, options, out, err);
    tn__os_close(from.fd);
    return code;
}

int tn_image_open_memory(const char *name, const void *bytes, size_t size, const struct tn_image_load_options *options,
                         struct tn_image **out, struct tn_error *err)
{
    if (!bytes || !out)
        return tn__no_argument(err);
    *out = NULL;
    if (!size)
        return tn__fail(err, TN_EINVAL, "tn_image_open_memory: no bytes");
    const struct tn__image_source from = {.bytes = bytes, .size = size};
    return tn__image_open_source(&from, name ? name : "<memory>", NULL, options, out, err);
}
