/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Adding objects and archives: tn_add_object, tn_add_archive. */

#include "link/session/contents.h"

static char *copy_text(const struct tn_allocator *from, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = tn__alloc(from, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

int tn__library_take_input(const struct tn_library *library, const struct tn_input *given, struct tn_input *input,
                           struct tn_error *err)
{
    if (!library || !given)
        return tn__fail(err, TN_EINVAL, "no library or no input given");
    int code = tn__take_options(input, sizeof *input, given, "struct tn_input", err);
    if (code)
        return code;
    if (!input->name || (!input->bytes && input->length))
        return tn__fail(err, TN_EINVAL, "an input needs a name and bytes");
    if (input->flags & ~(uint64_t)(TN_INPUT_HIDDEN | TN_INPUT_WEAK | TN_INPUT_ANY_FOLDER))
        return tn__fail(err, TN_EINVAL, "%s: unknown input flags %#llx", input->name, (unsigned long long)input->flags);
    if (input->owner && input->owner->library != library)
        return tn__fail(err, TN_EINVAL, "%s: its tracker belongs to another library", input->name);
    return 0;
}

static int enter_object(struct tn_library *library, struct tn__object_data *data, struct tn_error *err) TN__LOCKED
{
    struct tn__journal journal = {.arena.from = library->session->allocator};
    struct tn_tracker *owner = data->input.owner ? data->input.owner : &library->own;
    int code = tn__library_add(owner, data, &library->queue, (struct tn__origin){0}, &journal, err);
    if (code) {
        tn__journal_undo(&journal);
        tn__library_fall_back(library); /* it may have taken groups from others */
    } else
        tn__promises_discard(library->session, &journal);
    tn__journal_free(&journal);
    return code;
}

static int enter_when_free(struct tn_library *library, struct tn__object_data *data, uint64_t start,
                           struct tn_error *err)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    int code = tn__library_settle_late(library, data, err);
    while (!code && tn__library_is_held(library, data)) {
        tn__session_wait(session);
        code = tn__library_settle_late(library, data, err); /* there may be other names by now */
    }
    if (!code)
        code = tn__library_check(library, err);
    if (code)
        tn__arena_free(&data->arena);
    else
        code = enter_object(library, data, err);
    tn__session_spent(session, &session->stats.read_ns, start);
    tn__session_unlock(session);
    return code;
}

int tn__library_enter(struct tn_library *library, struct tn__object_data *data, struct tn_error *err)
{
    return enter_when_free(library, data, tn__session_clock(library->session), err);
}

int tn__library_add_object(struct tn_library *library, const struct tn_input *given, struct tn__input_bytes source,
                           struct tn_error *err)
{
    struct tn_input input;
    struct tn__object_data data;
    int code = tn__library_take_input(library, given, &input, err);
    if (code)
        return code;
    uint64_t start = tn__session_clock(library->session);
    source.may_be_late = true;
    code = tn__library_read(library, &input, source, &data, err);
    if (source.refused)
        *source.refused = data.is_refused;
    if (!code && data.image) {
        code = data.image->add(library, &data, err);
        if (code)
            tn__arena_free(&data.arena);
    }
    return code ? code : enter_when_free(library, &data, start, err);
}

struct lazy_context {
    struct tn_library *library;
    struct tn__archive *archive;
    struct tn__journal *journal;
};

/* True for a definition that members of archives come before, as long as no link needs it. */
static bool gives_way(const struct tn__entry *entry)
{
    bool of_object = entry->kind == TN__ENTRY_OBJECT || (entry->kind == TN__ENTRY_ALIAS && entry->object);
    return of_object && entry->object->data && !entry->object->link &&
           entry->object->data->symbols[entry->symbol].after_archives;
}

static int define_lazy(void *context, const char *symbol, uint64_t member, struct tn_error *err) TN__LOCKED
{
    const struct lazy_context *c = context;
    struct tn__entry *entry = tn__symtab_intern(&c->library->symtab, symbol);
    if (!entry)
        return tn__no_memory(err, c->archive->name);
    bool open = entry->kind == TN__ENTRY_UNDEFINED || tn__entry_is_found(entry) || tn__entry_is_generated(entry);
    if (!open && !gives_way(entry))
        return 0;
    if (!tn__journal_note(c->journal, entry))
        return tn__no_memory(err, c->archive->name);
    if (!open) {
        entry->strength = TN__STRENGTH_NONE;
        entry->hidden = entry->thread_local = false;
        entry->object = NULL;
    }
    entry->kind = TN__ENTRY_LAZY;
    entry->archive = c->archive;
    entry->member = member;
    return 0;
}

static int enter_archive(struct tn_library *library, const struct tn_input *input, struct tn__input_bytes source,
                         struct tn_error *err) TN__LOCKED
{
    const struct tn_allocator *from = library->session->allocator;
    struct tn__archive *archive = tn__alloc_zeroed(from, 1, sizeof *archive);
    struct tn__journal journal = {.arena.from = from};
    if (!archive || !(archive->name = copy_text(from, input->name))) {
        tn__free(from, archive);
        return tn__no_memory(err, input->name);
    }
    uint64_t start = tn__session_clock(library->session);
    archive->input = *input;
    archive->source = source;
    archive->formats = library->session->formats;
    archive->from = from;
    int code = tn__archive_open(archive, err);
    if (!code)
        code = tn__archive_symbols(archive, define_lazy, &(struct lazy_context){library, archive, &journal}, err);
    if (code) {
        tn__journal_undo(&journal);
        tn__free(from, archive->name);
        tn__free(from, archive);
    } else {
        archive->number = tn__library_number_input(library);
        archive->next = library->archives;
        library->archives = archive;
    }
    tn__journal_free(&journal);
    tn__session_spent(library->session, &library->session->stats.read_ns, start);
    return code;
}

int tn__library_add_archive(struct tn_library *library, const struct tn_input *given, struct tn__input_bytes source,
                            struct tn_error *err)
{
    struct tn_input input;
    int code = tn__library_take_input(library, given, &input, err);
    if (code)
        return code;
    tn__session_lock(library->session);
    code = tn__library_check(library, err);
    if (!code)
        code = enter_archive(library, &input, source, err);
    tn__session_unlock(library->session);
    return code;
}

int tn_add_object(struct tn_library *library, const struct tn_input *input, struct tn_error *err)
{
    return tn__library_add_object(library, input, (struct tn__input_bytes){0}, err);
}

int tn_add_archive(struct tn_library *library, const struct tn_input *input, struct tn_error *err)
{
    return tn__library_add_archive(library, input, (struct tn__input_bytes){0}, err);
}
