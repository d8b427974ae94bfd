/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by split.cpp, which finds the parts, and extract.cpp, which copies one of them. */

#ifndef TENON_CODEGEN_EXTRACT_H
#define TENON_CODEGEN_EXTRACT_H

#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/TrackingMDRef.h"
#include "llvm/Support/StringSaver.h"

#include "codegen/parts/split.h"

#pragma GCC visibility push(hidden)

struct tn__split {
    struct part {
        std::vector<llvm::GlobalValue *> members;
        std::vector<tn__split_symbol> symbols;
    };
    /* The lists that a compile unit has for the whole module: enumerations, types, variables, imports and macros. */
    struct unit_lists {
        llvm::DICompileUnit *unit;
        llvm::TrackingMDRef lists[5];
    };

    llvm::Module *const module;
    const bool opaque, whole;
    std::vector<part> parts;
    llvm::DenseMap<const llvm::GlobalValue *, size_t> part_of;
    llvm::DenseSet<const llvm::GlobalVariable *> copied;         /* constants that are copied to their users */
    llvm::DenseMap<const llvm::Function *, const char *> bodies; /* their names */
    llvm::DenseSet<const llvm::GlobalValue *> entangled;         /* functions that know addresses inside others */
    std::vector<unit_lists> units;
    llvm::BumpPtrAllocator names;
    llvm::DenseSet<const llvm::Function *> unread;               /* functions whose bodies are read later */
    llvm::DenseMap<const llvm::Function *, std::string> invalid; /* what was wrong with these */

    tn__split(llvm::Module *module, const char *tag, bool whole);

    bool is_copied(const llvm::GlobalVariable &variable) const
    {
        return copied.contains(&variable) || (whole && may_copy(variable));
    }
    /* Reads a function's body, if it was left unread. NULL, or what is wrong with it, as long as the split lives. */
    const char *load(const llvm::Function &function);
    /* Bodies are read when they are needed, and can be read again. */
    bool reads_bodies() const
    {
        return module->getMaterializer() != nullptr;
    }
    /* A function whose blocks and arguments were taken is as it was before its body was read. */
    void unload(llvm::Function &function);
    /* Puts the lists back into their compile units, or removes them. */
    void show_lists(bool shown);

  private:
    bool may_copy(const llvm::GlobalVariable &variable) const;
    void name_everything(const char *tag);
    void form_parts();
    unsigned tier_flags(const part &part, const llvm::Function &function);
    void list_symbols(const char *tag);
    void list_whole();
    void forget_values_in_debug_info();
};

#pragma GCC visibility pop
#endif
