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
    struct tn_type *type = &b->layouts[b->layout_count];
    bool out_of_memory = false;
    const char *name = name_of(b, d);
    if (!tn__descriptor_type(b->unit.module, d, &b->arena, type, &out_of_memory))
        return out_of_memory ? tn__image_no_memory(b) : 0;
    type->name = tn__arena_text(&b->arena, name, strlen(name));
    b->layout_count++;
    return type->name ? 0 : tn__image_no_memory(b);
}

int tn__image_take_layouts(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    LLVMModuleRef module = b->unit.module;
    struct tn__descriptor d;
    size_t count = 0;
    int code = 0;
    if (!b->saved && !options->value_count && !options->dependency_count)
        return 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        count += tn__read_descriptor(module, g, &d);
    b->layouts = tn__arena_array(&b->arena, count + 1, sizeof *b->layouts);
    if (!b->layouts)
        return tn__image_no_memory(b);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g && !code; g = LLVMGetNextGlobal(g))
        if (tn__read_descriptor(module, g, &d))
            code = add_layout(b, &d);
    for (size_t i = 0; i < b->layout_count && b->saved && !code; i++)
        code = tn__saved_check_type(b->saved, options->name, &b->layouts[i], b->err);
    return code;
}
