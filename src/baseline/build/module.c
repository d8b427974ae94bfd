/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <elf.h>

#include "baseline/build/build.h"

enum { OF_FUNCTIONS = TN_BUILD_LOCAL | TN_BUILD_WEAK | TN_BUILD_HIDDEN }; /* flags */

uint32_t tn__build_fail(struct tn_build *build, const char *function, const char *why)
{
    if (!build->err.code && function)
        tn__fail(&build->err, TN_EINVAL, "%s: %s", function, why);
    else if (!build->err.code && why)
        tn__fail(&build->err, TN_ENOTSUP, "%s", why);
    else if (!build->err.code)
        tn__no_memory(&build->err, NULL);
    return 0;
}

int tn_build_create(struct tn_build **out, struct tn_error *err)
{
    if (!out)
        return tn__no_argument(err);
    *out = tn__alloc_zeroed(NULL, 1, sizeof **out);
    return *out ? 0 : tn__no_memory(err, NULL);
}

static void free_function(struct tn_build_function *f)
{
    void *const arrays[] = {f->values, f->insts, f->operands, f->blocks, f->successors, f->incoming};
    for (size_t i = 0; i < TN_COUNT(arrays); i++)
        tn__free(NULL, arrays[i]);
}

void tn_build_destroy(struct tn_build *build)
{
    if (!build)
        return;
    for (struct tn_build_function *f = build->functions; f; f = f->next)
        free_function(f);
    tn__free(NULL, build->symbols);
    tn__free(NULL, build->names.places);
    tn__arena_free(&build->arena);
    tn__free(NULL, build);
}

/* ---- symbols ---- */

static const char *name_of(const void *symbols, uint32_t number)
{
    return ((const struct tn__build_symbol *)symbols)[number - 1].symbol.name;
}

static uint32_t *find(const struct tn_build *build, const char *name)
{
    return tn__names_find(&build->names, name, name_of, build->symbols);
}

/* Makes space for one more symbol. */
static bool provide(struct tn_build *build)
{
    if (!tn__grow(NULL, &build->symbols, &build->symbol_room, build->symbol_count + 1, sizeof *build->symbols))
        return false;
    if (build->names.places && 2 * build->symbol_count < build->names.mask)
        return true;
    size_t room = tn__names_room(2 * build->symbol_count);
    uint32_t *places = tn__alloc_zeroed(NULL, room, sizeof *places);
    if (!places)
        return false;
    tn__free(NULL, build->names.places);
    tn__names_begin(&build->names, places, room);
    for (uint32_t i = 0; i < build->symbol_count; i++)
        *find(build, build->symbols[i].symbol.name) = i + 1;
    return true;
}

/* The symbol of this name, made if there is none; 0: a mistake, or no memory. */
static uint32_t symbol_of(struct tn_build *build, const char *function, const char *name, unsigned flags)
{
    if (build->err.code)
        return 0;
    if (!name || !*name)
        return tn__build_fail(build, function, "a symbol has no name");
    if (!provide(build))
        return tn__build_no_memory(build);
    uint32_t *found = find(build, name), number = *found;
    if (number)
        return number;
    const char *copy = tn__arena_text(&build->arena, name, strlen(name));
    if (!copy)
        return tn__build_no_memory(build);
    build->symbols[build->symbol_count++] =
        (struct tn__build_symbol){.symbol = {copy, flags & TN_BUILD_WEAK ? TN__FLAT_WEAK : TN__FLAT_GLOBAL, 0, 0}};
    return *found = (uint32_t)build->symbol_count;
}

uint32_t tn_build_declare(struct tn_build *build, const char *name, unsigned flags)
{
    if (!build)
        return 0;
    if (flags & ~(unsigned)TN_BUILD_WEAK)
        tn__build_fail(build, __func__, "there are no such flags");
    return symbol_of(build, __func__, name, flags);
}

static uint32_t define(struct tn_build *build, const char *function, const char *name, unsigned flags, unsigned allowed)
{
    if (flags & ~allowed || (flags & TN_BUILD_LOCAL && flags & (TN_BUILD_WEAK | TN_BUILD_HIDDEN)))
        tn__build_fail(build, function, "there are no such flags, or they exclude each other");
    uint32_t symbol = symbol_of(build, function, name, flags);
    if (!symbol)
        return 0;
    struct tn__build_symbol *s = &build->symbols[symbol - 1];
    if (s->is_defined)
        return tn__build_fail(build, function, "the symbol is defined already");
    s->is_defined = true;
    s->symbol.binding = flags & TN_BUILD_LOCAL  ? TN__FLAT_LOCAL
                        : flags & TN_BUILD_WEAK ? TN__FLAT_WEAK
                                                : TN__FLAT_GLOBAL;
    s->symbol.visibility = flags & TN_BUILD_HIDDEN ? STV_HIDDEN : 0;
    return symbol;
}

/* ---- variables ---- */

static struct tn__build_data *make_data(struct tn_build *build, const void *bytes, size_t length)
{
    struct tn__build_data *data = tn__arena_array(&build->arena, 1, sizeof *data);
    uint8_t *copy = data ? tn__arena_alloc(&build->arena, length + 1) : NULL;
    if (!copy) {
        tn__build_no_memory(build);
        return NULL;
    }
    if (length)
        memcpy(copy, bytes, length);
    data->data.bytes = copy;
    if (build->last_data)
        build->last_data->next = data;
    else
        build->data = data;
    return build->last_data = data;
}

uint32_t tn_build_data(struct tn_build *build, const char *name, unsigned flags, const void *bytes, size_t length,
                       uint64_t size, uint32_t alignment)
{
    if (!build)
        return 0;
    if (!alignment || (alignment & (alignment - 1)) || alignment > 1u << TN__FLAT_MOST_ALIGNMENT)
        tn__build_fail(build, __func__, "there is no such alignment");
    if (length > size || size > TN__FLAT_LARGEST_DATA || (length && !bytes))
        tn__build_fail(build, __func__, "there is no such size");
    uint32_t symbol = define(build, __func__, name, flags, OF_FUNCTIONS | TN_BUILD_READ_ONLY);
    struct tn__build_data *data = symbol ? make_data(build, bytes, length) : NULL;
    if (!data)
        return 0;
    data->data.symbol = symbol - 1;
    data->data.place = flags & TN_BUILD_READ_ONLY ? TN__FLAT_READ_ONLY : TN__FLAT_WRITABLE;
    data->data.alignment = (uint8_t)__builtin_ctz(alignment);
    data->data.size = size;
    data->data.byte_count = (uint32_t)length;
    build->symbols[symbol - 1].data = data;
    return symbol;
}

void tn_build_data_address(struct tn_build *build, uint32_t of, uint32_t offset, uint32_t symbol, int64_t addend)
{
    if (!build || build->err.code)
        return;
    struct tn__build_data *data = of - 1 < build->symbol_count ? build->symbols[of - 1].data : NULL;
    if (!data || symbol - 1 >= build->symbol_count || !tn__inside(offset, 8, data->data.byte_count)) {
        tn__build_fail(build, __func__, "there is no such variable, symbol, or place in the variable's bytes");
        return;
    }
    struct tn__build_pointer *pointer = tn__arena_array(&build->arena, 1, sizeof *pointer);
    if (!pointer) {
        tn__build_no_memory(build);
        return;
    }
    *pointer = (struct tn__build_pointer){data->pointers, {offset, symbol - 1, addend}};
    data->pointers = pointer;
    data->data.pointer_count++;
}

/* ---- functions ---- */

bool tn__build_is_kind(unsigned kind)
{
    unsigned type = kind & TN__FLAT_KIND_TYPE, flags = kind & ~(unsigned)TN__FLAT_KIND_TYPE;
    return type > TN_BUILD_VOID && type <= TN_BUILD_F64 &&
           (!flags || ((flags == TN_BUILD_SIGNED || flags == TN_BUILD_UNSIGNED) && type <= TN_BUILD_I64));
}

static bool add_arguments(struct tn_build_function *f, const uint8_t *types, size_t count)
{
    if (!tn__grow(NULL, &f->values, &f->value_room, count, sizeof *f->values))
        return tn__build_no_memory(f->build);
    for (size_t i = 0; i < count; i++)
        f->values[i] = (struct tn__build_value){TN__BUILD_ARGUMENT, types[i] & TN__FLAT_KIND_TYPE, 0, i};
    f->argument_count = f->value_count = count;
    return true;
}

struct tn_build_function *tn_build_function(struct tn_build *build, const char *name, unsigned flags, unsigned result,
                                            const uint8_t *types, size_t count)
{
    enum { MOST_ARGUMENTS = 1 << 16 };
    if (!build)
        return NULL;
    bool good = (result == TN_BUILD_VOID || tn__build_is_kind(result)) && count <= MOST_ARGUMENTS && (types || !count);
    for (size_t i = 0; good && i < count; i++)
        good = tn__build_is_kind(types[i]);
    if (!good)
        tn__build_fail(build, __func__, "there is no such type");
    uint32_t symbol = define(build, __func__, name, flags, OF_FUNCTIONS);
    struct tn_build_function *f = symbol ? tn__arena_array(&build->arena, 1, sizeof *f) : NULL;
    if (!f) {
        tn__build_no_memory(build);
        return NULL;
    }
    f->build = build;
    f->symbol = symbol;
    f->result = (uint8_t)result;
    if (build->last_function)
        build->last_function->next = f;
    else
        build->functions = f;
    build->last_function = f;
    return add_arguments(f, types, count) ? f : NULL;
}

/* ---- the whole ---- */

static int check_blocks(const struct tn_build_function *f, const char *name)
{
    for (size_t i = 0; i < f->block_count; i++)
        if (!f->blocks[i].is_ended)
            return tn__fail(&f->build->err, TN_EINVAL, "'%s': block %zu has no last instruction", name, i + 1);
    return f->block_count ? 0 : tn__fail(&f->build->err, TN_EINVAL, "'%s' has no block", name);
}

static int write_functions(struct tn_build *build, struct tn__flat_writer *w)
{
    struct tn__flat flat = {0};
    int code = 0;
    for (struct tn_build_function *f = build->functions; !code && f; f = f->next) {
        const char *name = build->symbols[f->symbol - 1].symbol.name;
        code = check_blocks(f, name);
        if (!code)
            code = tn__build_lay_out(f, &flat) ? tn__flat_verify(&flat, &build->err) : tn__no_memory(&build->err, name);
        if (code == TN_EFORMAT)
            tn__append(&build->err, ", in '%s'", name);
        if (!code)
            tn__flat_write_function(w, f->symbol - 1, &flat);
    }
    tn__flat_free(&flat);
    return code;
}

static int write_data(struct tn_build *build, struct tn__flat_writer *w)
{
    for (struct tn__build_data *data = build->data; data; data = data->next) {
        uint32_t next = 0, count = data->data.pointer_count;
        struct tn__flat_pointer *pointers = tn__arena_array(&build->arena, count + (size_t)1, sizeof *pointers);
        if (!pointers)
            return tn__no_memory(&build->err, NULL);
        for (const struct tn__build_pointer *p = data->pointers; p; p = p->next)
            pointers[next++] = p->pointer;
        tn__flat_write_data(w, &data->data, pointers);
    }
    return 0;
}

static int write_all(struct tn_build *build, struct tn_buffer *flat)
{
    struct tn__flat_writer w = {0};
    int code = write_functions(build, &w);
    if (!code)
        code = write_data(build, &w);
    for (size_t i = 0; i < build->symbol_count; i++)
        tn__flat_write_symbol(&w, &build->symbols[i].symbol);
    if (!code)
        code = tn__flat_write_end(&w, flat, &build->err);
    tn__flat_writer_free(&w);
    return code;
}

int tn_build_finish(struct tn_build *build, struct tn_buffer *flat, struct tn_error *err)
{
    if (!build || !flat)
        return tn__no_argument(err);
    *flat = (struct tn_buffer){0};
    if (!build->err.code && !write_all(build, flat)) {
        tn__fail(&build->err, TN_EINVAL, "the module is finished");
        return 0;
    }
    if (err)
        *err = build->err;
    return build->err.code;
}
