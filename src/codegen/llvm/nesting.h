/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Limits of nesting. LLVM's functions recurse into types, constants and metadata, and work on nested types grows with
 * the square of their depth. So IR that is nested deeper than the stack (fatal.h) holds is refused before LLVM
 * recurses. */

#ifndef TENON_CODEGEN_NESTING_H
#define TENON_CODEGEN_NESTING_H

#include <string>

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

#pragma GCC visibility push(hidden)

/* Brackets of text, types, constants; metadata, whose graph is deeper in large programs; aliases of aliases, of which
 * the verifier follows every chain from each of its links. */
enum { TN__NESTING = 1000, TN__METADATA_NESTING = 20000, TN__ALIAS_NESTING = 100 };

struct tn__position {
    unsigned line = 0, column = 0; /* from 1; 0: none */
};

/* Before text is parsed: brackets and chains of named types. False with a message, and where the nesting begins. */
bool tn__nesting_of_text(llvm::StringRef text, tn__position &at, std::string &message);

/* Before bitcode is read: its types. What cannot be read here is left to the reader. */
bool tn__nesting_of_bitcode(llvm::StringRef bytes, std::string &message);

/* After reading and before anything else: constants, aliases and metadata. */
bool tn__nesting_of_module(const llvm::Module &module, std::string &message);
/* The same for a body that is read later than its module. It must not name blocks by their addresses: such bodies are
 * not read later, if they are written as LLVM writes them. */
bool tn__nesting_of_body(const llvm::Function &function, std::string &message);

#pragma GCC visibility pop
#endif
