/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects whose functions are lazy. A function of the file is two symbols here: a reference to NAME, which is what the
 * file's relocations refer to, and, at the end of the symbols, a definition of NAME$body. NAME is defined as a stub
 * that leads to the body. */

#include "base/shown_name.h"
#include "link/lazy/lazy.h"
#include "link/session/contents.h"

static bool is_function(const struct tn__object_data *data, const struct tn__symbol *symbol)
{
    return symbol->binding != TN__BIND_LOCAL && symbol->place == TN__PLACE_SECTION &&
           symbol->type == TN__TYPE_FUNCTION && tn__section_is_loaded(&data->sections[symbol->section]);
}

static const char *name_body(struct tn__arena *arena, const char *name)
{
    size_t length = strlen(name);
    char *body = tn__arena_alloc(arena, length + sizeof TN__NAME_BODY);
    if (!body)
        return NULL;
    memcpy(body, name, length);
    memcpy(body + length, TN__NAME_BODY, sizeof TN__NAME_BODY);
    return body;
}

/* Without functions nothing changes. */
static int split(struct tn__object_data *data, const struct tn__seed *seed, struct tn_error *err)
{
    uint32_t count = 0, at = data->symbol_count;
    for (uint32_t i = data->first_global; i < at; i++)
        count += is_function(data, &data->symbols[i]);
    if (count > UINT32_MAX - at)
        return tn__fail(err, TN_ENOTSUP, "%s: too many symbols", data->name);
    struct tn__symbol *symbols = tn__arena_array(&data->arena, (size_t)at + count, sizeof *symbols);
    if (!symbols)
        return tn__no_memory(err, data->name);
    memcpy(symbols, data->symbols, at * sizeof *symbols);
    for (uint32_t i = data->first_global; i < data->symbol_count; i++) {
        if (!is_function(data, &symbols[i]))
            continue;
        struct tn__symbol *body = &symbols[at++];
        *body = symbols[i];
        if (!(body->name = name_body(&data->arena, symbols[i].name)))
            return tn__no_memory(err, data->name);
        body->key = tn__name_key(seed, body->name);
        symbols[i] = (struct tn__symbol){
            .name = symbols[i].name, .key = symbols[i].key, .binding = TN__BIND_GLOBAL, .type = TN__TYPE_FUNCTION};
    }
    data->symbols = symbols;
    data->symbol_count = at;
    data->split = count;
    data->name_count += count;
    return 0;
}

/* The functions that get stubs: not those of which another object's copy is used. The names are the arena's. */
static struct tn_lazy_symbol *list_functions(struct tn__object_data *data, struct tn__arena *arena, size_t *count)
{
    struct tn_lazy_symbol *symbols = tn__arena_array(arena, data->split + 1, sizeof *symbols);
    *count = 0;
    for (uint32_t i = data->symbol_count - data->split; symbols && i < data->symbol_count; i++) {
        const struct tn__symbol *body = &data->symbols[i];
        size_t length = strlen(body->name) - (sizeof TN__NAME_BODY - 1);
        char *name = tn__arena_alloc(arena, length + 1);
        if (!name)
            return NULL;
        memcpy(name, body->name, length);
        name[length] = '\0';
        bool weak = body->binding == TN__BIND_WEAK || data->input.flags & TN_INPUT_WEAK;
        bool hidden = body->hidden || data->input.flags & TN_INPUT_HIDDEN;
        if (body->place == TN__PLACE_SECTION)
            symbols[(*count)++] = (struct tn_lazy_symbol){
                name, body->name, (weak ? TN_SYMBOL_WEAK : 0U) | (hidden ? TN_SYMBOL_HIDDEN : 0U), 0, 0};
    }
    return symbols;
}

/* Releases the lock meanwhile only if another link holds one of the names. */
static int define_stubs(struct tn_library *library, struct tn__object_data *data, const struct tn_stub_options *options,
                        struct tn_tracker *owner, struct tn_error *err) TN__LOCKED
{
    struct tn__arena arena = {.from = library->session->allocator};
    size_t count;
    struct tn_lazy_symbol *symbols = list_functions(data, &arena, &count);
    struct tn__lazy_batch *batch =
        symbols && count ? tn__lazy_new_batch(library, symbols, count, library, options) : NULL;
    int code = batch || (symbols && !count) ? 0 : tn__no_memory(err, data->name);
    if (batch) {
        batch->of_object = true;
        code = tn__lazy_define(batch, symbols, 0, owner, err);
        if (code)
            tn__free(library->session->allocator, batch);
    }
    tn__arena_free(&arena);
    return code;
}

/* True if a link works on something that the object defines, or on the names of its functions. */
static bool is_held(const struct tn_library *library, const struct tn__object_data *data) TN__LOCKED
{
    bool held = tn__library_is_held(library, data);
    for (uint32_t i = data->first_global; !held && library->building && i < data->symbol_count - data->split; i++)
        held = data->symbols[i].binding != TN__BIND_LOCAL &&
               tn__entry_is_held(tn__symtab_find_key(&library->symtab, data->symbols[i].name, data->symbols[i].key));
    return held;
}

static int enter(struct tn_tracker *owner, struct tn__object_data *data, const struct tn_stub_options *options,
                 struct tn_error *err) TN__LOCKED
{
    struct tn_library *library = owner->library;
    struct tn__journal journal = {.arena.from = library->session->allocator};
    struct tn__object *object = NULL;
    int code = tn__library_add(owner, data, &library->queue, (struct tn__origin){0}, &journal, err);
    if (!code) {
        object = tn__container_of(owner->objects.previous, struct tn__object, owned);
        code = define_stubs(library, object->data, options, owner, err);
    }
    if (!code)
        tn__promises_discard(library->session, &journal);
    else {
        tn__journal_undo(&journal);
        if (object) {
            object->entry_count = 0;
            object->data->input.release = NULL; /* the bytes are still the caller's */
            tn__object_remove(object);
        }
        tn__library_fall_back(library);
    }
    tn__journal_free(&journal);
    return code;
}

int tn_add_lazy_object(struct tn_library *library, const struct tn_input *given, const struct tn_stub_options *stubs,
                       struct tn_error *err)
{
    struct tn_input input;
    struct tn_stub_options options;
    struct tn__object_data data;
    int code = tn__library_take_input(library, given, &input, err);
    if (!code)
        code = tn__lazy_take_options(library, stubs, true, &options, err);
    if (!code && options.owner && input.owner && options.owner != input.owner)
        code = tn__fail(err, TN_EINVAL, "%s: the object and its stubs have different owners", input.name);
    if (!code)
        code = tn__library_read(library, &input, (struct tn__input_bytes){0}, &data, err);
    if (code)
        return code;
    struct tn_session *session = library->session;
    struct tn_tracker *owner = options.owner ? options.owner : input.owner ? input.owner : &library->own;
    code = split(&data, &session->seed, err);
    tn__session_lock(session);
    while (!code && is_held(library, &data))
        tn__session_wait(session);
    if (!code)
        code = tn__library_check(library, err);
    if (code)
        tn__arena_free(&data.arena);
    else
        code = enter(owner, &data, &options, err);
    tn__session_unlock(session);
    return code;
}
