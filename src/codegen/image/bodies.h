/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bodies and constants that other images may have copies of (doc/PACKAGES.md): which ones, and their digests. */

#ifndef TENON_CODEGEN_IMAGE_BODIES_H
#define TENON_CODEGEN_IMAGE_BODIES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Module.h"

#include "codegen/image/multiversion.h"

#pragma GCC visibility push(hidden)

/* On copies of another image's functions and constants. */
#define TN__FOREIGN "tenon.mv.foreign"

using tn__references = llvm::SmallSetVector<const llvm::GlobalValue *, 16>;

/* Adds the globals that a value names, itself and through constants. */
void tn__add_references(const llvm::Value &value, llvm::SmallPtrSetImpl<const llvm::Constant *> &seen,
                        tn__references &out);
/* The same for all operands of a function, or for the initial value of a variable, if there is one. */
tn__references tn__references_of(const llvm::GlobalObject &global);

/* A type without the names of structs. */
void tn__print_type(llvm::raw_ostream &out, llvm::Type *type);

/* True for a public function or constant that means the same in another module: all that it refers to has a public
 * name, or is a constant without an identity of its own. These public symbols go to `out`. */
bool tn__may_be_copied(const llvm::GlobalObject &global, tn__references &out);

/* Takes all attributes from a function but those that say how values are passed (multiversion.cpp), and makes something
 * local known to the whole image (annotate.cpp). */
void tn__keep_passing_only(llvm::Function &function);
void tn__make_hidden(llvm::GlobalValue &global, const char *image);

/* Copies of another image's bodies and constants: whether it is one, and making a declaration of it. What was concluded
 * from the body goes with it (foreign.cpp). */
bool tn__is_foreign(const llvm::GlobalValue &global);
void tn__forget(llvm::GlobalObject &global);

/* True for callees that have to be inlined: they come along with kept IR (kept.cpp). */
bool tn__comes_along(const llvm::GlobalValue &global);

/* Digests of such functions and constants, of everything that is known of them before optimisation: without names of
 * what is local, and without debug information. Linking modules together does not change them. */
class tn__digests {
    const std::string version; /* of the compiler */
    llvm::DenseMap<const llvm::Constant *, uint64_t> known;
    llvm::SmallPtrSet<const llvm::GlobalVariable *, 8> begun;
    bool is_circular = false;

  public:
    explicit tn__digests(const char *version) : version(version)
    {
    }
    /* 0: it has none, because a constant contains its own address. */
    uint64_t of(const llvm::GlobalObject &global);
    uint64_t of_constant(const llvm::Constant &constant);
};

#pragma GCC visibility pop
#endif
