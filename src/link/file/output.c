/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Makes an output: creates a session, links, and collects the result. */

#include "link/file/output_build.h"

/* Out of range of every 32-bit absolute field. */
static const uint64_t ANYWHERE = 1ULL << 46;
enum { WINDOW = 1 << 30, SMALL_WINDOW = 64 << 20, PAGE = 4096 };

static struct tn__output_link *output_of(const struct tn__link *link)
{
    return tn__container_of(link->session->detached, struct tn__output_link, where);
}

/* ---- the link ---- */

/* What the file says about its code: what all code in it needs or, if there is no code, what the first object says. */
static uint32_t variant_of(const struct tn__link *link)
{
    uint32_t variant = 0;
    bool has_code = false;
    for (size_t i = 0; i < link->count; i++)
        if (tn__object_has_code(link->objects[i]->data)) {
            variant |= link->objects[i]->data->variant;
            has_code = true;
        }
    return has_code ? variant : link->objects[0]->data->variant;
}

/* The session has one library, linked as a whole in one link, so the bytes of the objects are still there. */
static int arrange(struct tn__link *link)
{
    struct tn__output_link *o = output_of(link);
    o->link = link;
    o->output->arch = link->objects[0]->data->arch;
    o->output->variant = variant_of(link);
    for (size_t i = 0; i < link->count; i++) {
        if (link->objects[i]->data->arch != o->output->arch)
            return tn__fail(o->err, TN_EINVAL, "%s is for %s, %s for %s", link->objects[i]->name,
                            link->objects[i]->data->arch->name, link->objects[0]->name, o->output->arch->name);
    }
    return tn__output_arrange(o);
}

static void rebase(struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    for (size_t i = 0; i < output->section_count; i++)
        if (output->sections[i].place != TN__OUTPUT_UNLOADED)
            output->sections[i].address -= o->base;
    for (size_t i = 0; i < TN__OUTPUT_SEGMENTS; i++)
        output->segments[i].address -= o->base;
    output->head_address -= o->base;
    output->tls_address -= output->tls_size ? o->base : 0;
    o->base = 0;
}

static int finish(struct tn__link *link)
{
    struct tn__output_link *o = output_of(link);
    int code = tn__output_index_frames(o);
    if (code)
        return code;
    tn__output_finish_sites(o);
    tn__output_finish_symbols(o);
    tn__output_finish_debug(o);
    rebase(o);
    return 0;
}

/* ---- inputs ---- */

/* Runs before anything refers to sections. Notes are kept, unlike in memory, for readers of the file;
 * .note.gnu.property is not, since it describes the input objects. */
static void adapt_sections(struct tn__object_data *data)
{
    for (uint32_t i = 1; i < data->section_count; i++) {
        struct tn__input_section *section = &data->sections[i];
        if (section->note && strcmp(section->name, ".note.gnu.property") != 0)
            section->kind = TN__SECTION_RODATA;
        if (section->role == TN__ROLE_UNWIND && section->bytes)
            section->size = tn__output_frames_size(section);
    }
}

static int add_object(struct tn_library *library, const struct tn_input *input, struct tn_error *err)
{
    struct tn_input object = {.size = sizeof object,
                              .name = input->name,
                              .bytes = input->bytes,
                              .length = input->length,
                              .flags = input->flags};
    return tn_add_object(library, &object, err);
}

static int add_member(struct tn_library *library, const struct tn_input *archive, const struct tn__member *member,
                      struct tn_error *err)
{
    char *name = tn__archive_member_name(NULL, archive->name, member);
    if (!name)
        return tn__no_memory(err, archive->name);
    const struct tn_input object = {
        .name = name, .bytes = member->bytes, .length = member->size, .flags = archive->flags};
    int code = member->bytes ? add_object(library, &object, err)
                             : tn__fail(err, TN_ENOTSUP, "%s lies outside of its archive", name);
    tn__free(NULL, name);
    return code;
}

static int add_archive(struct tn_library *library, const struct tn_input *input, struct tn_error *err)
{
    struct tn__archive archive = {.name = (char *)(uintptr_t)input->name, .input = *input};
    struct tn__member member = {.next = 0};
    bool end = false;
    int code = tn__archive_open(&archive, err);
    while (!code && !(code = tn__archive_member(&archive, member.next, &member, &end, err)) && !end)
        if (!tn__archive_is_table(&member))
            code = add_member(library, input, &member, err);
    return code;
}

static int inspect(const struct tn__output_options *options, const struct tn__object_data *data, struct tn_error *err)
{
    int code = 0;
    for (uint32_t i = 1; options->inspect && i <= data->section_count && !code; i++) {
        const struct tn__input_section *section = i < data->section_count ? &data->sections[i] : NULL;
        if (!section)
            code = options->inspect(options->context, data->name, NULL, NULL, 0, err);
        else if (tn__section_is_loaded(section) && section->bytes)
            code = options->inspect(options->context, data->name, section->name, section->bytes, section->size, err);
    }
    return code;
}

static int add_inputs(const struct tn__output_options *options, struct tn_library *library,
                      const struct tn_input *inputs, size_t count, struct tn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = tn__archive_claims(NULL, inputs[i].bytes, inputs[i].length) ? add_archive(library, &inputs[i], err)
                                                                           : add_object(library, &inputs[i], err);
    for (TN_EACH(struct tn__object, object, &library->queue, queued)) {
        struct tn__object_data *data = object->data;
        adapt_sections(data);
        if (!code)
            code = inspect(options, data, err);
    }
    if (!code && tn__list_is_empty(&library->queue))
        code = tn__fail(err, TN_EINVAL, "there is nothing to link");
    return code;
}

/* ---- the surroundings ---- */

/* Resolves undefined symbols: a fixed output by the client's resolver, any other as imports. */
static int add_resolver(struct tn__output_link *o, struct tn_library *library)
{
    if (!o->options->fixed)
        return tn_add_resolver(library, tn__output_import, o, o->err);
    return o->options->resolver ? tn_add_resolver(library, o->options->resolver, o->options->context, o->err) : 0;
}

static int add_definitions(const struct tn__output_link *o, struct tn_library *library)
{
    size_t count = o->options->definition_count;
    struct tn_definition *moved = tn__alloc_zeroed(NULL, count + 1, sizeof *moved);
    if (!moved)
        return tn__output_no_memory(o);
    for (size_t i = 0; i < count; i++) {
        moved[i] = o->options->definitions[i];
        if (!(moved[i].flags & TN_SYMBOL_THREAD_LOCAL))
            moved[i].address = (const void *)(uintptr_t)((uintptr_t)moved[i].address + o->base);
    }
    int code = tn_define_all(library, moved, count, NULL, o->err);
    tn__free(NULL, moved);
    return code;
}

/* The layout keeps to no window; but calls from one object to another get stubs if branches do not lead through the
 * whole of it. Code is smaller than the objects that it is from. */
static size_t window_size(const struct tn_input *inputs, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += inputs[i].length < SMALL_WINDOW ? inputs[i].length : SMALL_WINDOW;
    return sum < SMALL_WINDOW ? SMALL_WINDOW : WINDOW;
}

/* ---- the whole ---- */

static int run_link(struct tn__output_link *o, const struct tn_input *inputs, size_t count)
{
    struct tn_session *session;
    struct tn_library *library;
    const struct tn_session_options options = {.size = sizeof options, .formats = o->options->formats};
    int code = tn__session_create_detached(&options, &o->where, &session, o->err);
    if (code)
        return code;
    session->imports_tls = !o->options->fixed && !o->options->program;
    code = tn_library_create(session, o->options->name, &library, o->err);
    if (!code)
        code = add_definitions(o, library);
    if (!code)
        code = add_resolver(o, library);
    if (!code)
        code = add_inputs(o->options, library, inputs, count, o->err);
    if (!code)
        code = tn_link(library, o->err);
    if (o->lacks_memory) /* a weak reference would be null */
        code = tn__output_no_memory(o);
    tn_session_destroy(session);
    return code;
}

int tn__output_link(const struct tn__output_options *options, const struct tn_input *inputs, size_t count,
                    struct tn__output **out, struct tn_error *err)
{
    struct tn__output_options copy = *options;
    struct tn__output *output = tn__alloc_zeroed(NULL, 1, sizeof *output);
    copy.page_size = copy.page_size ? copy.page_size : PAGE;
    *out = NULL;
    if (!output)
        return tn__no_memory(err, options->name);
    struct tn__output_link o = {.options = &copy, .output = output, .err = err};
    o.base = copy.fixed ? 0 : ANYWHERE;
    o.where = (struct tn__detached){.address = o.base + copy.address,
                                    .size = window_size(inputs, count),
                                    .page_size = PAGE,
                                    .lays_out = true,
                                    .arrange = arrange,
                                    .finish = finish};
    int code = run_link(&o, inputs, count);
    tn__free(NULL, o.pieces);
    tn__free(NULL, o.sites);
    tn__free(NULL, o.imports);
    tn__arena_free(&o.arena);
    if (code) {
        tn__output_free(output);
        return code;
    }
    *out = output;
    return 0;
}

void tn__output_free(struct tn__output *output)
{
    if (!output)
        return;
    tn__arena_free(&output->arena);
    tn__free(NULL, output);
}
