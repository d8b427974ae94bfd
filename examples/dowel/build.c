/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Executables: a static program with code for several CPUs, and with the objects that global variables lead to. What
 * stands beside functions has run before, here; the executable begins with main(). It needs no compiler, no linker and
 * no other file.
 *
 * Its own start is a C function main: it fills in the global variables, whose values are constants by
 * now or saved objects, and calls the main of the program. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tenon_save.h>

#include "dowel.h"

enum { EXECUTABLE = 0755 };

/* What executables begin with, before their image: musl and the runtime of Tenon. The larger one has all of libc. */
#define STUB(name)                                                                                                     \
    extern const char dowel_##name[], dowel_##name##_end[];                                                            \
    __asm__(".section .rodata\n"                                                                                       \
            ".globl dowel_" #name ", dowel_" #name "_end\n"                                                            \
            "dowel_" #name ": .incbin \"" STUBS "/" #name "\"\n"                                                       \
            "dowel_" #name "_end: .byte 0\n"                                                                           \
            ".previous\n")
STUB(objects);
STUB(full_objects);

static const struct {
    const char *start, *end;
} stubs[] = {{dowel_objects, dowel_objects_end}, {dowel_full_objects, dowel_full_objects_end}};

struct program {
    struct session *session;
    struct tn_save *save;
    struct tn_image_value *values; /* of global variables; room for all, as the compiler has numbered them */
    struct tn_save_type *types;    /* of closures, the same */
    size_t value_count, type_count;
};

/* ---- objects ---- */

/* The function of a closure: the image has it under the same name. */
static int name_of(void *context, const void *address, struct tn_save_name *out)
{
    struct program *program = context;
    struct tn_place place = {.size = sizeof place};
    struct tn_error err;
    struct compiler *c = &program->session->compiler;
    if (tn_symbolize(tn_jit_session(program->session->jit), address, &place, &err) || !place.function)
        return 1;
    out->symbol = keep_text(c, "%.*s", (int)strcspn(place.function, "@$"), place.function);
    return 0;
}

/* The first word of a closure is an address of code. */
static int add_closure_types(struct program *program, struct tn_error *err)
{
    static const struct tn_save_word code = {.offset = 0, .kind = TN_SAVE_ADDRESS};
    for (const struct type *type = program->session->compiler.types; type; type = type->next) {
        void *address;
        if (strncmp(type->name, "closure.", strlen("closure.")) != 0)
            continue;
        if (tn_jit_lookup(program->session->jit, type->name, &address, err))
            return err->code;
        program->types[program->type_count++] =
            (struct tn_save_type){.size = sizeof *program->types, .type = address, .words = &code, .word_count = 1};
    }
    return 0;
}

/* An object that a global variable refers to becomes a root of the save. *value: its address in the image. */
static int save_object(struct program *program, const struct variable *global, void *object, LLVMValueRef *value,
                       struct tn_error *err)
{
    struct tn_handle *handle;
    struct compiler *c = &program->session->compiler;
    const char *symbol = keep_text(c, "object.%s", global->symbol);
    tn_managed_begin();
    int code = tn_handle_of(program->session->heap, object, &handle, err);
    tn_managed_end();
    if (code || tn_save_root(program->save, global->symbol, handle, err))
        return err->code;
    program->values[program->value_count++] =
        (struct tn_image_value){.symbol = symbol, .name = global->symbol, .of = TN_IMAGE_VALUE_ROOT};
    *value =
        LLVMConstAddrSpaceCast(ir_global(c, LLVMInt8TypeInContext(c->llvm), symbol, NULL), ir_type(c, global->type));
    return 0;
}

/* ---- the start ---- */

/* Stores the value that a global variable has now. */
static int save_global(struct program *program, const struct variable *global, LLVMBuilderRef builder,
                       struct tn_error *err)
{
    struct compiler *c = &program->session->compiler;
    LLVMTypeRef type = ir_type(c, global->type),
                word = LLVMIntTypeInContext(c->llvm, global->type->kind == BOOL ? 8 : 64);
    void *place;
    uint64_t bits = 0;
    if (tn_jit_lookup(program->session->jit, global->symbol, &place, err))
        return err->code;
    memcpy(&bits, place, global->type->kind == BOOL ? 1 : sizeof bits);
    LLVMValueRef value = LLVMConstInt(word, bits, false);
    if (bits && is_reference(global->type) && save_object(program, global, (void *)bits, &value, err))
        return err->code;
    if (bits)
        LLVMBuildStore(builder, value, ir_global(c, type, global->symbol, NULL));
    return 0;
}

/* The C function main. `calls_main` is compiled code that calls that of the program. */
static int add_start(struct program *program, const char *calls_main, struct tn_error *err)
{
    struct compiler *c = &program->session->compiler;
    LLVMTypeRef result = LLVMInt32TypeInContext(c->llvm), status = LLVMInt64TypeInContext(c->llvm);
    LLVMTypeRef type = LLVMFunctionType(result, NULL, 0, false), called = LLVMFunctionType(status, NULL, 0, false);
    int code = 0;
    c->last = &c->pending;
    begin_module(c);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(c->llvm);
    LLVMValueRef main = LLVMAddFunction(c->module.ir, "main", type);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(c->llvm, main, ""));
    for (const struct variable *global = c->globals; global && !code; global = global->next)
        code = save_global(program, global, builder, err);
    LLVMValueRef failed =
        LLVMBuildCall2(builder, called, LLVMAddFunction(c->module.ir, calls_main, called), NULL, 0, "");
    LLVMBuildRet(builder, LLVMBuildTrunc(builder, failed, result, ""));
    LLVMDisposeBuilder(builder);
    end_module(c, "main", DEFINES);
    const struct tn_jit_module module = {
        .size = sizeof module, .name = "start", .llvm_module = c->pending->module, .whole = 1};
    if (!code)
        code = tn_jit_add_module(program->session->jit, NULL, &module, err);
    LLVMDisposeModule(module.llvm_module);
    return code;
}

/* The function that calls the program's main, with a handler around it; it is added, and not run here. */
static const char *call_of_main(struct session *s, const char *file)
{
    if (!compile(&s->compiler, file, "main()")) {
        fprintf(stderr, "%s\n", s->compiler.mistake);
        return NULL;
    }
    struct pending *call = s->compiler.pending;
    const char *name = call->name;
    call->kind = DEFINES;
    return run_pending(s) ? name : NULL;
}

/* ---- the file ---- */

static int write_file(const char *path, const struct tn_buffer *bytes, struct tn_error *err)
{
    FILE *file = fopen(path, "w");
    bool good = file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
    if ((file && fclose(file) != 0) || !good || chmod(path, EXECUTABLE) != 0)
        return err->code = (snprintf(err->text, sizeof err->text, "%s cannot be written", path), TN_EIO);
    return 0;
}

/* Executables begin with the smallest stub that has all C functions that the program calls. */
static int link_image(const struct tn_buffer *image, enum tn_image_file kind, struct tn_buffer *file,
                      struct tn_error *err)
{
    const struct tn_input input = {.size = sizeof input, .name = "image", .bytes = image->data, .length = image->size};
    struct tn_image_link_options options = {.size = sizeof options, .kind = kind};
    if (kind != TN_IMAGE_PROGRAM)
        return tn_image_link(&input, 1, &options, file, err);
    int code = TN_EUNDEF;
    for (size_t i = 0; i < sizeof stubs / sizeof *stubs && code == TN_EUNDEF; i++) {
        options.stub = stubs[i].start;
        options.stub_length = (size_t)(stubs[i].end - stubs[i].start);
        code = tn_image_link(&input, 1, &options, file, err);
    }
    return code;
}

int write_image(struct session *s, struct tn_image_options options, enum tn_image_file kind, const char *path,
                struct tn_error *err)
{
    struct tn_buffer out[TN_IMAGE_OUTPUTS] = {{0}}, file = {0};
    options.size = sizeof options;
    options.targets = "x86-64;x86-64-v3;x86-64-v4";
    options.opt_level = 2;
    int code = tn_jit_build_image(s->jit, NULL, &options, out, NULL, err);
    if (!code)
        code = link_image(&out[TN_IMAGE_OBJECTS], kind, &file, err);
    if (!code)
        code = write_file(path, &file, err);
    tn_buffer_free(&out[TN_IMAGE_OBJECTS]);
    tn_buffer_free(&file);
    return code;
}

static int link_program(struct program *program, const char *path, struct tn_error *err)
{
    const char *root = "main";
    const struct tn_image_options options = {.roots = &root,
                                             .root_count = 1,
                                             .values = program->values,
                                             .value_count = program->value_count,
                                             .save = program->value_count ? program->save : NULL};
    return write_image(program->session, options, TN_IMAGE_PROGRAM, path, err);
}

bool build(struct session *s, const char *file, const char *path)
{
    struct program program = {.session = s};
    struct tn_save_options options = {.size = sizeof options, .name = "dowel", .name_of = name_of, .context = &program};
    struct tn_error err;
    const char *calls_main = call_of_main(s, file);
    size_t numbers = (size_t)s->compiler.number;
    if (!calls_main)
        return false;
    program.values = keep(&s->compiler, numbers * sizeof *program.values);
    program.types = keep(&s->compiler, numbers * sizeof *program.types);
    options.types = program.types;
    int code = add_closure_types(&program, &err);
    options.type_count = program.type_count;
    if (!code)
        code = tn_save_create(s->heap, &options, &program.save, &err);
    if (!code)
        code = add_start(&program, calls_main, &err);
    if (!code && program.value_count)
        code = tn_save_take(program.save, NULL, &err);
    if (!code)
        code = link_program(&program, path, &err);
    tn_save_destroy(program.save);
    if (code)
        fprintf(stderr, "dowel: %s\n", err.text);
    return !code;
}
