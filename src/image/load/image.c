/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An open image: which target it runs for, its slots, its functions. */

#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cpu/cpu.h"
#include "image/load/image.h"

enum { FEW_TARGETS = 4 };

int tn__image_new(const char *name, const struct tn_image_load_options *given, struct tn_image_load_options *options,
                  struct tn_image **out, struct tn_error *err)
{
    int code = tn__take_options(options, sizeof *options, given, "struct tn_image_load_options", err);
    if (code)
        return code;
    if (options->flags & ~(TN_IMAGE_VERIFY | TN_IMAGE_COPY | TN_IMAGE_RELOCATE))
        return tn__fail(err, TN_EINVAL, "unknown flags 0x%llx", (unsigned long long)options->flags);
    if (options->recompiler && (!options->compiler || !options->on_failure))
        return tn__fail(err, TN_EINVAL, "a recompiler needs a compiler, and on_failure");
    /* All that opening allocates is one block: blocks of several sizes would be as many pages. */
    struct tn__arena arena = {.from = NULL};
    size_t space = sizeof **out + sizeof(struct tn__opened_file) + FEW_TARGETS * sizeof(struct tn_cpu_target);
    *out = tn__arena_reserve(&arena, space) ? tn__arena_array(&arena, 1, sizeof **out) : NULL;
    if (!*out)
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    (*out)->arena = arena;
    return 0;
}

int tn__image_run(const struct tn__image_phase *phases, size_t count, const struct tn__image_opening *o)
{
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = phases[i].run(o);
    return code;
}

/* ---- choosing ---- */

int tn__image_choose(const struct tn__image_opening *o)
{
    struct tn_image *image = o->image;
    const char *name = tn__image_label(image);
    struct tn_cpu host = {.size = sizeof host};
    const struct tn_cpu *cpu = o->options->cpu;
    const struct tn__image_view *view = &image->view;
    int code = cpu ? 0 : tn_cpu_host(&host, o->err);
    if (code)
        return code;
    cpu = cpu ? cpu : &host;
    if (view->machine != tn__image_machine(tn_cpu_arch_name(cpu->arch)))
        return tn__fail(o->err, TN_ENOTSUP, "%s: architecture %s (ELF machine %u); this is %s", name,
                        tn__image_arch_name(view->machine), view->machine, tn_cpu_arch_name(cpu->arch));
    struct tn_error why;
    code = tn__cpu_choose(cpu, view->targets, view->tables[TN__IMAGE_TARGET_TABLE].count, NULL, &image->chosen, &why);
    if (!code)
        return code;
    tn__fail(o->err, code, "%s: ", name);
    tn__append_text(o->err, why.text);
    return code;
}

/* ---- places ---- */

static const uint8_t *place_at(const struct tn__image_view *view, uint32_t index)
{
    return view->header + view->size + 4 * (size_t)index;
}

void *tn__image_place(const struct tn__image_view *view, uint32_t index)
{
    return (uint8_t *)(uintptr_t)view->header + (int32_t)tn__get32(place_at(view, index));
}

int tn__image_fill_slots(const struct tn__image_opening *o)
{
    const struct tn__image_view *view = &o->image->view;
    uintptr_t *slots = (uintptr_t *)tn__image_place(view, TN__IMAGE_SLOT_PLACE), header = (uintptr_t)view->header;
    const uint8_t *distance = place_at(view, tn__image_version(view, 0, o->image->chosen));
    for (const uintptr_t *last = slots + view->slots; slots < last; slots++, distance += 4)
        __atomic_store_n(slots, header + (uintptr_t)(int32_t)tn__get32(distance), __ATOMIC_RELEASE);
    tn__image_lead_stale(o->image);
    return 0;
}

int tn__image_fill_values(const struct tn__image_opening *o)
{
    const struct tn__image_view *view = &o->image->view;
    const struct tn_image_heaps *heaps = o->options->heap ? o->options->heaps : NULL;
    const char *name = tn__image_label(o->image);
    bool has_values = view->tables[TN__IMAGE_VALUE_TABLE].count;
    if (!has_values && (!heaps || !view->tables[TN__IMAGE_LAYOUT_TABLE].count))
        return 0;
    if (!heaps)
        return tn__fail(o->err, TN_ENOTSUP,
                        "%s: its code uses saved objects, and the options name no heap for them (tn_image_heaps)",
                        name);
    void *values = has_values ? tn__image_place(view, view->values_at) : NULL;
    return heaps->fill(o->image, name, values, o->options, o->err);
}

int tn__image_open_heap(const struct tn__image_opening *o)
{
    if (!o->image->view.tables[TN__IMAGE_ZONE_TABLE].rows)
        return 0;
    if (!o->options->heap || !o->options->heaps)
        return tn__fail(o->err, TN_ENOTSUP,
                        "%s: it has saved objects, and the options name no heap for them (tn_image_heaps)",
                        tn__image_label(o->image));
    return o->options->heaps->open(o->image, o->options, o->err);
}

int tn__image_settle(const struct tn__image_opening *o)
{
    const struct tn_image_heaps *heaps = o->image->heap ? o->options->heaps : NULL;
    return heaps && heaps->settle ? heaps->settle(o->image, o->options, o->err) : 0;
}

int tn__image_restore(const struct tn__image_opening *o)
{
    return o->image->heap ? o->options->heaps->restore(o->image, o->options, o->err) : 0;
}

/* ---- functions ---- */

size_t tn_image_function_count(const struct tn_image *image)
{
    return image->view.tables[TN__IMAGE_FUNCTION_TABLE].count;
}

/* Callers of a replaceable function go through its entry. */
static void *address_of(const struct tn_image *image, uint32_t index)
{
    const struct tn__image_view *view = &image->view;
    uint32_t cell = view->cells_at ? tn__image_cell(view, index) : TN__IMAGE_NO_CELL;
    return tn__image_place(view, cell == TN__IMAGE_NO_CELL ? tn__image_version(view, index, image->chosen)
                                                           : view->cells_at + 1 + cell);
}

int tn_image_function(const struct tn_image *image, size_t index, struct tn_image_function *function,
                      struct tn_error *err)
{
    if (!image || !function)
        return tn__no_argument(err);
    if (index >= tn_image_function_count(image) || !tn__size_is_possible(function->size))
        return tn__fail(err, TN_EINVAL, "function %zu of %zu, into a struct of %zu bytes", index,
                        tn_image_function_count(image), function->size);
    const struct tn__image_view *view = &image->view;
    struct tn_image_function found = {
        .name = tn__image_function_name(view, (uint32_t)index),
        .address = address_of(image, (uint32_t)index),
        .clones = tn__image_function_clones(view, (uint32_t)index),
        .slot = index < view->slots ? (uint32_t)index : UINT32_MAX,
        .is_public = tn__image_function_is_public(view, (uint32_t)index),
        .version = tn__image_own_target(image, (uint32_t)index),
        .is_replaceable = tn__image_cell(view, (uint32_t)index) != TN__IMAGE_NO_CELL,
    };
    tn__give_stats(function, sizeof found, &found);
    return 0;
}

/* Among the rows from `low` to before `high`, which are in order. */
static uint32_t look_up(const struct tn_image *image, uint32_t low, uint32_t high, const char *name)
{
    uint32_t at =
        (uint32_t)TN_BISECT(low, high, i, strcmp(tn__image_function_name(&image->view, (uint32_t)i), name) < 0);
    if (at == high || strcmp(tn__image_function_name(&image->view, at), name))
        return UINT32_MAX;
    return tn__image_function_is_public(&image->view, at) ? at : UINT32_MAX;
}

uint32_t tn__image_find_function(const struct tn_image *image, const char *name)
{
    uint32_t slots = image->view.slots, found = look_up(image, 0, slots, name);
    return found != UINT32_MAX ? found : look_up(image, slots, (uint32_t)tn_image_function_count(image), name);
}

void *tn_image_lookup(const struct tn_image *image, const char *name)
{
    uint32_t found = tn__image_find_function(image, name);
    return found == UINT32_MAX ? NULL : address_of(image, found);
}

/* ---- what it is ---- */

size_t tn_image_target_count(const struct tn_image *image)
{
    return image->view.tables[TN__IMAGE_TARGET_TABLE].count;
}

const struct tn_cpu_target *tn_image_target(const struct tn_image *image, size_t index)
{
    return index < tn_image_target_count(image) ? &image->view.targets[index] : NULL;
}

size_t tn_image_chosen(const struct tn_image *image)
{
    return image->chosen;
}

const unsigned char *tn_image_build_id(const struct tn_image *image)
{
    return image->view.header + TN__IMAGE_AT_BUILD_ID;
}

void tn__image_free(struct tn_image *image)
{
    struct tn__arena arena = image->arena; /* the image is in it */
    tn__arena_free(&arena);
}

void tn_image_close(struct tn_image *image)
{
    if (!image)
        return;
    tn__image_leave_types(image);
    if (image->leave_redirected)
        image->leave_redirected(image);
    if (image->unload)
        image->unload(image);
    else
        tn__image_free(image);
}
