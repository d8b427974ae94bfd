/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Packages: images with the functions of a file, for several CPUs, which programs import.
 *
 *     dowel package shapes.dowel -o shapes.image
 *
 *     import "shapes.image"
 *     print(area(square(2.0)))
 *
 * An image has a function dowel..interface, which returns the structs and the heads of functions as text. The importing
 * program declares them; the addresses of functions come from a resolver. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon_image.h>

#include "dowel.h"

static const char interface_name[] = SYMBOL_PREFIX ".interface";

/* ---- writing one ---- */

static void write_fields(FILE *out, const struct type *type)
{
    for (int i = 0; i < type->count; i++)
        fprintf(out, "%s%s: %s", i ? ", " : "", type->fields[i].name, type->fields[i].type->name);
}

/* The oldest first: later ones may name them. */
static void write_structs(FILE *out, const struct type *type)
{
    if (!type)
        return;
    write_structs(out, type->next);
    if (type->kind != STRUCT || strncmp(type->name, "closure.", strlen("closure.")) == 0)
        return;
    fprintf(out, "struct %s { ", type->name);
    write_fields(out, type);
    fputs(" }\n", out);
}

static void write_functions(FILE *out, const struct function *function)
{
    for (; function; function = function->next) {
        if (function->is_c || strcmp(function->name, "main") == 0)
            continue;
        fprintf(out, "fn %s(", function->name);
        write_fields(out, function->type);
        fprintf(out, function->type->result->kind == NOTHING ? ")\n" : "): %s\n", function->type->result->name);
    }
}

/* A function that returns the text of the interface. */
static bool add_interface(struct session *s)
{
    struct compiler *c = &s->compiler;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return fputs("dowel: out of memory\n", stderr), false;
    write_structs(out, c->types);
    write_functions(out, c->functions);
    fclose(out);
    c->last = &c->pending;
    begin_module(c);
    LLVMTypeRef address = LLVMPointerTypeInContext(c->llvm, 0);
    LLVMValueRef function = LLVMAddFunction(c->module.ir, interface_name, LLVMFunctionType(address, NULL, 0, false));
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(c->llvm);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(c->llvm, function, ""));
    LLVMBuildRet(builder, bytes_constant(c, text, length));
    LLVMDisposeBuilder(builder);
    free(text);
    end_module(c, interface_name, DEFINES);
    return run_pending(s);
}

bool build_package(struct session *s, const char *path)
{
    struct tn_error err;
    if (s->has_run || s->package_count)
        return fputs("dowel: a package has structs and functions only\n", stderr), false;
    if (!add_interface(s))
        return false;
    if (write_image(s, (struct tn_image_options){0}, TN_IMAGE_LOADABLE, path, &err))
        return fprintf(stderr, "dowel: %s\n", err.text), false;
    return true;
}

/* ---- using them ---- */

static void *find_in_packages(void *context, const char *name)
{
    const struct session *s = context;
    void *address = NULL;
    for (int i = 0; i < s->package_count && !address; i++)
        address = tn_image_lookup(s->packages[i], name);
    return address;
}

const char *import_package(struct compiler *c, const char *path)
{
    struct session *s = c->session;
    const struct tn_image_load_options options = {
        .size = sizeof options, .resolver = tn_resolve_exports, .managed = tn_managed_runtime()};
    struct tn_error err;
    if (s->builds) /* its code has a runtime of its own, packages have that of the command */
        fail(c, "executables cannot import packages");
    if (s->package_count == MOST)
        fail(c, "more than %d packages are too many", MOST);
    if (!s->package_count && tn_add_resolver(tn_jit_library(s->jit), find_in_packages, s, &err))
        fail(c, "%s", err.text);
    if (tn_image_open(path, &options, &s->packages[s->package_count], &err))
        fail(c, "%s", err.text);
    const void *interface = tn_image_lookup(s->packages[s->package_count++], interface_name);
    if (!interface)
        fail(c, "'%s' is no package of dowel", path);
    return ((const char *(*)(void))interface)();
}

void close_packages(struct session *s)
{
    while (s->package_count)
        tn_image_close(s->packages[--s->package_count]);
}
