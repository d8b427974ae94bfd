/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sections of the module that the collector reads (doc/GC.md, "Sections of compiled code"): the version of the runtime
 * ABI, types, and tables of the references that globals hold. A table is linked to its global, so that a linker takes
 * both or neither. */

#include <llvm-c/Comdat.h>

#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

enum { MAX_RANGES = 4096 };

struct range {
    uint64_t offset; /* in the global */
    uint64_t count;  /* of words */
};

struct ranges {
    struct tn__gc *gc;
    LLVMTargetDataRef layout;
    struct range *list;
    size_t count;
    bool aligned;
};

static void add_word(void *context, uint64_t offset)
{
    struct ranges *r = context;
    r->aligned &= offset % 8 == 0;
    struct range *last = r->count ? &r->list[r->count - 1] : NULL;
    if (last && last->offset + 8 * last->count == offset) {
        last->count++;
        return;
    }
    if (r->count > MAX_RANGES)
        return;
    TN__APPEND(r->gc, r->list, r->count, (struct range){offset, 1});
}

static LLVMValueRef address(struct tn__gc *gc, LLVMValueRef global, uint64_t offset)
{
    LLVMValueRef step = LLVMConstInt(gc->i64, offset, 0);
    LLVMValueRef place = LLVMConstInBoundsGEP2(gc->i8, global, &step, 1);
    return LLVMConstPtrToInt(offset ? place : global, gc->i64);
}

/* {the range's address minus that of this field, its length} */
static LLVMValueRef entry(struct tn__gc *gc, LLVMValueRef table, size_t number, LLVMValueRef global,
                          const struct range *range)
{
    LLVMValueRef distance = LLVMConstSub(address(gc, global, range->offset), address(gc, table, 8 * number));
    LLVMValueRef fields[] = {LLVMConstTrunc(distance, gc->i32), LLVMConstInt(gc->i32, range->count, 0)};
    return LLVMConstStructInContext(gc->context, fields, 2, 0);
}

/* A local name: another module's definition must not take the place of what the distance is measured to. */
static LLVMValueRef local_name(struct tn__gc *gc, LLVMValueRef global)
{
    if (tn__is_local(global))
        return global;
    LLVMValueRef alias = LLVMAddAlias2(gc->module, LLVMGlobalGetValueType(global), 0, global, "tn.root");
    LLVMSetLinkage(alias, LLVMInternalLinkage);
    return alias;
}

/* A common global has no place before the link, so nothing can be measured to it. */
static void give_place(LLVMValueRef global)
{
    if (LLVMGetLinkage(global) == LLVMCommonLinkage)
        LLVMSetLinkage(global, LLVMWeakAnyLinkage);
}

static void make_table(struct tn__gc *gc, LLVMValueRef global, const struct ranges *r)
{
    give_place(global);
    LLVMTypeRef fields[] = {gc->i32, gc->i32};
    LLVMTypeRef type = LLVMStructTypeInContext(gc->context, fields, 2, 0);
    LLVMValueRef table = LLVMAddGlobal(gc->module, LLVMArrayType2(type, r->count), "tn.roots");
    LLVMValueRef *entries = tn__gc_array(gc, r->count, sizeof(LLVMValueRef)), target = local_name(gc, global);
    for (size_t i = 0; i < r->count; i++)
        entries[i] = entry(gc, table, i, target, &r->list[i]);
    LLVMSetInitializer(table, LLVMConstArray2(type, entries, r->count));
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(table, 1);
    LLVMSetSection(table, "tenon_roots");
    LLVMSetAlignment(table, 4);
    if (LLVMGetComdat(global))
        LLVMSetComdat(table, LLVMGetComdat(global));
    LLVMMetadataRef associated = LLVMValueAsMetadata(global);
    LLVMGlobalSetMetadata(table, LLVMGetMDKindIDInContext(gc->context, "associated", strlen("associated")),
                          LLVMMDNodeInContext2(gc->context, &associated, 1));
}

static const char abi_name[] = "tn.abi";

bool tn__has_root_tables(LLVMModuleRef module)
{
    return LLVMGetNamedGlobal(module, abi_name);
}

/* What the module is compiled for: the runtime and linkers of images compare it with theirs. */
static void write_abi(struct tn__gc *gc)
{
    LLVMValueRef abi = LLVMAddGlobal(gc->module, gc->i32, abi_name);
    LLVMSetInitializer(abi, LLVMConstInt(gc->i32, TN_GC_ABI, 0));
    LLVMSetLinkage(abi, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(abi, 1);
    LLVMSetSection(abi, "tenon_abi");
    LLVMSetAlignment(abi, 4);
}

/* The types that the module is compiled with: what opens saved objects compares them with those. */
static void write_types(struct tn__gc *gc)
{
    struct tn_buffer bytes = {0};
    if (!tn__describe_types(gc->module, &bytes))
        tn__llvm_out_of_memory();
    if (!bytes.size)
        return;
    LLVMValueRef constant = LLVMConstStringInContext2(gc->context, bytes.data, bytes.size, 1);
    LLVMValueRef types = LLVMAddGlobal(gc->module, LLVMTypeOf(constant), "tn.types");
    tn_buffer_free(&bytes);
    LLVMSetInitializer(types, constant);
    LLVMSetLinkage(types, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(types, 1);
    LLVMSetSection(types, "tenon_types");
    LLVMSetAlignment(types, 8);
}

void tn__make_root_tables(struct tn__gc *gc)
{
    LLVMValueRef *globals = NULL;
    size_t count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(gc->module); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && tn__type_holds(LLVMGlobalGetValueType(g), IN_TRACKED) &&
            LLVMGetLinkage(g) != LLVMAvailableExternallyLinkage && !LLVMIsGlobalConstant(g))
            TN__APPEND(gc, globals, count, g);
    for (size_t i = 0; i < count; i++) {
        struct ranges r = {.gc = gc, .layout = LLVMGetModuleDataLayout(gc->module), .aligned = true};
        tn__each_reference(r.layout, LLVMGlobalGetValueType(globals[i]), 0, add_word, &r);
        if (!r.aligned || r.count > MAX_RANGES)
            tn__gc_reject(gc, globals[i], "global-layout",
                          "references in globals are aligned, and in no more than 4096 runs");
        else
            make_table(gc, globals[i], &r);
    }
    if (!tn__llvm_is_elf(gc->module))
        return;
    write_abi(gc);
    if (gc->writes_types)
        write_types(gc);
}
