/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the files of this room share. */

#ifndef TENON_CODEGEN_FLATTENER_H
#define TENON_CODEGEN_FLATTENER_H

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include "codegen/flatten/flatten.h"

#pragma GCC visibility push(hidden)

/* A scalar of an aggregate. */
struct tn__leaf {
    enum : uint64_t { NOWHERE = UINT64_MAX };
    uint8_t type;         /* enum tn__flat_type */
    uint64_t offset;      /* in memory; NOWHERE: it is a bit among others */
    bool is_half = false; /* the first half of an i128 */
};

using tn__leaves = llvm::SmallVector<tn__leaf, 4>;

/* From which of a function's instructions on the code comes from a line. */
struct tn__located {
    uint32_t first;
    const llvm::DILocation *location;
};

/* One module. Members are set for each function anew, except what is of the module. */
struct tn__flattener {
    const llvm::Module &module;
    const llvm::TargetMachine &machine;
    const llvm::DataLayout &layout;
    tn__baseline_object &object;                                  /* gets the symbols */
    llvm::MapVector<const llvm::GlobalValue *, uint32_t> symbols; /* in their order, in which they get names */
    llvm::StringMap<uint32_t> libcalls;
    llvm::DenseMap<const llvm::Comdat *, uint32_t> groups;
    llvm::SmallPtrSet<const llvm::GlobalValue *, 8> retained; /* linkers keep them: llvm.used */

    const llvm::GlobalValue *personality = nullptr; /* of all functions that have one */

    tn__flat &flat;
    llvm::SmallVector<const llvm::Instruction *, 0> owners; /* of the flat instructions that begin one of LLVM's */
    struct reference {
        uint32_t at; /* in flat.operands */
        const llvm::Instruction *to;
        unsigned part;
    };
    llvm::SmallVector<reference, 0> later;                      /* operands that come after their use */
    llvm::DenseMap<const llvm::BasicBlock *, uint32_t> numbers; /* of blocks, where LLVM does not have them */
    llvm::SmallVector<uint32_t, 0> seen;                        /* of each block: the phi that has it */
    const char *why = nullptr;                                  /* the function is not covered */
    bool is_odd = false;                                        /* a type was met that is such an integer */
    bool is_wide = false;                                       /* an i128 was met where only scalars are covered */
    llvm::SmallVector<uint32_t, 0> arguments;                   /* of each: its first value, if some have several */
    bool no_memory = false;
    llvm::SmallVector<tn__located, 0> located; /* of functions with lines */
    bool takes_managed = false;                /* managed code is covered, and its address spaces */

    tn__flattener(const llvm::Module &module, const llvm::TargetMachine &machine, tn__baseline_object &object,
                  tn__flat &flat)
        : module(module), machine(machine), layout(module.getDataLayout()), object(object), flat(flat)
    {
        llvm::SmallVector<llvm::GlobalValue *, 8> used;
        collectUsedGlobalVariables(module, used, false);
        retained.insert(used.begin(), used.end());
    }

    /* Makes the flat form of a function; false: `why` says why not, or memory is out. */
    bool flatten(llvm::Function &function);

    /* ---- types and constants (constants.cpp) ---- */

    /* A scalar's type; TN__FLAT_VOID, and `why`, if there is none for it. */
    unsigned type_of(const llvm::Type *type);
    /* The scalars of a first-class type, in order; false: `why`. */
    bool leaves_of(llvm::Type *type, uint64_t offset, tn__leaves &leaves);
    bool lanes_of(llvm::FixedVectorType &vector, uint64_t offset, tn__leaves &leaves);
    uint32_t constant(const llvm::Constant *constant);
    uint32_t constant_part(const llvm::Constant *constant, unsigned part);
    uint32_t number(uint64_t value);
    uint32_t wide_number(const llvm::APInt &value);
    uint32_t address_of(const llvm::GlobalValue *global, int64_t addend);
    /* The symbol of a thread-local variable. */
    uint32_t thread_local_of(const llvm::GlobalVariable *variable);
    uint32_t symbol_address(const llvm::GlobalValue *global, int64_t addend);
    /* The number of a symbol, whatever it is. */
    uint32_t symbol_of(const llvm::GlobalValue *global);
    /* Of the COMDAT group that a function or variable is in, from 1 on; 0: it is in none (data.cpp). */
    uint32_t group_of(const llvm::GlobalObject &global);
    /* 0, and `why`, if the module defines it. */
    uint32_t library_function(const char *name);

    bool refuse(const char *reason)
    {
        if (!why)
            why = reason;
        return false;
    }
    template <typename Item> bool grow(Item *&items, size_t &room, size_t need)
    {
        if (need <= room || tn__grow(nullptr, &items, &room, need, sizeof *items))
            return true;
        no_memory = true;
        return refuse("memory is out");
    }
};

/* Why a module's functions, or one of them, are LLVM's, whatever is in their bodies; NULL: they need not be
 * (eligible.cpp). */
const char *tn__flatten_refuses(const llvm::Module &module, const llvm::TargetMachine &machine);
const char *tn__flatten_refuses(const llvm::Function &function);

/* Whether debug information is that of lines, and none of variables and types. */
bool tn__flatten_is_of_lines(const llvm::DICompileUnit *unit);

/* What expressions that only add and convert begin with, and how many bytes they add; NULL: they do more, or cut off
 * bits of an address (constants.cpp). */
const llvm::Constant *tn__flatten_origin(const llvm::DataLayout &layout, const llvm::Constant *constant,
                                         int64_t &addend);

/* The initial value of a variable, as bytes (contents.cpp). */
struct tn__contents {
    /* In `size` bytes: the address of a symbol, or how far that is from the variable. */
    struct pointer {
        uint64_t offset, size;
        const llvm::GlobalValue *symbol;
        bool is_distance;
        int64_t addend;
    };
    const llvm::DataLayout &layout;
    const llvm::GlobalVariable &variable;
    uint8_t *bytes; /* zeros at first */
    llvm::SmallVector<pointer, 0> pointers;
    const char *why = nullptr; /* something is not covered */

    /* Writes a value at an offset. False: why. */
    bool fill(uint64_t at, const llvm::Constant &value);
};

/* Adds all variables of a module to the object, and their aliases. If one is not covered, the object has none, `which`
 * is that one, or NULL if it is the module, and `why` is not NULL. TN_ENOMEM (data.cpp). */
int tn__flatten_data(tn__flattener &flattener, const llvm::GlobalValue *&which, const char *&why, tn_error *err);

/* The lines of the functions of a module that are compiled (lines.cpp). */
class tn__lines {
    struct row {
        uint32_t offset, file, line, column;
    };
    struct function {
        uint32_t number, size; /* of the object's functions */
        const llvm::DISubprogram *subprogram;
        size_t first_row;
    };
    llvm::SmallVector<row, 0> rows;
    llvm::SmallVector<function, 0> functions;
    llvm::SmallVector<const llvm::DIFile *, 0> files; /* counted from 1 */
    llvm::DenseMap<const llvm::DIFile *, uint32_t> numbers;

    uint32_t file_of(const llvm::DIFile *file);
    void put_function(struct tn__section_writer &w, const function &f, size_t end) const;

  public:
    /* The function that was compiled last. */
    void add(const llvm::Function &function, const tn__code &code, llvm::ArrayRef<tn__located> located);
    /* Adds sections to the object. False: memory is out. */
    bool write(const llvm::Module &module, tn__baseline_object &object) const;
};

/* As in ELF. */
uint8_t tn__flatten_binding(const llvm::GlobalValue &global);
uint8_t tn__flatten_visibility(const llvm::GlobalValue &global);

/* The name by which objects know a global, in the arena. Globals without one, and private ones, get one (module.cpp).
 * NULL: out of memory. */
const char *tn__flatten_name(llvm::GlobalValue &global, tn__arena &arena);

#pragma GCC visibility pop
#endif
