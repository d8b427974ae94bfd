/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What passes over managed code (doc/IR.md) know of IR:
 *     intrinsics.c   the contract's functions, as rows
 *     arrays.c       calls with an array of arguments
 *     support.c      types, attributes, errors, memory
 *     map.c          numbers for values and blocks; sets of values
 *     blocks.c       pieces of IR that several passes build, and their places
 *     cfg.c          blocks, predecessors, dominators
 *     bases.c        the reference that each derived pointer was derived from
 *     saved.c        where the arguments of functions are (saved.h)
 *     descriptors.c  type descriptors that the module defines
 *     llvm_gc.cpp    what LLVM's C API lacks
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

struct tn__counters; /* jit/counter.h */

/* One compilation as the passes over managed code see it. */
struct tn__gc {
    LLVMModuleRef module;
    LLVMContextRef context;
    const struct tn_compile_options *options;
    struct tn__diagnostics *diagnostics; /* receives errors */
    struct tn_compile_stats *stats;      /* NULL: they are not reported, as of a module that becomes several parts */
    struct tn__arena arena;              /* of the running pass; freed by the owner of the struct */
    bool is_typed_next;                  /* type-stack runs next, and reports what is wrong with stack memory */
    bool is_optimized;            /* gc-verify ran last: LLVM may have exchanged the types that getelementptr names */
    LLVMTargetMachineRef machine; /* for passes that ask about the target */
    struct tn__watch *watch;      /* NULL: no observer of passes */
    unsigned off;                 /* optimisations that are not wanted: TN__... below */
    unsigned lowered;             /* how far the passes of the lowering have run in their order (passes.c) */
    bool is_hooked;               /* the client's hook was called (hook.c) */
    bool leaves_rows;             /* the baseline compiler takes functions of this module (tn__leaves_rows) */
    bool writes_types;            /* root-tables makes a section of the types: nothing else tells them */
    const struct tn__counters *counters; /* NULL: calls are not counted */
    /* While passes run (tn__gc_begin): */
    LLVMBuilderRef builder; /* one for all of them, each of which places it before use */
    struct tn__declared {
        const char *name; /* a literal */
        LLVMTypeRef overload, type;
        LLVMValueRef function;
    } declared[8]; /* intrinsics of LLVM's, since the list of passes began */
    unsigned declared_count;
    LLVMTypeRef nothing, i8, i32, i64, pointer, reference, derived; /* the pointers are in 0, TRACKED and DERIVED */
};

/* Optimisations of managed code, each of which tenon<no_...> turns off (pipeline.h has the other options). */
enum {
    TN__ALLOC_OPT = 1 << 16,
    TN__OMIT_BARRIERS = 1 << 17,
    TN__OMIT_POLLS = 1 << 18,
    TN__MERGE_ALLOCATIONS = 1 << 19,
    TN__HOIST = 1 << 20,
    TN__LEAVE_SPACES = 1 << 21,
    TN__DEVIRTUALIZE = 1 << 22,
    TN__OPTIMIZATIONS = 0x7f << 16,
};

/* Whether the baseline compiler takes what it covers: optimisers see nothing of it. */
static inline bool tn__is_for_baseline(const struct tn_compile_options *options)
{
    return options->baseline && options->opt_level == 0 && options->emit == TN_EMIT_OBJECT;
}

/* What the passes leave to be expanded when it is flattened (codegen/flatten/expand.cpp). A barrier is a call of this
 * function: the object, the word that is stored to and the value, of which the last two may be null (lower/barriers.c),
 * whether the object may be null, and the function and the variable of the runtime that it needs. */
#define TN__BARRIER_ROW "tn__gc_barrier_row"
/* A call of the runtime's with this operand bundle is made only where it is needed. A poll has the thread's block; an
 * allocation also its size, words to be null, and the alignment. */
#define TN__INLINE "tenon.inline"

/* ---- address spaces ---- */

enum tn__space { TRACKED = 10, DERIVED = 11, CALLEE_ROOTED = 12, LOADED = 13 };

enum { PTR_TO_ADDR = 69 }; /* LLVMPtrToAddr, which releases before 22 do not have */

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
/* Whether the baseline compiler is going to expand what a function leaves to it, as far as can be known before. */
bool tn__leaves_rows(const struct tn__gc *gc, LLVMValueRef function);
/* Looks for what of a function tells that it does not. */
void tn__find_left_functions(struct tn__gc *gc);
/* True if the function consists of inline assembly without a frame. Where it leads is unknown (an image's entries
 * jump to versions of functions), so it is native code, and called like that. Its parameters must have no use. */
bool tn__is_naked(LLVMValueRef function);
bool tn__is_local(LLVMValueRef global); /* its name means nothing to other modules */

/* ---- calling conventions (conventions.c) ---- */

/* What functions of this convention can be on the module's machine. AS_C: native ones are called like C, where the only
 * difference is that the callee preserves more. */
enum tn__managed_convention { TN__NO_CONVENTION, TN__MANAGED_ONLY, TN__NATIVE, TN__NATIVE_AS_C };

/* `number` is LLVM's. */
enum tn__managed_convention tn__managed_convention(const struct tn__gc *gc, unsigned number);

static inline LLVMValueRef tn__function_of(LLVMValueRef instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

/* ---- accesses (support.c) ---- */

/* The operand of a load, store or atomic access that is the address; -1 for other instructions. */
int tn__address_operand(LLVMValueRef i);
/* What such an instruction loads or stores; of a comparison and exchange what it compares with. */
LLVMValueRef tn__accessed_value(LLVMValueRef i);
/* True if it uses this operand as its address, and for nothing else. */
bool tn__is_only_address(LLVMValueRef user, LLVMValueRef address);

/* What stores a reference into managed memory: a store, an atomic access, or a store of a vector's elements. */
struct tn__reference_store {
    LLVMValueRef address, value;
};

bool tn__stores_reference(LLVMValueRef i, struct tn__reference_store *store); /* false: this does not */

/* ---- attributes (support.c) ---- */

#define TN__ON_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* Text attributes of functions. */
bool tn__has_text(LLVMValueRef function, const char *key);
void tn__set_text(LLVMValueRef function, const char *key, const char *value);
/* The attribute of this name of a function or a call, or NULL. Parameters have their number + 1 as the index. */
LLVMAttributeRef tn__attribute(LLVMValueRef of, LLVMAttributeIndex index, const char *name);
/* The attribute of a call or, if it has none, of the function that it names. */
LLVMAttributeRef tn__call_attribute(LLVMValueRef call, LLVMAttributeIndex index, const char *name);
/* True if the call, or the function that it names, has this text. */
bool tn__call_has_text(LLVMValueRef call, const char *key);

/* ---- errors (support.c) ---- */

/* Adds an error about an instruction, or a function or variable. `rule` is a name in doc/IR.md. */
void tn__gc_reject(struct tn__gc *gc, LLVMValueRef place, const char *rule, const char *text);

/* ---- memory (support.c) ---- */

/* Zeroed; lives until the pass ends. */
void *tn__gc_array(struct tn__gc *gc, size_t count, size_t size);
/* Where element number `count` of a growing array is to go: `array`, or a larger copy. */
void *tn__gc_space(struct tn__gc *gc, void *array, size_t count, size_t size);
/* Appends an element to such an array. */
#define TN__APPEND(gc, array, count, ...)                                                                              \
    ((array) = tn__gc_space((gc), (array), (count), sizeof *(array)), (void)((array)[(count)++] = (__VA_ARGS__)))

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
    X(EXCEPT_ENTER, "except_enter", "e()", COLLECTS)                                                                   \
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
/* Whether the module declares one of these (1 << TN__..., ...). */
bool tn__names_any(struct tn__gc *gc, uint32_t intrinsics);
/* Whether a collection may happen in one. */
bool tn__collects(enum tn__intrinsic intrinsic);
/* The name behind "llvm." of the intrinsic of LLVM's that a call or invoke names directly; "" for everything else. */
const char *tn__llvm_name_called(LLVMValueRef instruction);
/* True if that name begins with one of these texts. */
#define tn__calls_llvm(instruction, ...) tn__calls_any(instruction, (const char *const[]){__VA_ARGS__, NULL})
bool tn__calls_any(LLVMValueRef instruction, const char *const *prefixes); /* up to NULL */
bool tn__is_allocation(LLVMValueRef instruction);
bool tn__is_atomic_modify(LLVMValueRef function); /* atomicmodify.iN.pM, a family of the contract's functions */
bool tn__is_copy(LLVMValueRef instruction);       /* memcpy or memmove */
/* A load of a vector, with operands (address, ...); a masked one has operands (address, mask, other elements). */
bool tn__is_vector_load(LLVMValueRef instruction);
bool tn__is_masked_load(LLVMValueRef instruction);
/* A store of elements of a vector, with operands (vector, address, ...). */
bool tn__is_vector_store(LLVMValueRef instruction);
/* NULL if the function's type is what its row says, else the type that the row wants, as text. */
const char *tn__intrinsic_mismatch(enum tn__intrinsic intrinsic, LLVMTypeRef function_type);

/* Calls with an array of arguments (arrays.c): `call`, `call2`, `call3`; how many are in the array. */
bool tn__is_array_call(LLVMValueRef instruction);
unsigned tn__array_length(LLVMValueRef call);
/* The type of the function that such a call calls. */
LLVMTypeRef tn__array_call_type(struct tn__gc *gc, LLVMValueRef call);
/* Replaces one by an ordinary call; `array` is a variable with space for the arguments, NULL: there are none. */
void tn__lower_array_call(struct tn__gc *gc, LLVMValueRef call, LLVMValueRef array);

/* Says of functions that are known by name what passes, and LLVM, may rely on: no collection happens in them, and they
 * throw nothing. Of the contract's functions only `call`, `call2` and `call3` throw; an invoke of another one becomes a
 * call. */
void tn__annotate_functions(struct tn__gc *gc);

#define TN__LEAF "gc-leaf-function" /* attribute of functions, and of calls, in which no collection happens */

/* Attribute of calls that return twice, where the second return has a way of its own, with a safepoint there. */
#define TN__RETURNS_APART "tenon-returns-apart"

/* True if a collection may happen in this call, or it is that of a body by its entry, which has a stack map too
 * (llvm_gc.cpp). */
bool tn__is_safepoint(LLVMValueRef call);
bool tn__is_entry_call(LLVMValueRef call);
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

#define TN__JUMP "tenon-jump" /* attribute of naked functions of ours, which jump to an entry: no native code */

#define TN__ENTRY_CALL "tenon-entry" /* attribute of the call of a body by its entry */

/* ---- places (blocks.c) ---- */

/* Where instructions of ours may begin: behind phis and landing pads; in the entry behind the first variables. */
LLVMValueRef tn__first_insertion_point(LLVMBasicBlockRef block);
LLVMValueRef tn__behind_variables(LLVMValueRef function);
/* The instruction behind the value's definition; of an invoke's result one to which only the normal way leads. */
LLVMValueRef tn__place_behind(LLVMValueRef value);

/* Gives the normal way of each invoke that is a safepoint a block of its own, unless it has. */
void tn__split_invokes(LLVMValueRef function);

/* ---- pieces of IR that several passes build (blocks.c) ---- */

/* The thread's block, a variable of the runtime, and its address. */
LLVMValueRef tn__block_variable(struct tn__gc *gc);
LLVMValueRef tn__thread_block(struct tn__gc *gc);
/* The same, computed once for the function. */
LLVMValueRef tn__function_block(struct tn__gc *gc, LLVMValueRef function);
/* In an entry: the number that levels are compared with. Those of callers that are still there have a greater `sp`. */
LLVMValueRef tn__entry_frame(struct tn__gc *gc);
/* Other threads see what has been stored to a new object so far before they see what is stored from now on. */
void tn__publish_object(struct tn__gc *gc);

/* A variable at the beginning of the function. */
LLVMValueRef tn__make_variable(struct tn__gc *gc, LLVMValueRef function, LLVMTypeRef type, const char *name);
/* Metadata without contents. */
void tn__mark(LLVMValueRef instruction, const char *name);

/* Declares an intrinsic of LLVM's that is overloaded for one type. `name` is a literal. */
LLVMValueRef tn__llvm_intrinsic(struct tn__gc *gc, const char *name, LLVMTypeRef overload, LLVMTypeRef *type);

/* `base` plus a number of bytes. */
LLVMValueRef tn__field(struct tn__gc *gc, LLVMValueRef base, int64_t offset);

/* The address of a reference's header. */
LLVMValueRef tn__header_of(struct tn__gc *gc, LLVMValueRef reference);

/* Collects the calls in defined functions of these intrinsics (1 << TN__..., ...), or that `wanted` picks, then changes
 * one after the other; the builder's place is free to choose. */
void tn__each_call(struct tn__gc *gc, uint32_t intrinsics, bool (*wanted)(LLVMValueRef instruction),
                   void (*change)(struct tn__gc *gc, LLVMValueRef call));

LLVMValueRef tn__runtime_function(struct tn__gc *gc, const char *name, LLVMTypeRef type);
/* Calls one with at most 4 arguments; no collection happens in it if it is a leaf. */
LLVMValueRef tn__call_runtime(struct tn__gc *gc, bool is_leaf, const char *name, LLVMTypeRef result,
                              LLVMValueRef *arguments, unsigned count);

/* Says what an access touches, as nodes of the tree in doc/IR.md: headers of objects, or the runtime's own memory. The
 * baseline compiler does not ask. */
enum tn__known_memory { TN__HEADER_MEMORY, TN__RUNTIME_MEMORY };
LLVMValueRef tn__tag(struct tn__gc *gc, LLVMValueRef access, enum tn__known_memory memory);

/* Splits the block before an instruction, and puts a new block between the halves. The builder is at the end of the
 * first half, which has no terminator yet; `*rest` is the second one. */
LLVMBasicBlockRef tn__make_detour(struct tn__gc *gc, LLVMValueRef before, const char *name, LLVMBasicBlockRef *rest);

/* The first way of a conditional branch is taken nearly always. The baseline compiler does not ask. */
void tn__likely(struct tn__gc *gc, LLVMValueRef branch);

/* Copies what the calling convention needs to know of the first `count` arguments of a call, or parameters of a
 * function, to the arguments of the call `to` from `at` on. */
void tn__copy_abi_attributes(LLVMValueRef from, unsigned count, LLVMValueRef to, unsigned at);

/* Puts a call (or invoke, if the old one is) with other arguments in the place of one; its own begin at `shift` in the
 * new one. Bundles stay. If the result has another type, the old one must have no uses. */
LLVMValueRef tn__replace_call(struct tn__gc *gc, LLVMValueRef call, LLVMTypeRef type, LLVMValueRef callee,
                              LLVMValueRef *arguments, unsigned count, unsigned shift);

/* ---- blocks, and which lie on every way to others (cfg.c) ---- */

struct tn__cfg {
    struct tn__block {
        LLVMBasicBlockRef block;
        uint32_t *predecessors, predecessor_count; /* each once */
        uint32_t dominator;                        /* immediate */
    } * blocks;                                    /* in reverse postorder */
    uint32_t count;
    struct tn__map numbers; /* of blocks */
};

/* Every block of the function must be reachable. */
struct tn__cfg *tn__cfg_build(struct tn__gc *gc, LLVMValueRef function);
uint32_t tn__cfg_number(const struct tn__cfg *cfg, LLVMBasicBlockRef block);
/* Whether the call lies in the region of this gc_preserve_begin: the call's block must be reachable. */
bool tn__region_covers(const struct tn__cfg *cfg, LLVMValueRef begin, LLVMValueRef call);

/* ---- type descriptors (descriptors.c) ---- */

struct tn__descriptor {
    LLVMValueRef global, offsets; /* `offsets`: the constant array, or NULL */
    uint64_t kind, size, element, references, offset_count;
};

/* Reads the descriptor that a global, which may be NULL, is. False: it is none, or not known here. */
bool tn__read_descriptor(LLVMModuleRef module, LLVMValueRef global, struct tn__descriptor *d);
/* The element of `offsets`. */
uint64_t tn__descriptor_offset(const struct tn__descriptor *d, uint64_t index);
/* What the descriptor calls the type, or what the descriptor is called itself. */
const char *tn__descriptor_name(LLVMModuleRef module, const struct tn__descriptor *d);
/* The type that it describes, with the name that it has there. False: it only looks like a descriptor, or there is no
 * memory; *out_of_memory says which. */
bool tn__descriptor_type(LLVMModuleRef module, const struct tn__descriptor *d, struct tn__arena *arena,
                         struct tn_type *type, bool *out_of_memory);
/* The types of all descriptors, as bytes (base/types.h), into an empty buffer. False: no memory. */
bool tn__describe_types(LLVMModuleRef module, struct tn_buffer *out);
/* A number in a constant struct, at so many bytes. False: there is none. */
bool tn__read_number(LLVMTargetDataRef layout, LLVMValueRef constant, uint64_t offset, uint64_t *number);

/* ---- the reference that each derived pointer was derived from (bases.c) ---- */

struct tn__bases;

struct tn__bases *tn__bases_begin(struct tn__gc *gc, LLVMValueRef function);

/* The reference, a value in 10, of the object that a managed pointer points into. NULL: none in the heap, or one that
 * this function has no reference to. May insert phis, selects and casts. */
LLVMValueRef tn__base_of(struct tn__bases *bases, LLVMValueRef value);

/* The instruction where the way from a pointer in 11 or 13 to its base ends, if it yields a pointer that may point into
 * any object: assembly, for example. NULL: the base is known, or there is no object, or the caller keeps it. */
LLVMValueRef tn__unknown_origin(struct tn__bases *bases, LLVMValueRef value);

/* Removes phis and selects that choose one value only, or the same as another one; earlier results of tn__base_of
 * become invalid. */
void tn__bases_simplify(struct tn__bases *bases);

/* True for bases that were chosen among several, of which one may be none. */
bool tn__bases_may_be_null(const struct tn__bases *bases, LLVMValueRef base);

/* The value that a phi or select chooses if it is the same on every way; NULL: there are several. */
LLVMValueRef tn__only_choice(LLVMValueRef choice);

/* Finds derived pointers in address space 10: each getelementptr there, and the instructions that pass them on. */
void tn__find_interior(struct tn__gc *gc, LLVMValueRef function, struct tn__values *found);

/* To be told of what others erase. */
void tn__bases_forget(struct tn__bases *bases, LLVMValueRef value);

/* Erases what was inserted and is not used. */
void tn__bases_end(struct tn__bases *bases);

/* ---- what LLVM's C API lacks (llvm_gc.cpp) ---- */

/* How many bytes an address is from `base`; false unless only casts and constant steps lead from there to it. */
bool tn__constant_distance(LLVMValueRef address, LLVMValueRef base, int64_t *distance);

/* How many bytes a getelementptr adds, also one that is a constant: `bytes`, and any number of times `stride`; 0: just
 * that. */
void tn__llvm_gep_steps(LLVMTargetDataRef layout, LLVMValueRef gep, int64_t *bytes, uint64_t *stride);

/* Gives an alloca another type, of which there is one. */
void tn__llvm_set_allocated_type(LLVMValueRef alloca, LLVMTypeRef type, unsigned alignment);

/* Keeps those calls of a function, moved to the front, whose results the target returns in memory, and returns their
 * number. */
size_t tn__llvm_select_returned_in_memory(LLVMTargetMachineRef machine, LLVMValueRef function, LLVMValueRef *calls,
                                          size_t count);

/* Whether a result that the function returns, or a call in it, is returned in registers of the x87, for which LLVM's
 * statepoints are wrong. */
bool tn__llvm_is_returned_in_x87(LLVMTargetMachineRef machine, LLVMValueRef function, LLVMTypeRef type);

/* Whether a function, or a call or the function that it names, has an argument that is inalloca, preallocated,
 * swifterror or swiftasync. */
bool tn__llvm_passes_unusually(LLVMValueRef of);

/* What is known of the alignment of an argument's memory. */
unsigned tn__llvm_alignment(LLVMValueRef argument);

/* Writes the quoted name of the member at this offset of a C struct, from debug information; false if there is none. */
bool tn__llvm_member_name(LLVMModuleRef module, const char *name, uint64_t offset, char *out, size_t size);

/* Moves the instruction and all behind it to a new block, which follows; the old one ends in a branch to it. */
LLVMBasicBlockRef tn__llvm_split(LLVMValueRef before);

/* Makes an alloca of a constant number of elements one of an array, among those at the beginning of its function. */
void tn__llvm_hoist(LLVMValueRef alloca);

/* A select by the condition of another one, in front of it; both choices are `placeholder`. */
LLVMValueRef tn__llvm_select(LLVMValueRef like, LLVMValueRef placeholder);

/* Puts a new block between a terminator and one of its successors. */
LLVMBasicBlockRef tn__llvm_split_edge(LLVMValueRef terminator, unsigned successor);

/* Uses of one function become uses of another, but for addresses of its blocks. */
void tn__llvm_replace_function(LLVMValueRef old, LLVMValueRef by);

/* Calls `visit` with each call of the module, in order; it must not change the module. */
void tn__llvm_each_call(LLVMModuleRef module, void (*visit)(void *context, LLVMValueRef call), void *context);

/* Whether the instruction says where the lifetime of a variable begins or ends. */
bool tn__llvm_is_lifetime(LLVMValueRef instruction);

/* Whether one of the operands is a constant that is made of others, a function that is not called here, or a pointer in
 * CALLEE_ROOTED. */
bool tn__llvm_has_notable_operand(LLVMValueRef instruction);

/* Undefined managed pointers, as operands in a function, become null. */
void tn__llvm_define_operands(LLVMValueRef function);

bool tn__has_bundle(LLVMValueRef call, const char *tag);
/* A call without the operand bundles of the contract takes the place of one with them. */
void tn__llvm_drop_bundles(LLVMValueRef call);
void tn__llvm_drop_bundle(LLVMValueRef call, const char *tag);

/* A call, and a branch to where the invoke goes on, take its place. */
void tn__llvm_call_instead(LLVMValueRef invoke);

/* Changes the address space of a pointer that an instruction computes; its operands and users are the caller's. */
void tn__llvm_set_type(LLVMValueRef instruction, LLVMTypeRef type);

/* Declares the memcpy, memmove or memset that a call names for the spaces that its operands have come to be in. */
void tn__llvm_redeclare(LLVMValueRef call);

/* Local variables of managed pointer type become values, where their address is not taken. */
void tn__llvm_promote(LLVMValueRef function);
/* Not 0 for an alloca that is only loaded and stored, always as what its type says. */
int tn__llvm_is_promotable(LLVMValueRef variable);

/* Calls `visit` for each declared function that LLVM knows the C library to have, with this name and type, of those
 * whose names are wanted. */
void tn__llvm_each_library_function(LLVMModuleRef module, bool (*wanted)(const char *name),
                                    void (*visit)(LLVMValueRef function));

/* Takes blocks away that no way leads to. */
void tn__llvm_remove_unreachable(LLVMValueRef function);

/* Does nothing, but a program that calls it has the GC strategy and the printer of stack maps linked in. */
void tn__llvm_use_strategy(void);

/* True if objects made of the module are ELF files. */
bool tn__llvm_is_elf(LLVMModuleRef module);
/* Whether `is` is true of any of the types that values of this one are made of. Looks at each once: structs in structs
 * may hold a type more often than there is time for. */
bool tn__llvm_any_part(LLVMTypeRef type, bool (*is)(LLVMTypeRef part, unsigned argument), unsigned argument);
uint64_t tn__llvm_count_references(LLVMTypeRef type); /* in a value of this type; more than fit are UINT64_MAX */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
