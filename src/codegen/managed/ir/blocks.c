/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <llvm-c/DebugInfo.h>

#include "codegen/managed/ir/gc.h"
#include "tenon_gc.h"

#define BLOCK        "tn__gc_block"
#define THREAD_LOCAL "llvm.threadlocal.address"

/* ---- places ---- */

LLVMValueRef tn__behind_variables(LLVMValueRef function)
{
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
    while (LLVMIsAAllocaInst(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

LLVMValueRef tn__first_insertion_point(LLVMBasicBlockRef block)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(i) || LLVMIsALandingPadInst(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

LLVMValueRef tn__place_behind(LLVMValueRef value)
{
    if (LLVMIsAArgument(value))
        return tn__behind_variables(LLVMGetParamParent(value));
    if (LLVMIsAPHINode(value))
        return tn__first_insertion_point(LLVMGetInstructionParent(value));
    if (LLVMIsAInvokeInst(value))
        return tn__first_insertion_point(LLVMGetNormalDest(value));
    if (LLVMGetInstructionOpcode(value) == LLVMCallBr) /* which the verifier has refused, if it was asked */
        return tn__first_insertion_point(LLVMGetSuccessor(value, 0));
    return LLVMGetNextInstruction(value);
}

/* The result of an invoke of a safepoint has to be relocated in a block where only the normal way leads. */
void tn__split_invokes(LLVMValueRef function)
{
    for (TN__EACH_BLOCK(b, function)) {
        LLVMValueRef invoke = LLVMGetBasicBlockTerminator(b);
        if (!invoke || !LLVMIsAInvokeInst(invoke) || !tn__is_safepoint(invoke))
            continue;
        LLVMBasicBlockRef normal = LLVMGetNormalDest(invoke);
        LLVMUseRef way = LLVMGetFirstUse(LLVMBasicBlockAsValue(normal));
        if (LLVMGetNextUse(way) || LLVMIsAPHINode(LLVMGetFirstInstruction(normal)))
            tn__llvm_split_edge(invoke, 0);
    }
}

/* ---- the runtime ---- */

/* Code compiled for a program (-fPIE) is linked with the runtime; hidden visibility saves it a GOT. Other code may
 * become part of a file that binds these symbols when it is loaded. */
static void declare(struct tn__gc *gc, LLVMValueRef global)
{
    static const char level[] = "PIE Level";
    if (LLVMGetModuleFlag(gc->module, level, sizeof level - 1))
        LLVMSetVisibility(global, LLVMHiddenVisibility);
}

LLVMValueRef tn__block_variable(struct tn__gc *gc)
{
    LLVMValueRef block = LLVMGetNamedGlobal(gc->module, BLOCK);
    if (block)
        return block;
    block = LLVMAddGlobal(gc->module, gc->i64, BLOCK);
    LLVMSetThreadLocalMode(block, LLVMInitialExecTLSModel);
    LLVMSetAlignment(block, 64);
    declare(gc, block);
    return block;
}

LLVMValueRef tn__thread_block(struct tn__gc *gc)
{
    LLVMTypeRef type;
    LLVMValueRef block = tn__block_variable(gc);
    LLVMValueRef function = tn__llvm_intrinsic(gc, THREAD_LOCAL, gc->pointer, &type);
    return LLVMBuildCall2(gc->builder, type, function, &block, 1, "block");
}

/* LLVM composes the name of each declaration, and looks it up. */
LLVMValueRef tn__llvm_intrinsic(struct tn__gc *gc, const char *name, LLVMTypeRef overload, LLVMTypeRef *type)
{
    for (struct tn__declared *d = gc->declared; d < gc->declared + gc->declared_count; d++)
        if (d->name == name && d->overload == overload) {
            *type = d->type;
            return d->function;
        }
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    *type = LLVMIntrinsicGetType(gc->context, id, &overload, 1);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(gc->module, id, &overload, 1);
    if (gc->declared_count < TN_COUNT(gc->declared))
        gc->declared[gc->declared_count++] = (struct tn__declared){name, overload, *type, function};
    return function;
}

enum { LOOK_AHEAD = 64 };

static bool is_block_address(LLVMValueRef i)
{
    LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    size_t length;
    return callee && LLVMIsAFunction(callee) && LLVMGetNumArgOperands(i) == 1 &&
           strcmp(LLVMGetValueName2(LLVMGetOperand(i, 0), &length), BLOCK) == 0 &&
           strncmp(LLVMGetValueName2(callee, &length), THREAD_LOCAL, strlen(THREAD_LOCAL)) == 0;
}

LLVMValueRef tn__function_block(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMValueRef first = tn__behind_variables(function), i = first;
    for (int n = 0; i && n < LOOK_AHEAD; n++, i = LLVMGetNextInstruction(i))
        if (is_block_address(i))
            return i;
    LLVMPositionBuilderBefore(gc->builder, first);
    return tn__thread_block(gc);
}

/* ---- the processor ---- */

static bool is_for(const struct tn__gc *gc, const char *arch)
{
    return strncmp(LLVMGetTarget(gc->module), arch, strlen(arch)) == 0;
}

#define BY_LLVM "tenon-by-llvm" /* attribute of functions that the baseline compiler does not take */

static void mark_function(void *context, LLVMValueRef call)
{
    (void)context;
    if (tn__returns_twice(call) || LLVMIsAInlineAsm(LLVMGetCalledValue(call)))
        tn__set_text(tn__function_of(call), BY_LLVM, "");
}

void tn__find_left_functions(struct tn__gc *gc)
{
    if (gc->leaves_rows)
        tn__llvm_each_call(gc->module, mark_function, NULL);
}

/* Much of debug information is LLVM's, too. */
bool tn__leaves_rows(const struct tn__gc *gc, LLVMValueRef function)
{
    return gc->leaves_rows && !LLVMGetSubprogram(function) && !tn__has_text(function, BY_LLVM);
}

/* Of x86-64 the frame pointer, which is below the return address, where `sp` of a caller that jumped to the entry may
 * be. Where calls leave the return address in a register, a word below the stack of the caller: RISC-V has the frame
 * pointer there, AArch64 somewhere below. */
LLVMValueRef tn__entry_frame(struct tn__gc *gc)
{
    LLVMTypeRef type;
    bool is_aarch64 = is_for(gc, "aarch64");
    const char *name = is_aarch64 ? "llvm.sponentry" : "llvm.frameaddress";
    LLVMValueRef function = tn__llvm_intrinsic(gc, name, gc->pointer, &type), own = LLVMConstNull(gc->i32);
    LLVMValueRef frame = LLVMBuildCall2(gc->builder, type, function, &own, is_aarch64 ? 0 : 1, "");
    if (!is_for(gc, "x86_64"))
        frame = tn__field(gc, frame, -8);
    return LLVMBuildPtrToInt(gc->builder, frame, gc->i64, "frame");
}

/* x86-64 stores in order. */
void tn__publish_object(struct tn__gc *gc)
{
    enum { ISHST = 10 }; /* stores, of the inner shareable domain */
    if (is_for(gc, "aarch64")) {
        LLVMTypeRef type;
        unsigned id = LLVMLookupIntrinsicID("llvm.aarch64.dmb", strlen("llvm.aarch64.dmb"));
        LLVMValueRef function = LLVMGetIntrinsicDeclaration(gc->module, id, NULL, 0), kind;
        type = LLVMIntrinsicGetType(gc->context, id, NULL, 0);
        kind = LLVMConstInt(gc->i32, ISHST, 0);
        LLVMBuildCall2(gc->builder, type, function, &kind, 1, "");
    } else if (!is_for(gc, "x86_64")) {
        LLVMBuildFence(gc->builder, LLVMAtomicOrderingRelease, 0, "");
    }
}

LLVMValueRef tn__runtime_function(struct tn__gc *gc, const char *name, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMGetNamedFunction(gc->module, name);
    if (function)
        return function;
    function = LLVMAddFunction(gc->module, name, type);
    tn__set_text(function, "gc-no-transition", ""); /* it does what is needed itself */
    declare(gc, function);
    return function;
}

LLVMValueRef tn__call_runtime(struct tn__gc *gc, bool is_leaf, const char *name, LLVMTypeRef result,
                              LLVMValueRef *arguments, unsigned count)
{
    LLVMTypeRef types[4];
    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, 0);
    LLVMValueRef function = tn__runtime_function(gc, name, type);
    if (is_leaf && !tn__has_text(function, TN__LEAF))
        tn__set_text(function, TN__LEAF, "");
    return LLVMBuildCall2(gc->builder, type, function, arguments, count, "");
}

/* ---- pieces of IR ---- */

LLVMValueRef tn__make_variable(struct tn__gc *gc, LLVMValueRef function, LLVMTypeRef type, const char *name)
{
    LLVMPositionBuilderBefore(gc->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    return LLVMBuildAlloca(gc->builder, type, name);
}

void tn__mark(LLVMValueRef instruction, const char *name)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(instruction));
    LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(context, name, (unsigned)strlen(name)),
                    LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, NULL, 0)));
}

LLVMValueRef tn__field(struct tn__gc *gc, LLVMValueRef base, int64_t offset)
{
    LLVMValueRef index = LLVMConstInt(gc->i64, (uint64_t)offset, 1);
    return offset ? LLVMBuildGEP2(gc->builder, gc->i8, base, &index, 1, "") : base;
}

LLVMValueRef tn__header_of(struct tn__gc *gc, LLVMValueRef reference)
{
    return tn__field(gc, LLVMBuildAddrSpaceCast(gc->builder, reference, gc->derived, ""), -TN_GC_HEADER_SIZE);
}

static LLVMMetadataRef tbaa_node(struct tn__gc *gc, const char *name, LLVMMetadataRef parent)
{
    LLVMMetadataRef parts[] = {LLVMMDStringInContext2(gc->context, name, strlen(name)), parent,
                               LLVMValueAsMetadata(LLVMConstNull(gc->i64))};
    return LLVMMDNodeInContext2(gc->context, parts, parent ? 3 : 1);
}

LLVMValueRef tn__tag(struct tn__gc *gc, LLVMValueRef access, enum tn__known_memory memory)
{
    if (tn__is_for_baseline(gc->options))
        return access;
    LLVMMetadataRef root = tbaa_node(gc, "jtbaa", NULL);
    LLVMMetadataRef type = memory == TN__HEADER_MEMORY ? tbaa_node(gc, "jtbaa_tag", tbaa_node(gc, "jtbaa_data", root))
                                                       : tbaa_node(gc, "jtbaa_gcframe", root);
    LLVMMetadataRef zero = LLVMValueAsMetadata(LLVMConstNull(gc->i64));
    LLVMMetadataRef parts[] = {type, type, zero};
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(gc->context, "tbaa", strlen("tbaa")),
                    LLVMMetadataAsValue(gc->context, LLVMMDNodeInContext2(gc->context, parts, 3)));
    return access;
}

LLVMBasicBlockRef tn__make_detour(struct tn__gc *gc, LLVMValueRef before, const char *name, LLVMBasicBlockRef *rest)
{
    LLVMBasicBlockRef first = LLVMGetInstructionParent(before);
    *rest = tn__llvm_split(before);
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(first));
    LLVMPositionBuilderAtEnd(gc->builder, first);
    /* The builder keeps its location, which may be one of another function: LLVM crashes on those. */
    LLVMSetCurrentDebugLocation2(gc->builder, LLVMInstructionGetDebugLoc(before));
    return LLVMInsertBasicBlockInContext(gc->context, *rest, name);
}

void tn__likely(struct tn__gc *gc, LLVMValueRef branch)
{
    if (tn__is_for_baseline(gc->options))
        return;
    LLVMMetadataRef parts[] = {LLVMMDStringInContext2(gc->context, "branch_weights", strlen("branch_weights")),
                               LLVMValueAsMetadata(LLVMConstInt(gc->i32, 2000, 0)),
                               LLVMValueAsMetadata(LLVMConstInt(gc->i32, 1, 0))};
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(gc->context, "prof", 4),
                    LLVMMetadataAsValue(gc->context, LLVMMDNodeInContext2(gc->context, parts, 3)));
}

/* ---- calls ---- */

void tn__copy_abi_attributes(LLVMValueRef from, unsigned count, LLVMValueRef to, unsigned at)
{
    static const char *const names[] = {"zeroext", "signext",   "inreg", "byval",     "sret",
                                        "nest",    "swiftself", "align", "alignstack"};
    for (unsigned a = 1; a <= count; a++)
        for (size_t k = 0; k < TN_COUNT(names); k++) {
            LLVMAttributeRef attribute = tn__attribute(from, a, names[k]);
            if (attribute)
                LLVMAddCallSiteAttribute(to, at + a, attribute);
        }
}

LLVMValueRef tn__replace_call(struct tn__gc *gc, LLVMValueRef call, LLVMTypeRef type, LLVMValueRef callee,
                              LLVMValueRef *arguments, unsigned count, unsigned shift)
{
    unsigned bundle_count = LLVMGetNumOperandBundles(call);
    LLVMOperandBundleRef *bundles = tn__gc_array(gc, bundle_count, sizeof *bundles);
    for (unsigned i = 0; i < bundle_count; i++)
        bundles[i] = LLVMGetOperandBundleAtIndex(call, i);
    LLVMPositionBuilderBefore(gc->builder, call);
    LLVMValueRef made =
        LLVMIsAInvokeInst(call)
            ? LLVMBuildInvokeWithOperandBundles(gc->builder, type, callee, arguments, count, LLVMGetNormalDest(call),
                                                LLVMGetUnwindDest(call), bundles, bundle_count, "")
            : LLVMBuildCallWithOperandBundles(gc->builder, type, callee, arguments, count, bundles, bundle_count, "");
    for (unsigned i = 0; i < bundle_count; i++)
        LLVMDisposeOperandBundle(bundles[i]);
    if (shift < count && shift + LLVMGetNumArgOperands(call) <= count)
        tn__copy_abi_attributes(call, LLVMGetNumArgOperands(call), made, shift);
    if (LLVMTypeOf(made) == LLVMTypeOf(call))
        LLVMReplaceAllUsesWith(call, made);
    LLVMInstructionEraseFromParent(call);
    return made;
}

struct choice {
    struct tn__gc *gc;
    uint32_t intrinsics;
    bool (*wanted)(LLVMValueRef instruction);
    LLVMValueRef *calls;
    size_t count;
};

static void choose(void *context, LLVMValueRef call)
{
    struct choice *c = context;
    enum tn__intrinsic called = c->intrinsics ? tn__intrinsic_called(call) : TN__NOT_INTRINSIC;
    if ((called >= 0 && c->intrinsics >> called & 1) || (c->wanted && c->wanted(call)))
        TN__APPEND(c->gc, c->calls, c->count, call);
}

void tn__each_call(struct tn__gc *gc, uint32_t intrinsics, bool (*wanted)(LLVMValueRef instruction),
                   void (*change)(struct tn__gc *gc, LLVMValueRef call))
{
    struct choice c = {.gc = gc, .intrinsics = intrinsics, .wanted = wanted};
    if (wanted || tn__names_any(gc, intrinsics))
        tn__llvm_each_call(gc->module, choose, &c);
    for (size_t i = 0; i < c.count; i++)
        change(gc, c.calls[i]);
}
