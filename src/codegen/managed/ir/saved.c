/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where a function's arguments lie when it is called: in which registers and words of memory there are references, and
 * how much memory all of them take. A lazy stub saves the registers while the function is compiled, and the collector
 * has to find, and may change, the references among them (base/lazy_frame.h). A transition copies that memory.
 *
 * Each part of an argument has a general register, a vector register or words in memory, of which every kind is handed
 * out in order: x86-64 psABI, "Parameter Passing"; AAPCS64, "Parameter Passing Rules"; RISC-V psABI, "Hardware
 * Floating-point Calling Convention"; as LLVM does it for types of its own. */

#include <llvm-c/Target.h>

#include "codegen/managed/ir/gc.h"
#include "codegen/managed/ir/saved.h"

enum { WORDS = 32 }; /* that struct tn_lazy_symbol has bits for */

static const struct rules {
    const char *arch;
    unsigned general, vector; /* registers */
    unsigned nest_bit;        /* in base/lazy_frame.h, of the register of `nest` */
    bool even_pairs;          /* 128 bits begin in a register with an even number */
    bool vectors_go_on;       /* vectors go to memory when their registers are used up; else to general registers */
} rules[] = {
    {.arch = "x86_64", .general = 6, .vector = 8, .nest_bit = 6, .vectors_go_on = true},
    {.arch = "aarch64", .general = 8, .vector = 8, .nest_bit = 15, .even_pairs = true, .vectors_go_on = true},
    {.arch = "riscv64", .general = 8, .vector = 8, .nest_bit = 8},
};

struct places {
    const struct rules *rules;
    LLVMTargetDataRef layout;
    unsigned general, vector, words; /* used so far */
    bool words_unknown, unknown;     /* where the next one lies */
    bool failed;                     /* a reference is there */
    struct tn__saved_references found;
};

/* For derived and loaded pointers, the caller pins the object. */
enum { REFERENCES = IN_TRACKED | IN_CALLEE_ROOTED };

static void take_words(struct places *p, uint64_t size, uint64_t alignment)
{
    unsigned each = alignment > 8 ? (unsigned)alignment / 8 : 1;
    p->words = (p->words + each - 1) / each * each + (unsigned)((size + 7) / 8);
    p->words_unknown |= alignment > 16; /* frames are not realigned */
}

static void place_general(struct places *p, bool reference)
{
    bool in_register = p->general < p->rules->general;
    unsigned bit = in_register ? p->general++ : p->words++;
    p->failed |= reference && (p->unknown || (!in_register && (p->words_unknown || bit >= WORDS)));
    if (reference && bit < WORDS)
        *(in_register ? &p->found.registers : &p->found.stack) |= 1u << bit;
}

static void place_integer(struct places *p, unsigned bits)
{
    if (bits <= 64)
        place_general(p, false);
    else if (bits <= 128 && p->general + 2 <= p->rules->general && !(p->rules->even_pairs && p->general % 2))
        p->general += 2;
    else
        p->unknown = true;
}

static void place_in_vector(struct places *p, uint64_t size)
{
    if (size > 16) /* how many registers that takes depends on the processor */
        p->words_unknown = true;
    else if (p->vector < p->rules->vector && (size <= 8 || p->rules->vectors_go_on))
        p->vector++;
    else if (!p->rules->vectors_go_on)
        p->unknown = true;
    else
        take_words(p, size, size);
}

static void place_type(struct places *p, LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        place_general(p, tn__type_holds(type, REFERENCES));
        break;
    case LLVMIntegerTypeKind:
        place_integer(p, LLVMGetIntTypeWidth(type));
        break;
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        place_in_vector(p, 8);
        break;
    case LLVMFP128TypeKind:
        place_in_vector(p, 16);
        break;
    case LLVMX86_FP80TypeKind:
        take_words(p, 16, 16);
        break;
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            place_type(p, LLVMStructGetTypeAtIndex(type, i));
        break;
    case LLVMArrayTypeKind:
        for (uint64_t i = 0; i < LLVMGetArrayLength2(type) && !p->unknown; i++)
            place_type(p, LLVMGetElementType(type));
        break;
    default: /* vectors: what becomes of them depends on elements and processor */
        p->failed |= tn__type_holds(type, REFERENCES);
        p->unknown = true;
    }
}

/* ---- memory that is passed by value ---- */

static void place_word(void *context, uint64_t offset)
{
    struct places *p = context;
    uint64_t bit = p->words + offset / 8;
    p->failed |= offset % 8 || p->words_unknown || bit >= WORDS;
    p->found.stack |= bit < WORDS ? 1u << bit : 0;
}

/* ---- arguments: `of` is a function or a call, whose attributes are what counts ---- */

static LLVMTypeRef parameter_type(LLVMValueRef of, unsigned parameter)
{
    return LLVMTypeOf(LLVMIsAFunction(of) ? LLVMGetParam(of, parameter) : LLVMGetOperand(of, parameter));
}

static uint64_t byval_alignment(LLVMValueRef of, unsigned parameter)
{
    LLVMAttributeRef alignment = tn__attribute(of, parameter + 1, "align");
    return alignment ? LLVMGetEnumAttributeValue(alignment) : 8;
}

static void place_parameter(struct places *p, LLVMValueRef of, unsigned parameter)
{
    static const char *const odd[] = {"inreg", "inalloca", "preallocated", "swiftself", "swiftasync", "swifterror"};
    LLVMTypeRef type = parameter_type(of, parameter);
    LLVMAttributeRef byval = tn__attribute(of, parameter + 1, "byval");
    if (tn__attribute(of, parameter + 1, "nest")) {
        p->found.registers |= tn__type_holds(type, REFERENCES) ? 1u << p->rules->nest_bit : 0;
    } else if (byval) {
        type = LLVMGetTypeAttributeValue(byval);
        take_words(p, 0, byval_alignment(of, parameter));
        tn__each_reference(p->layout, type, 0, place_word, p);
        take_words(p, LLVMABISizeOfType(p->layout, type), 8);
    } else {
        for (size_t i = 0; i < TN_COUNT(odd); i++)
            p->unknown |= tn__attribute(of, parameter + 1, odd[i]) != NULL;
        place_type(p, type);
    }
}

/* A result that takes more registers than there are is returned in memory. Its address is a first argument that LLVM
 * adds, and the IR does not show. True if that may happen to a result of this type. */
static bool may_be_demoted(LLVMTypeRef result)
{
    enum { SURELY_FITS = 2 };
    switch (LLVMGetTypeKind(result)) {
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(result); i++)
            if (may_be_demoted(LLVMStructGetTypeAtIndex(result, i)) ||
                LLVMGetTypeKind(LLVMStructGetTypeAtIndex(result, i)) == LLVMStructTypeKind)
                return true;
        return LLVMCountStructElementTypes(result) > SURELY_FITS;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(result) > 64;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
        return true;
    default:
        return false;
    }
}

static const struct rules *find_rules(LLVMModuleRef module)
{
    for (size_t i = 0; i < TN_COUNT(rules); i++)
        if (strncmp(LLVMGetTarget(module), rules[i].arch, strlen(rules[i].arch)) == 0)
            return &rules[i];
    return NULL;
}

static struct places place_all(LLVMModuleRef module, LLVMValueRef of, LLVMTypeRef result, unsigned convention,
                               unsigned count)
{
    struct places p = {.rules = find_rules(module), .layout = LLVMGetModuleDataLayout(module)};
    p.unknown = !p.rules || (convention != LLVMCCallConv && convention != LLVMFastCallConv) || may_be_demoted(result);
    p.rules = p.rules ? p.rules : &rules[0];
    for (unsigned i = 0; i < count; i++)
        place_parameter(&p, of, i);
    return p;
}

bool tn__gc_saved_references(LLVMValueRef function, struct tn__saved_references *out)
{
    struct places p =
        place_all(LLVMGetGlobalParent(function), function, LLVMGetReturnType(LLVMGlobalGetValueType(function)),
                  LLVMGetFunctionCallConv(function), LLVMCountParams(function));
    *out = p.found;
    return !p.failed;
}

/* ---- memory ---- */

uint64_t tn__gc_argument_memory(LLVMValueRef call)
{
    unsigned count = LLVMGetNumArgOperands(call);
    struct places p = place_all(LLVMGetGlobalParent(tn__function_of(call)), call, LLVMTypeOf(call),
                                LLVMGetInstructionCallConv(call), count);
    uint64_t bytes = 0;
    if (!p.unknown && !p.words_unknown)
        return 8ull * p.words;
    for (unsigned i = 0; i < count; i++) { /* at most: as if no register were free */
        LLVMAttributeRef byval = tn__attribute(call, i + 1, "byval");
        LLVMTypeRef type = byval ? LLVMGetTypeAttributeValue(byval) : parameter_type(call, i);
        uint64_t alignment = byval ? byval_alignment(call, i) : LLVMABIAlignmentOfType(p.layout, type);
        bytes += tn__align_up(LLVMABISizeOfType(p.layout, type), 8) + (alignment > 8 ? alignment : 0);
    }
    return bytes;
}
