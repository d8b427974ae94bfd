/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What becomes which instructions. Strings, arrays, structs and closures are objects of the collected heap; references
 * to them are pointers in address space 10 (doc/IR.md of Tenon). All that an object holds takes words of 8 bytes:
 *
 *     string    length + 1, bytes, a 0      array      length, elements
 *     struct    its fields                  closure    the address of its code, copies of variables */

#include <stdio.h>
#include <string.h>

#include "dowel.h"

enum { REFERENCE = 10, DERIVED = 11, WORD_SIZE = 8, HANDLER_FUNCTIONS_TAKE = 1 };

/* ---- types ---- */

static LLVMTypeRef address_type(struct compiler *c)
{
    return LLVMPointerTypeInContext(c->llvm, 0);
}

static LLVMTypeRef reference_type(struct compiler *c)
{
    return LLVMPointerTypeInContext(c->llvm, REFERENCE);
}

/* A closure gets itself before its arguments. C functions get the bytes of strings. */
static LLVMTypeRef ir_function_type(struct compiler *c, const struct type *type, bool is_closure, bool is_c)
{
    LLVMTypeRef *types = keep(c, sizeof *types * (size_t)(type->count + 1));
    types[0] = reference_type(c);
    for (int i = 0; i < type->count; i++) {
        const struct type *parameter = type->fields[i].type;
        types[i + is_closure] =
            is_c && parameter->kind == TEXT ? LLVMPointerTypeInContext(c->llvm, DERIVED) : ir_type(c, parameter);
    }
    return LLVMFunctionType(ir_type(c, type->result), types, (unsigned)(type->count + is_closure), false);
}

/* ---- modules ---- */

static LLVMValueRef constant(struct compiler *c, unsigned bits, uint64_t number)
{
    return LLVMConstInt(LLVMIntTypeInContext(c->llvm, bits), number, false);
}

void begin_module(struct compiler *c)
{
    static const char flag[] = "Debug Info Version";
    struct module *around = keep(c, sizeof *around);
    *around = c->module;
    struct module module = {LLVMModuleCreateWithNameInContext(c->file, c->llvm), NULL, NULL, around};
    LLVMAddModuleFlag(module.ir, LLVMModuleFlagBehaviorWarning, flag, strlen(flag),
                      LLVMValueAsMetadata(constant(c, 32, LLVMDebugMetadataVersion())));
    module.debug = LLVMCreateDIBuilder(module.ir);
    module.file = LLVMDIBuilderCreateFile(module.debug, c->file, strlen(c->file), ".", 1);
    LLVMDIBuilderCreateCompileUnit(module.debug, LLVMDWARFSourceLanguageC, module.file, "dowel", 5, true, "", 0, 0, "",
                                   0, LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
    c->module = module;
}

void end_module(struct compiler *c, const char *name, enum pending_kind kind)
{
    struct pending *pending = keep(c, sizeof *pending);
    LLVMDIBuilderFinalize(c->module.debug);
    LLVMDisposeDIBuilder(c->module.debug);
    *pending = (struct pending){c->module.ir, name, kind, NULL};
    *c->last = pending;
    c->last = &pending->next;
    c->module = *c->module.around;
}

LLVMValueRef ir_global(struct compiler *c, LLVMTypeRef type, const char *name, LLVMValueRef value)
{
    LLVMValueRef global = LLVMGetNamedGlobal(c->module.ir, name);
    if (!global)
        global = LLVMAddGlobal(c->module.ir, type, name);
    if (value)
        LLVMSetInitializer(global, value);
    return global;
}

/* The collector's description of objects (struct tn_type of tenon_heap.h): which of their words are references. It is
 * in a module of its own, because objects live longer than functions that make them. */
void define_object_type(struct compiler *c, const char *name, const struct type *const *words, int count)
{
    uint64_t references = 0;
    for (int i = 0; i < count; i++)
        references |= (uint64_t)is_reference(words[i]) << i;
    begin_module(c);
    LLVMValueRef text = ir_global(c, LLVMArrayType2(LLVMInt8TypeInContext(c->llvm), strlen(name) + 1), "name",
                                  LLVMConstStringInContext2(c->llvm, name, strlen(name), false));
    LLVMSetLinkage(text, LLVMPrivateLinkage);
    LLVMValueRef none = LLVMConstNull(address_type(c)), zero = constant(c, 64, 0);
    LLVMValueRef members[] = {text,
                              constant(c, 32, references ? TN_KIND_FIXED : TN_KIND_LEAF),
                              constant(c, 32, WORD_SIZE),
                              constant(c, 64, (uint64_t)count * WORD_SIZE),
                              zero,
                              zero,
                              constant(c, 64, references),
                              none,
                              zero,
                              none};
    LLVMValueRef type = LLVMConstStructInContext(c->llvm, members, sizeof members / sizeof *members, false);
    LLVMValueRef global = ir_global(c, LLVMTypeOf(type), name, type);
    LLVMSetGlobalConstant(global, true);
    LLVMSetAlignment(global, 16);
    end_module(c, name, DEFINES);
}

LLVMValueRef global_place(struct compiler *c, const struct variable *global)
{
    return ir_global(c, ir_type(c, global->type), global->symbol, NULL);
}

void define_global(struct compiler *c, struct variable *global)
{
    begin_module(c);
    LLVMTypeRef type = ir_type(c, global->type);
    ir_global(c, type, global->symbol, LLVMConstNull(type));
    end_module(c, global->symbol, DEFINES);
}

/* ---- functions ---- */

static LLVMMetadataRef debug_scope(struct compiler *c, struct code *code, const char *name)
{
    unsigned line = (unsigned)c->at->line;
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(c->module.debug, c->module.file, NULL, 0, LLVMDIFlagZero);
    LLVMMetadataRef scope =
        LLVMDIBuilderCreateFunction(c->module.debug, c->module.file, name, strlen(name), name, strlen(name),
                                    c->module.file, line, type, false, true, line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(code->function, scope);
    return scope;
}

static LLVMValueRef declared(struct compiler *c, const char *name, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMGetNamedFunction(c->module.ir, name);
    return function ? function : LLVMAddFunction(c->module.ir, name, type);
}

/* Apart from the names of C: for LLVM a function `floor` is that of libm, and the runtime calls `printf`. */
const char *symbol_of(struct compiler *c, const char *function)
{
    return keep_text(c, SYMBOL_PREFIX "%s", function);
}

struct code *begin_function(struct compiler *c, const char *name, const struct type *type, bool is_closure)
{
    LLVMTypeRef ir = ir_function_type(c, type, is_closure, false);
    struct code *code = keep(c, sizeof *code);
    code->outer = c->code;
    code->result = type->result;
    code->is_volatile = has_try(c->at);
    code->function = declared(c, symbol_of(c, name), ir);
    code->builder = LLVMCreateBuilderInContext(c->llvm);
    code->entry = LLVMCreateBuilderInContext(c->llvm);
    code->scope = debug_scope(c, code, name);
    c->code = code;
    LLVMPositionBuilderAtEnd(code->entry, new_block(c));
    go_on_in(c, new_block(c));
    mark_line(c, c->at);
    for (int i = 0; i < type->count; i++) {
        struct variable *variable = new_variable(c, type->fields[i].name, type->fields[i].type);
        store(c, LLVMGetParam(code->function, (unsigned)(i + is_closure)), variable->place);
    }
    return code;
}

void end_function(struct compiler *c)
{
    struct code *code = c->code;
    if (!has_ended(c) && code->result->kind == NOTHING)
        LLVMBuildRetVoid(code->builder);
    else if (!has_ended(c))
        fail(c, "the function ends here without the %s that it returns", code->result->name);
    LLVMBuildBr(code->entry, LLVMGetNextBasicBlock(LLVMGetEntryBasicBlock(code->function)));
    LLVMDisposeBuilder(code->builder);
    LLVMDisposeBuilder(code->entry);
    c->code = code->outer;
}

LLVMBasicBlockRef new_block(struct compiler *c)
{
    return LLVMAppendBasicBlockInContext(c->llvm, c->code->function, "");
}

bool has_ended(struct compiler *c)
{
    return LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(c->code->builder)) != NULL;
}

void go_to(struct compiler *c, LLVMBasicBlockRef block)
{
    if (!has_ended(c))
        LLVMBuildBr(c->code->builder, block);
}

void go_on_in(struct compiler *c, LLVMBasicBlockRef block)
{
    LLVMPositionBuilderAtEnd(c->code->builder, block);
}

void branch(struct compiler *c, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(c->code->builder, condition, yes, no);
}

/* What follows is code of this line, for debuggers, profilers and traces. */
void mark_line(struct compiler *c, const struct token *token)
{
    LLVMMetadataRef place =
        LLVMDIBuilderCreateDebugLocation(c->llvm, (unsigned)token->line, (unsigned)token->column, c->code->scope, NULL);
    LLVMSetCurrentDebugLocation2(c->code->builder, place);
}

/* ---- values and variables ---- */

struct value value_of(const struct type *type, LLVMValueRef ir)
{
    return (struct value){type, ir, NULL};
}

LLVMValueRef whole(struct compiler *c, int64_t number)
{
    return constant(c, 64, (uint64_t)number);
}

/* On the stack of the current function; the optimiser makes registers of these. */
struct variable *new_variable(struct compiler *c, const char *name, const struct type *type)
{
    struct variable *variable = keep(c, sizeof *variable);
    *variable = (struct variable){.name = name, .type = type, .next = c->code->variables};
    variable->place = LLVMBuildAlloca(c->code->entry, ir_type(c, type), name);
    return c->code->variables = variable;
}

struct value load(struct compiler *c, const struct type *type, LLVMValueRef place)
{
    LLVMValueRef ir = LLVMBuildLoad2(c->code->builder, ir_type(c, type), place, "");
    LLVMSetVolatile(ir, c->code->is_volatile && LLVMIsAAllocaInst(place));
    return (struct value){type, ir, place};
}

void store(struct compiler *c, LLVMValueRef value, LLVMValueRef place)
{
    LLVMValueRef ir = LLVMBuildStore(c->code->builder, value, place);
    LLVMSetVolatile(ir, c->code->is_volatile && LLVMIsAAllocaInst(place));
}

/* ---- calls ---- */

LLVMValueRef call_runtime(struct compiler *c, const char *name, LLVMTypeRef result, LLVMValueRef *arguments, int count)
{
    LLVMTypeRef types[8];
    for (int i = 0; i < count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)count, false);
    return LLVMBuildCall2(c->code->builder, type, declared(c, name, type), arguments, (unsigned)count, "");
}

/* The collector need not be told that the thread leaves managed code: it does not. */
static LLVMAttributeRef stays_managed(struct compiler *c)
{
    static const char name[] = "gc-no-transition";
    return LLVMCreateStringAttribute(c->llvm, name, strlen(name), "", 0);
}

LLVMValueRef call_function(struct compiler *c, const struct function *function, LLVMValueRef *arguments)
{
    const struct type *type = function->type;
    for (int i = 0; i < type->count && function->is_c; i++)
        if (type->fields[i].type->kind == TEXT)
            arguments[i] = word_of(c, arguments[i], 1);
        else if (type->fields[i].type->kind == C_INT)
            arguments[i] = LLVMBuildTrunc(c->code->builder, arguments[i], LLVMInt32TypeInContext(c->llvm), "");
    LLVMTypeRef ir = ir_function_type(c, type, false, function->is_c);
    LLVMValueRef called = declared(c, function->is_c ? function->name : symbol_of(c, function->name), ir);
    if (!function->is_c)
        LLVMAddAttributeAtIndex(called, LLVMAttributeFunctionIndex, stays_managed(c));
    LLVMValueRef result = LLVMBuildCall2(c->code->builder, ir, called, arguments, (unsigned)type->count, "");
    if (type->result->kind == C_INT)
        result = LLVMBuildSExt(c->code->builder, result, LLVMInt64TypeInContext(c->llvm), "");
    return result;
}

/* arguments[0] is free: it becomes the closure. */
LLVMValueRef call_closure(struct compiler *c, struct value closure, LLVMValueRef *arguments)
{
    arguments[0] = closure.ir;
    LLVMValueRef code = LLVMBuildLoad2(c->code->builder, address_type(c), word_of(c, closure.ir, 0), "");
    return LLVMBuildCall2(c->code->builder, ir_function_type(c, closure.type, true, false), code, arguments,
                          (unsigned)closure.type->count + 1, "");
}

/* ---- objects ---- */

/* A new object whose words are all 0. `type_name` is that of its description. */
LLVMValueRef allocate(struct compiler *c, const char *type_name, int words)
{
    LLVMValueRef type = ir_global(c, LLVMInt8TypeInContext(c->llvm), type_name, NULL);
    LLVMValueRef arguments[] = {LLVMConstNull(address_type(c)), whole(c, (int64_t)words * WORD_SIZE),
                                LLVMConstAddrSpaceCast(type, reference_type(c))};
    return call_runtime(c, "tenon.gc_alloc_obj", reference_type(c), arguments, 3);
}

/* Addresses inside objects are in a space of their own: the collector moves them with their object. */
static LLVMValueRef byte_of(struct compiler *c, LLVMValueRef object, LLVMValueRef offset)
{
    LLVMValueRef start =
        LLVMBuildAddrSpaceCast(c->code->builder, object, LLVMPointerTypeInContext(c->llvm, DERIVED), "");
    return LLVMBuildInBoundsGEP2(c->code->builder, LLVMInt8TypeInContext(c->llvm), start, &offset, 1, "");
}

LLVMValueRef word_of(struct compiler *c, LLVMValueRef object, int word)
{
    return byte_of(c, object, whole(c, (int64_t)word * WORD_SIZE));
}

LLVMValueRef bytes_constant(struct compiler *c, const char *bytes, size_t length)
{
    LLVMValueRef text = LLVMConstStringInContext2(c->llvm, bytes, length, false);
    LLVMValueRef global = LLVMAddGlobal(c->module.ir, LLVMTypeOf(text), "text");
    LLVMSetInitializer(global, text);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    return global;
}

LLVMValueRef new_text(struct compiler *c, const char *bytes, size_t length)
{
    LLVMValueRef arguments[] = {bytes_constant(c, bytes, length), whole(c, (int64_t)length)};
    return call_runtime(c, "dowel_text", reference_type(c), arguments, 2);
}

/* The 0 behind a string is an element for the collector, and none for programs. */
LLVMValueRef length_of(struct compiler *c, struct value object)
{
    LLVMValueRef count = load(c, simple_type(c, I64), word_of(c, object.ir, 0)).ir;
    return object.type->kind == TEXT ? LLVMBuildSub(c->code->builder, count, whole(c, 1), "") : count;
}

/* All elements are the first one. */
LLVMValueRef new_array(struct compiler *c, LLVMValueRef length, struct value first)
{
    LLVMTypeRef word = LLVMInt64TypeInContext(c->llvm);
    LLVMValueRef arguments[] = {length, first.ir};
    throw_if(c, LLVMBuildICmp(c->code->builder, LLVMIntSLT, length, whole(c, 0), ""),
             "an array of less than 0 elements");
    if (first.type->kind == DOUBLE)
        arguments[1] = LLVMBuildBitCast(c->code->builder, first.ir, word, "");
    else if (first.type->kind == BOOL)
        arguments[1] = LLVMBuildZExt(c->code->builder, first.ir, word, "");
    const char *name = is_reference(first.type) ? "dowel_references" : "dowel_words";
    return call_runtime(c, name, reference_type(c), arguments, 2);
}

/* Throws if there is no such element. */
LLVMValueRef element_place(struct compiler *c, struct value object, LLVMValueRef index)
{
    LLVMBuilderRef b = c->code->builder;
    LLVMBasicBlockRef good = new_block(c), bad = new_block(c);
    LLVMValueRef length = length_of(c, object);
    branch(c, LLVMBuildICmp(b, LLVMIntULT, index, length, ""), good, bad);
    go_on_in(c, bad);
    LLVMValueRef arguments[] = {index, length};
    throw_text(c, call_runtime(c, "dowel_bad_index", reference_type(c), arguments, 2));
    go_on_in(c, good);
    LLVMValueRef offset = LLVMBuildMul(b, index, whole(c, object.type->kind == TEXT ? 1 : WORD_SIZE), "");
    return byte_of(c, object.ir, LLVMBuildAdd(b, offset, whole(c, WORD_SIZE), ""));
}

struct value text_of(struct compiler *c, struct value value)
{
    static const char *const functions[] = {
        [I64] = "dowel_text_of_i64", [DOUBLE] = "dowel_text_of_double", [BOOL] = "dowel_text_of_bool", [MAP] = NULL};
    if (value.type->kind == TEXT)
        return value;
    if (!functions[value.type->kind])
        fail(c, "%s has no text", value.type->name);
    LLVMValueRef text = call_runtime(c, functions[value.type->kind], reference_type(c), &value.ir, 1);
    return value_of(simple_type(c, TEXT), text);
}

/* ---- errors ---- */

/* Ends the block. The place is that of the current token. */
void throw_text(struct compiler *c, LLVMValueRef text)
{
    LLVMValueRef arguments[] = {text, bytes_constant(c, c->file, strlen(c->file)), whole(c, c->at[-1].line)};
    call_runtime(c, "dowel_throw", LLVMVoidTypeInContext(c->llvm), arguments, 3);
    LLVMBuildUnreachable(c->code->builder);
}

void throw_if(struct compiler *c, LLVMValueRef condition, const char *text)
{
    LLVMBasicBlockRef bad = new_block(c), good = new_block(c);
    branch(c, condition, bad, good);
    go_on_in(c, bad);
    throw_text(c, new_text(c, text, strlen(text)));
    go_on_in(c, good);
}

/* A handler is entered twice: now, and when something is thrown to it. In both cases it has to be left. */
LLVMValueRef enter_handler(struct compiler *c)
{
    LLVMValueRef caught = call_runtime(c, "tenon.except_enter", LLVMInt32TypeInContext(c->llvm), NULL, 0);
    c->code->handlers++;
    return LLVMBuildICmp(c->code->builder, LLVMIntNE, caught, constant(c, 32, 0), "");
}

void leave_handlers(struct compiler *c, int count)
{
    LLVMValueRef one = constant(c, 32, HANDLER_FUNCTIONS_TAKE);
    for (; count > 0; count--)
        call_runtime(c, "tenon_pop_handler", LLVMVoidTypeInContext(c->llvm), &one, 1);
}
