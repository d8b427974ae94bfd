/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What passes over managed code (doc/IR.md) know of IR:
 *     intrinsics.c   the contract's functions, as rows
 *     support.c      types, attributes, errors, memory
 *     map.c          numbers for values and blocks; sets of values
 *     blocks.c       pieces of IR that several passes build, and their places (blocks.h)
 *     cfg.c          blocks, predecessors, dominators (cfg.h)
 *     bases.c        the reference that each derived pointer was derived from (bases.h)
 *     saved.c        where the arguments of functions are (saved.h)
 *     llvm_gc.cpp    what LLVM's C API lacks (llvm_gc.h)
 * One struct tn__gc per compilation. Memory of a pass is in its arena; where memory is out the compilation is left like
 * where LLVM itself runs out, so nothing here answers NULL for it. */

#ifndef TENON_CODEGEN_GC_H
#define TENON_CODEGEN_GC_H

#include <llvm-c/Core.h>

#include "codegen/llvm/diagnostics.h"
#include "codegen/target/target.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* One compilation as the passes over managed code see it. */
struct tn__gc {
    LLVMModuleRef module;
    LLVMContextRef context;
    const struct tn_compile_options *options;
    struct tn__diagnostics *diagnostics; /* receives errors */
    struct tn_compile_stats *stats;
    struct tn__arena arena;       /* of the running pass; freed by the owner of the struct */
    bool is_optimized;            /* gc-verify ran last: LLVM may have exchanged the types that getelementptr names */
    LLVMTargetMachineRef machine; /* for passes that run after LLVM's */
};

/* ---- address spaces ---- */

enum tn__space { TRACKED = 10, DERIVED = 11, CALLEE_ROOTED = 12, LOADED = 13 };

enum { IN_TRACKED = 1, IN_DERIVED = 2, IN_CALLEE_ROOTED = 4, IN_LOADED = 8, IN_MANAGED = 15 };

/* ---- types (support.c) ---- */

/* The address space of a pointer or of a vector's pointers; -1: the type is neither. */
int tn__space_of_type(LLVMTypeRef type);
int tn__space_of(LLVMValueRef value);
/* True if the type is, or contains, a pointer in one of these spaces (IN_...); of a function, its result or a
 * parameter. */
bool tn__type_holds(LLVMTypeRef type, unsigned spaces);
/* False for types that are opaque, or whose size depends on the processor. */
bool tn__has_known_size(LLVMTypeRef type);
uint64_t tn__common_divisor(uint64_t a, uint64_t b); /* 0 is divided by all */
/* Calls `visit` for each reference in memory of this type, in order, with its place in bytes plus `offset`. */
void tn__each_reference(LLVMTargetDataRef layout, LLVMTypeRef type, uint64_t offset,
                        void (*visit)(void *context, uint64_t offset), void *context);

/* Elements of a struct, array or vector; other types have none. */
uint64_t tn__element_count(LLVMTypeRef type);
LLVMTypeRef tn__element_type(LLVMTypeRef type, uint64_t i);
uint64_t tn__element_offset(LLVMTargetDataRef layout, LLVMTypeRef type, uint64_t i); /* in bytes */

bool tn__is_managed_function(LLVMValueRef value);
/* True if the function consists of inline assembly without a frame. Nobody knows where it leads (an image's entries
 * jump to versions of functions), so it is native code, and called like that. Its parameters must have no use. */
bool tn__is_naked(LLVMValueRef function);
bool tn__is_local(LLVMValueRef global); /* its name means nothing to other modules */

static inline LLVMValueRef tn__function_of(LLVMValueRef instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

/* ---- attributes (support.c) ---- */

#define TN__ON_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* Text attributes of functions. */
bool tn__has_text(LLVMValueRef function, const char *key);
void tn__set_text(LLVMValueRef function, const char *key, const char *value);
/* The attribute of this name of a function or a call, or NULL. Parameters have their number + 1 as the index. */
LLVMAttributeRef tn__attribute(LLVMValueRef of, LLVMAttributeIndex index, const char *name);
/* The same of a call, or else of the function that it names. */
LLVMAttributeRef tn__call_attribute(LLVMValueRef call, LLVMAttributeIndex index, const char *name);
/* True if the call, or the function that it names, has this text. */
bool tn__call_has_text(LLVMValueRef call, const char *key);
bool tn__has_bundle(LLVMValueRef call, const char *tag);

/* ---- errors (support.c) ---- */

/* Adds an error about an instruction or, where that is NULL, a function or global. `rule` is a name in doc/IR.md. */
void tn__gc_reject(struct tn__gc *gc, LLVMValueRef instruction, LLVMValueRef global, const char *rule,
                   const char *text);

/* ---- memory (support.c) ---- */

/* Zeroed; lives until the pass ends. */
void *tn__gc_array(struct tn__gc *gc, size_t count, size_t size);
/* Where element number `count` of a growing array is to go: `array`, or a larger copy. */
void *tn__gc_room(struct tn__gc *gc, void *array, size_t count, size_t size);
/* Appends an element to such an array. */
#define TN__APPEND(gc, array, count, ...)                                                                              \
    ((array) = tn__gc_room((gc), (array), (count), sizeof *(array)), (void)((array)[(count)++] = (__VA_ARGS__)))

/* ---- numbers for values (map.c) ---- */

/* A zeroed struct is an empty map. */
struct tn__map {
    const void **keys;
    uint32_t *values;
    size_t capacity, count;
};

/* The key's number, or NULL. */
uint32_t *tn__map_find(const struct tn__map *map, const void *key);
/* The place of the key's number, which is 0 if the key is new. */
uint32_t *tn__map_add(struct tn__gc *gc, struct tn__map *map, const void *key);

/* Values in the order in which they came, each once. A zeroed struct is empty. */
struct tn__values {
    LLVMValueRef *list;
    size_t count;
    struct tn__map known;
};

void tn__values_add(struct tn__gc *gc, struct tn__values *values, LLVMValueRef value);

/* ---- intrinsics (intrinsics.c) ---- */

#define TN__GC_INTRINSICS(X)                                                                                           \
    X(CALL, "call", "T(PT*)", COLLECTS | THROWS)                                                                       \
    X(CALL2, "call2", "T(PTT*)", COLLECTS | THROWS)                                                                    \
    X(CALL3, "call3", "T(PD*)", COLLECTS | THROWS)                                                                     \
    X(ALLOC_OBJ, "gc_alloc_obj", "T(PiT)", COLLECTS)                                                                   \
    X(ALLOC_BYTES, "gc_alloc_bytes", "T(Pii)", COLLECTS)                                                               \
    X(POINTER_FROM_OBJREF, "pointer_from_objref", "P(M)", 0)                                                           \
    X(LOADED_FROM, "gc_loaded", "L(TP)", 0)                                                                            \
    X(TYPEOF, "typeof", "T(T)", 0)                                                                                     \
    X(WRITE_BARRIER, "write_barrier", "v(T*)", 0)                                                                      \
    X(PRESERVE_BEGIN, "gc_preserve_begin", "k(?)", 0)                                                                  \
    X(PRESERVE_END, "gc_preserve_end", "v(k)", 0)                                                                      \
    X(SAFEPOINT, "safepoint", "v(P)", COLLECTS)                                                                        \
    X(GCROOT_FLUSH, "gcroot_flush", "v()", 0)                                                                          \
    X(MOVE, "gc_move", "v(D?)", 0)                                                                                     \
    X(GET_PGCSTACK, "get_pgcstack", "P()", 0)                                                                          \
    X(GET_PGCSTACK_OR_NEW, "get_pgcstack_or_new", "P()", 0)

enum tn__intrinsic {
#define TN__ID(id, name, signature, flags) TN__##id,
    TN__GC_INTRINSICS(TN__ID)
#undef TN__ID
        TN__INTRINSIC_COUNT,
    TN__NOT_INTRINSIC = -1,
    TN__UNKNOWN_INTRINSIC = -2 /* has the prefix, but is in no row */
};

/* Which of the contract's functions this is, by its name alone. */
enum tn__intrinsic tn__intrinsic_of(LLVMValueRef function);
/* The same for what a call names directly; TN__NOT_INTRINSIC for other values than calls. */
enum tn__intrinsic tn__intrinsic_called(LLVMValueRef call);
/* The name behind "llvm." of the intrinsic of LLVM's that a call or invoke names directly; "" for everything else. */
const char *tn__llvm_name_called(LLVMValueRef instruction);
/* True if that name begins with one of these texts. */
#define tn__calls_llvm(instruction, ...) tn__calls_any(instruction, (const char *const[]){__VA_ARGS__, NULL})
bool tn__calls_any(LLVMValueRef instruction, const char *const *prefixes); /* up to NULL */
bool tn__is_allocation(LLVMValueRef instruction);
bool tn__is_copy(LLVMValueRef instruction); /* memcpy or memmove */
/* A load of a vector, with operands (address, ...); a masked one has operands (address, mask, other elements). */
bool tn__is_vector_load(LLVMValueRef instruction);
bool tn__is_masked_load(LLVMValueRef instruction);
/* A store of elements of a vector, with operands (vector, address, ...). */
bool tn__is_vector_store(LLVMValueRef instruction);
/* NULL if the function's type is what its row says, else the type that the row wants, as text. */
const char *tn__intrinsic_mismatch(enum tn__intrinsic intrinsic, LLVMTypeRef function_type);

/* Says of functions that are known by name what passes, and LLVM, may rely on: that no collection happens in them; that
 * they throw nothing, which of the contract's only `call`, `call2` and `call3` do: the others are called where they
 * were invoked. */
void tn__annotate_functions(struct tn__gc *gc);

#define TN__LEAF "gc-leaf-function" /* attribute of functions, and of calls, in which no collection happens */

/* True if a collection may happen in this call. */
bool tn__is_safepoint(LLVMValueRef call);
LLVMValueRef tn__find_safepoint(LLVMValueRef function); /* one of the function, or NULL */
bool tn__is_call(LLVMValueRef instruction);             /* call or invoke (or callbr) */
bool tn__returns_twice(LLVMValueRef call);

/* What stands between the parentheses of a `for`. */
#define TN__EACH_FUNCTION(f, gc)                                                                                       \
    LLVMValueRef f = LLVMGetFirstFunction((gc)->module);                                                               \
    f;                                                                                                                 \
    f = LLVMGetNextFunction(f)
#define TN__EACH_BLOCK(b, f)                                                                                           \
    LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f);                                                                   \
    b;                                                                                                                 \
    b = LLVMGetNextBasicBlock(b)
#define TN__EACH_INSTRUCTION(i, b)                                                                                     \
    LLVMValueRef i = LLVMGetFirstInstruction(b);                                                                       \
    i;                                                                                                                 \
    i = LLVMGetNextInstruction(i)
#define TN__EACH_USE(use, value)                                                                                       \
    LLVMUseRef use = LLVMGetFirstUse(value);                                                                           \
    use;                                                                                                               \
    use = LLVMGetNextUse(use)

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
