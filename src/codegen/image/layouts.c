/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The types that the code of an image was compiled with: the descriptors that its input defines. Saved objects of these
 * names have to be laid out alike. Those that the image is going to have are compared here, those of images that it
 * depends on when it is opened, for which the image has a table. */

#include "codegen/image/build.h"
#include "image/heap/layouts.h"

/* What saved objects' type the descriptor stands for: the one whose address a value gives it, or else the one of its
 * name. */
static const char *name_of(const struct tn__image_build *b, const struct tn__descriptor *d)
{
    const struct tn_image_options *options = &b->options;
    size_t length;
    const char *symbol = LLVMGetValueName2(d->global, &length);
    for (size_t i = 0; i < options->value_count; i++)
        if (options->values[i].of == TN_IMAGE_VALUE_TYPE && strcmp(options->values[i].symbol, symbol) == 0)
            return options->values[i].name;
    return tn__descriptor_name(b->unit.module, d);
}

static int add_layout(struct tn__image_build *b, const struct tn__descriptor *d)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(b->unit.module);
    LLVMValueRef constant = LLVMGetInitializer(d->global);
    const char *name = name_of(b, d);
    uint64_t alignment, length;
    if (!tn__read_number(layout, constant, offsetof(struct tn_type, alignment), &alignment) ||
        !tn__read_number(layout, constant, offsetof(struct tn_type, length), &length) ||
        (alignment != 8 && alignment != 16) || d->kind > TN_KIND_CUSTOM)
        return TN_OK; /* it is no descriptor, but looks like one */
    uint32_t *offsets = d->offsets ? tn__arena_array(&b->arena, (size_t)d->offset_count + 1, sizeof *offsets) : NULL;
    char *copy = tn__arena_text(&b->arena, name, strlen(name));
    if (!copy || (d->offsets && !offsets))
        return tn__image_no_memory(b);
    for (uint64_t i = 0; offsets && i < d->offset_count; i++)
        offsets[i] = (uint32_t)tn__descriptor_offset(d, i);
    b->layouts[b->layout_count++] = (struct tn_type){.name = copy,
                                                     .kind = (uint32_t)d->kind,
                                                     .alignment = (uint32_t)alignment,
                                                     .size = d->size,
                                                     .element = d->element,
                                                     .length = length,
                                                     .references = d->references,
                                                     .offsets = offsets,
                                                     .offset_count = offsets ? d->offset_count : 0};
    return TN_OK;
}

int tn__image_take_layouts(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    LLVMModuleRef module = b->unit.module;
    struct tn__descriptor d;
    size_t count = 0;
    int code = TN_OK;
    if (!b->saved && !options->value_count && !options->dependency_count)
        return TN_OK;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        count += tn__read_descriptor(module, g, &d);
    b->layouts = tn__arena_array(&b->arena, count + 1, sizeof *b->layouts);
    if (!b->layouts)
        return tn__image_no_memory(b);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g && code == TN_OK; g = LLVMGetNextGlobal(g))
        if (tn__read_descriptor(module, g, &d))
            code = add_layout(b, &d);
    for (size_t i = 0; i < b->layout_count && b->saved && code == TN_OK; i++)
        code = tn__saved_check_type(b->saved, options->name, &b->layouts[i], b->err);
    return code;
}
