/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stale functions of a file that are compiled again (doc/PACKAGES.md): from the IR that the file has for that, when
 * they are first called, by the client's compiler. The image has a session of its own with a lazy function for each of
 * them, to whose stub its cell leads. All that such code shares with the image it finds there, by name: so it has no
 * variables of its own. */

#include <elf.h>
#include <errno.h>
#include <stdio.h>

#include "base/at_exit.h"
#include "base/os.h"
#include "base/sha256/sha256.h"
#include "base/shown_name.h"
#include "cache/compiler.h"
#include "image/load/image.h"

/* WINDOW: of the address space that the session's code needs, for each byte of IR. */
enum { NAME = 256, SMALLEST_WINDOW = 16 << 20, WINDOW = 16, SCAN = 4096 };

struct recompiled {
    struct tn__image_recompilation *all;
    const uint8_t *row; /* of the table of kept functions */
    const char *body;   /* its name in the IR */
};

struct tn__image_recompilation {
    const struct tn_image *image;
    struct tn_session *session;
    struct tn_library *library;
    struct tn_compiler compiler;
    struct tn_image_load_options options; /* where names are looked up */
    int fd;                               /* of the file; -1: `ir` is a copy of the section */
    struct tn__os_identity identity;      /* of that */
    uint8_t *ir;
    uint64_t offset, size; /* of the section; in the file, if it is not copied */
    size_t count;
    struct recompiled *functions;
};

/* ---- tables ---- */

/* Opening does not look at what only stale functions need. */
static int check_settings(const struct tn__image_view *v, const char *name, struct tn_error *err)
{
    const struct tn__image_rows *settings = &v->tables[TN__IMAGE_SETTING_TABLE];
    for (uint32_t i = 0; i < settings->count; i++) {
        const uint8_t *row = tn__image_row(settings, i);
        uint32_t level = tn__get32(row + TN__IMAGE_SETTING_LEVEL);
        if (!tn__image_text(v, row + TN__IMAGE_SETTING_CPU) || !tn__image_text(v, row + TN__IMAGE_SETTING_FEATURES) ||
            level > 3)
            return tn__fail(err, TN_EFORMAT, "%s: setting %u: level %u, or its names lie outside of the text", name, i,
                            level);
    }
    return 0;
}

static int check_shared(const struct tn__image_view *v, const char *name, struct tn_error *err)
{
    const struct tn__image_rows *shared = &v->tables[TN__IMAGE_SHARED_TABLE];
    for (uint32_t i = 0; i < shared->count; i++)
        if (!tn__image_text(v, tn__image_row(shared, i)))
            return tn__fail(err, TN_EFORMAT, "%s: shared symbol %u: its name lies outside of the text", name, i);
    return 0;
}

static int check_tables(const struct tn__image_opening *o)
{
    const struct tn__image_view *view = &o->image->view;
    const char *name = tn__image_label(o->image);
    int code = check_settings(view, name, o->err);
    return code ? code : check_shared(view, name, o->err);
}

/* ---- the section with the IR ---- */

static int read_source(const struct tn__image_source *from, uint64_t offset, void *bytes, size_t size)
{
    size_t got = size;
    int error = from->bytes ? 0 : tn__os_read_open(from->fd, offset, bytes, size, &got);
    if (from->bytes && tn__inside(offset, size, from->size))
        memcpy(bytes, from->bytes + offset, size);
    else if (from->bytes || (!error && got < size))
        error = EINVAL; /* it ends before */
    return error;
}

/* Finds the section by its name: the file has it for no other purpose. */
static bool find_section(const struct tn__image_source *from, uint64_t *offset, uint64_t *size)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    char name[sizeof TN__IMAGE_IR_SECTION];
    if (read_source(from, 0, &header, sizeof header) || header.e_shentsize != sizeof section ||
        header.e_shstrndx >= header.e_shnum ||
        read_source(from, header.e_shoff + header.e_shstrndx * sizeof names, &names, sizeof names))
        return false;
    for (size_t i = 1; i < header.e_shnum; i++) {
        if (read_source(from, header.e_shoff + i * sizeof section, &section, sizeof section))
            return false;
        if (section.sh_type == SHT_PROGBITS && tn__inside(section.sh_name, sizeof name, names.sh_size) &&
            tn__inside(section.sh_offset, section.sh_size, from->size) &&
            read_source(from, names.sh_offset + section.sh_name, name, sizeof name) == 0 &&
            memcmp(name, TN__IMAGE_IR_SECTION, sizeof name) == 0) {
            *offset = section.sh_offset;
            *size = section.sh_size;
            return true;
        }
    }
    return false;
}

/* The file may be replaced or closed when the IR is needed, so it is kept open, or what was copied of it is. */
static int keep_source(struct tn__image_recompilation *r, const struct tn__image_source *from, const char *name,
                       struct tn_error *err)
{
    if (!find_section(from, &r->offset, &r->size))
        return tn__fail(err, TN_ENOTSUP, "%s: the section %s, with the IR of stale functions, was removed from it",
                        name, TN__IMAGE_IR_SECTION);
    if (!from->bytes) {
        int error = tn__os_open_again(from->fd, &r->fd);
        r->identity = error ? r->identity : tn__os_identify(r->fd);
        return error ? tn__fail(err, TN_EIO, "%s: cannot be kept open: %s", name, strerror(error)) : 0;
    }
    r->ir = tn__alloc(NULL, (size_t)r->size + 1);
    if (!r->ir)
        return tn__no_memory(err, name);
    memcpy(r->ir, from->bytes + r->offset, (size_t)r->size);
    r->offset = 0;
    return 0;
}

/* Reads bytes of the section. */
static int read_section(const struct tn__image_recompilation *r, uint64_t at, void *bytes, size_t size)
{
    const struct tn__image_source from = {.bytes = r->ir, .size = r->size, .fd = r->fd};
    if (!tn__inside(at, size, r->size) || (!r->ir && !tn__os_is(r->fd, r->identity)))
        return EINVAL;
    return read_source(&from, r->offset + at, bytes, size);
}

/* Finds the next part of an image, from *at on. */
static bool find_part(const struct tn__image_recompilation *r, uint64_t *at)
{
    uint8_t bytes[SCAN];
    for (*at = tn__align_up(*at, 8); *at < r->size;) {
        size_t size = (size_t)tn__min64(sizeof bytes, r->size - *at);
        if (read_section(r, *at, bytes, size))
            return false;
        for (size_t i = 0; i + TN__IMAGE_IR_HEADER <= size; i += 8, *at += 8)
            if (memcmp(bytes + i, TN__IMAGE_IR_MAGIC, 8) == 0)
                return true;
        if (size < sizeof bytes)
            return false;
    }
    return false;
}

/* The part of this image has what the row says at the place that the row says. */
static int read_ir(const struct recompiled *f, const char *name, struct tn_buffer *ir, struct tn_error *err)
{
    const struct tn__image_recompilation *r = f->all;
    uint64_t offset = tn__get32(f->row + TN__IMAGE_KEPT_OFFSET), at = 0;
    size_t size = tn__get32(f->row + TN__IMAGE_KEPT_SIZE);
    if (size > r->size)
        return tn__fail(err, TN_EFORMAT, "%s: its IR has %zu bytes, all IR %llu", name, size,
                        (unsigned long long)r->size);
    ir->data = tn__alloc(NULL, size + 1);
    ir->size = size;
    if (!ir->data)
        return tn__no_memory(err, name);
    for (uint8_t head[TN__IMAGE_IR_HEADER]; find_part(r, &at) && !read_section(r, at, head, sizeof head);) {
        if (read_section(r, at + sizeof head + offset, ir->data, size) == 0 &&
            tn__image_checksum(ir->data, size, 0) == tn__get64(f->row + TN__IMAGE_KEPT_SUM))
            return 0;
        at += sizeof head + (uint32_t)tn__get64(head + TN__IMAGE_IR_AT_SIZE);
    }
    return tn__fail(err, TN_EFORMAT, "%s: its IR is damaged: no part of the file has its checksum", name);
}

/* ---- compiling ---- */

static uint32_t function_of(const struct recompiled *f)
{
    return tn__image_cell_function(&f->all->image->view, tn__get32(f->row + TN__IMAGE_KEPT_CELL));
}

/* As the target says: for size, for the smallest size. */
static const char *passes_of(const struct tn_cpu_target *target)
{
    return target->flags & TN_CPU_MIN_SIZE   ? "tenon<min_size>"
           : target->flags & TN_CPU_OPT_SIZE ? "tenon<opt_size>"
                                             : NULL;
}

/* What the version was compiled for that this code takes the place of. */
static struct tn_compile_options settings_of(const struct recompiled *f)
{
    const struct tn_image *image = f->all->image;
    const struct tn__image_view *view = &image->view;
    const struct tn__image_rows *settings = &view->tables[TN__IMAGE_SETTING_TABLE];
    uint32_t function = function_of(f), row = settings->count - 1;
    const char *passes = NULL;
    if (!(tn__get32(f->row + TN__IMAGE_KEPT_FLAGS) & TN__IMAGE_KEPT_COMMON)) {
        bool own = tn__image_function_clones(view, function) >> image->chosen & 1;
        row = function >= view->slots ? 0 : (uint32_t)(own ? image->chosen : view->targets[image->chosen].base);
        passes = passes_of(&view->targets[row]);
    }
    const uint8_t *setting = tn__image_row(settings, row);
    return (struct tn_compile_options){.size = sizeof(struct tn_compile_options),
                                       .cpu = tn__image_text(view, setting + TN__IMAGE_SETTING_CPU),
                                       .features = tn__image_text(view, setting + TN__IMAGE_SETTING_FEATURES),
                                       .opt_level = (int)tn__get32(setting + TN__IMAGE_SETTING_LEVEL),
                                       .passes = passes,
                                       .any_threads = 1};
}

/* `exit` destroys what the compiler has made when it needed it for the first time, such as LLVM's static objects, the
 * newest first. Functions for exit that were registered before come after that, so for their calls nothing is compiled.
 */
static bool is_over; /* atomic */

static void end_compiling(struct tn__at_exit *unused)
{
    (void)unused;
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
}

static bool watch_exit(void)
{
    static struct tn__at_exit over = {.function = end_compiling, .is_last = true};
    return __atomic_load_n(&is_over, __ATOMIC_RELAXED) || tn__at_exit_add(&over);
}

static int compile(const struct recompiled *f, const char *name, const struct tn_buffer *ir, struct tn_buffer *object,
                   struct tn_error *err)
{
    const struct tn_compiler *compiler = &f->all->compiler;
    const struct tn_compile_options options = settings_of(f);
    const struct tn_module_description *unused;
    uint8_t digest[TN__SHA256_SIZE];
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_ir source = {.size = sizeof source,
                                 .name = name,
                                 .bytes = ir->data,
                                 .length = ir->size,
                                 .whole = 1,
                                 .digest = digest,
                                 .stays = 1};
    const struct tn_compile_observer observer = {.size = sizeof observer};
    const struct tn_part_request request = {
        .size = sizeof request, .name = name, .observer = &observer, .stats = &stats, .opt_level = options.opt_level};
    void *module;
    tn__sha256_of(ir->data, ir->size, digest);
    if (__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        return tn__fail(err, TN_ENOTSUP, "%s: the process ends, and its compiler has ended before", name);
    int code = compiler->check ? compiler->check(compiler->context, &options, err) : 0;
    if (code)
        return code;
    code = compiler->open(compiler->context, &source, &options, &module, &unused, err);
    if (!code) {
        code = compiler->compile(module, &request, object, err);
        compiler->close(module);
    }
    tn__at_exit_renew();
    return code;
}

static void release_object(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){.data = (void *)(uintptr_t)bytes, .size = length});
}

static int materialize(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct recompiled *f = context;
    const struct tn__image_view *view = &f->all->image->view;
    struct tn_buffer ir = {0}, object = {0};
    char name[NAME];
    snprintf(name, sizeof name, "%s(%s)", tn__image_name(view), tn__image_function_name(view, function_of(f)));
    int code = read_ir(f, name, &ir, err);
    if (!code)
        code = compile(f, name, &ir, &object, err);
    tn_buffer_free(&ir);
    if (code)
        return code;
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.data, .length = object.size, .release = release_object};
    code = tn_responsibility_add_object(responsibility, &input, err);
    if (code)
        tn_buffer_free(&object);
    return code;
}

/* ---- names ---- */

/* What the image has bound comes first: its variables and functions, and those of others that it uses itself. */
static void *resolve(void *context, const char *name)
{
    const struct tn__image_recompilation *r = context;
    const struct tn__image_view *view = &r->image->view;
    const struct tn__image_rows *shared = &view->tables[TN__IMAGE_SHARED_TABLE];
    uint32_t at = (uint32_t)TN_BISECT(0, shared->count, i,
                                      strcmp(tn__image_text(view, tn__image_row(shared, (uint32_t)i)), name) < 0);
    if (at < shared->count && strcmp(tn__image_text(view, tn__image_row(shared, at)), name) == 0) {
        void *const *addresses = tn__image_place(view, view->shared_at);
        if (addresses[at])
            return addresses[at];
    }
    return tn__image_resolve(r->image, &r->options, name);
}

/* ---- opening ---- */

/* What the code has registered for exit is destroyed with the image's data. */
static void end(struct tn__image_recompilation *r)
{
    tn_run_finalizers(r->library);
    tn_session_destroy(r->session);
    if (r->fd >= 0 && tn__os_is(r->fd, r->identity))
        tn__os_close(r->fd);
    tn__free(NULL, r->ir);
}

/* A name that messages show as the function's. */
static const char *name_with(struct tn__arena *arena, const struct recompiled *f, const char *suffix)
{
    const char *name = tn__image_function_name(&f->all->image->view, function_of(f));
    size_t size = strlen(name) + strlen(suffix) + 1;
    char *copy = tn__arena_alloc(arena, size);
    if (copy)
        snprintf(copy, size, "%s%s", name, suffix);
    return copy;
}

/* Lists the functions, and copies of the options what names are looked up by. */
static int list_functions(struct tn__image_recompilation *r, const struct tn__image_opening *o)
{
    struct tn_image *image = o->image;
    const struct tn_image_load_options *options = o->options;
    uint32_t cells = image->view.tables[TN__IMAGE_CELL_TABLE].count;
    struct tn_image **images = tn__arena_array(&image->arena, options->image_count + 1, sizeof *images);
    for (uint32_t cell = 0; cell < cells; cell++)
        r->count += image->stale[cell] == TN__STALE_AGAIN;
    r->functions = tn__arena_array(&image->arena, r->count, sizeof *r->functions);
    if (!images || !r->functions)
        return tn__no_memory(o->err, tn__image_label(image));
    if (options->image_count)
        memcpy(images, options->images, options->image_count * sizeof *images);
    r->options = (struct tn_image_load_options){.size = sizeof r->options,
                                                .resolver = options->resolver,
                                                .context = options->context,
                                                .images = images,
                                                .image_count = options->image_count};
    struct recompiled *f = r->functions;
    for (uint32_t cell = 0; cell < cells; cell++)
        if (image->stale[cell] == TN__STALE_AGAIN) {
            *f = (struct recompiled){.all = r, .row = tn__image_kept(&image->view, cell)};
            f->body = name_with(&image->arena, f, TN__NAME_BODY);
            if (!f++->body)
                return tn__no_memory(o->err, tn__image_label(image));
        }
    return 0;
}

static int create_session(struct tn__image_recompilation *r, const struct tn__image_opening *o)
{
    uint64_t window = SMALLEST_WINDOW;
    for (size_t i = 0; i < r->count; i++)
        window += WINDOW * (uint64_t)tn__get32(r->functions[i].row + TN__IMAGE_KEPT_SIZE);
    struct tn_session_options options = {.size = sizeof options,
                                         .window_size = (size_t)tn__min64(tn__align_up(window, 1 << 20), 1 << 30),
                                         .on_error = o->options->on_error,
                                         .context = o->options->context};
    int code = tn_session_create(&options, &r->session, o->err);
    if (!code)
        code = tn_library_create(r->session, tn__image_name(&r->image->view), &r->library, o->err);
    if (!code) /* beside compiling it costs nothing, and clients have no session to ask it of */
        tn_session_defer_signals(r->session);
    return code ? code : tn_add_resolver(r->library, resolve, r, o->err);
}

static int promise(const struct recompiled *f, struct tn_error *err)
{
    const struct tn_promised symbol = {f->body, 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = f->body,
                                                 .context = (void *)(uintptr_t)f,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = materialize};
    return tn_add_materializer(f->all->library, &materializer, err);
}

static int define_stubs(struct tn__image_recompilation *r, const struct tn__image_opening *o, struct tn__arena *names)
{
    struct tn_lazy_symbol *symbols = tn__arena_array(names, r->count, sizeof *symbols);
    struct tn_wanted *wanted = tn__arena_array(names, r->count, sizeof *wanted);
    void **again = tn__arena_array(&o->image->arena, r->image->view.tables[TN__IMAGE_CELL_TABLE].count, sizeof *again);
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = o->options->on_failure};
    if (!symbols || !wanted || !again)
        return tn__no_memory(o->err, tn__image_label(r->image));
    for (size_t i = 0; i < r->count; i++) {
        const struct recompiled *f = &r->functions[i];
        symbols[i] = (struct tn_lazy_symbol){.name = name_with(names, f, TN__NAME_BODY ".0"),
                                             .target = f->body,
                                             .managed_registers = tn__get32(f->row + TN__IMAGE_KEPT_REGISTERS),
                                             .managed_stack = tn__get32(f->row + TN__IMAGE_KEPT_STACK)};
        wanted[i] = (struct tn_wanted){.name = symbols[i].name};
        if (!symbols[i].name)
            return tn__no_memory(o->err, tn__image_label(r->image));
    }
    int code = tn_define_lazy(r->library, symbols, r->count, r->library, &options, o->err);
    if (!code)
        code = tn_lookup_all(r->library, wanted, r->count, o->err);
    for (size_t i = 0; i < r->count && !code; i++)
        again[tn__get32(r->functions[i].row + TN__IMAGE_KEPT_CELL)] = wanted[i].address;
    o->image->again = again;
    return code;
}

/* A file's place is checked here, because only this code reads it. */
static int check_addresses(const struct tn__image_opening *o)
{
    const struct tn__image_view *view = &o->image->view;
    const struct tn__image_mapping *m = &o->image->file->mapping;
    uint64_t at = view->shared_at ? (uintptr_t)tn__image_place(view, view->shared_at) : 0;
    if (at && (at % 8 || !tn__image_segment_at(m, at - m->bias,
                                               8 * (uint64_t)view->tables[TN__IMAGE_SHARED_TABLE].count, TN__PROT_R)))
        return tn__fail(o->err, TN_EFORMAT, "%s: the addresses of its shared symbols lie outside of it", m->name);
    return 0;
}

static int begin(const struct tn__image_opening *o, const struct tn__image_source *from)
{
    struct tn_image *image = o->image;
    struct tn__arena names = {0};
    bool any = false;
    for (uint32_t cell = 0; cell < image->view.tables[TN__IMAGE_CELL_TABLE].count; cell++)
        any |= image->stale[cell] == TN__STALE_AGAIN;
    if (!any)
        return 0;
    struct tn__image_recompilation *r = tn__arena_array(&image->arena, 1, sizeof *r);
    if (!r)
        return tn__no_memory(o->err, tn__image_label(image));
    r->image = image;
    r->fd = -1;
    image->file->recompilation = r;
    image->file->end_recompilation = end;
    int code = watch_exit() ? check_tables(o) : tn__no_memory(o->err, tn__image_label(image));
    if (!code)
        code = tn__take_compiler(o->options->compiler, &r->compiler, o->err);
    if (!code)
        code = check_addresses(o);
    if (!code)
        code = keep_source(r, from, tn__image_label(image), o->err);
    if (!code)
        code = list_functions(r, o);
    if (!code)
        code = create_session(r, o);
    for (size_t i = 0; i < r->count && !code; i++)
        code = promise(&r->functions[i], o->err);
    if (!code)
        code = define_stubs(r, o, &names);
    tn__arena_free(&names);
    return code;
}

const struct tn_image_recompiler *tn_image_recompiler(void)
{
    static const struct tn_image_recompiler recompiler = {begin};
    return &recompiler;
}
