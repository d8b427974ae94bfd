/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bitcode as it is stored, for what has to be known before LLVM reads it (bitcode.cpp). Nothing here recurses. */

#ifndef TENON_CODEGEN_BITCODE_H
#define TENON_CODEGEN_BITCODE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Bitstream/BitstreamReader.h"

#pragma GCC visibility push(hidden)

/* Calls `visit` for each entry up to the end of the block that the cursor is in, or until it returns false. It has to
 * read or to skip the entry. */
llvm::Error tn__each_entry(llvm::BitstreamCursor &cursor,
                           llvm::function_ref<llvm::Expected<bool>(llvm::BitstreamEntry entry)> visit);

/* Calls `visit` for each block in the first module, for readers accept no other, until it returns false. It has to
 * enter the block and to read to its end, or to skip it. What cannot be read is left to LLVM's reader: then false. */
bool tn__each_block(llvm::StringRef bytes,
                    llvm::function_ref<llvm::Expected<bool>(llvm::BitstreamCursor &cursor, unsigned block)> visit);

/* What is wrong with a file, by the lengths of its blocks: it is truncated, or does not have one module. "": nothing.
 * */
std::string tn__bitcode_problem(llvm::StringRef bytes);

/* LLVM's words about bitcode, after what the file says of its writer. */
std::string tn__bitcode_error(llvm::StringRef bytes, llvm::Error error);

#pragma GCC visibility pop
#endif
