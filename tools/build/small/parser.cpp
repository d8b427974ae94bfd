/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The tables of LLVM's parser of assembly for X86 are unpacked when the first parser is made (tables.mk): few modules
 * have assembly. What registers the parser (--wrap) registers this one in front of it. */

#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/ErrorHandling.h"

#include "cmd/packed_tables.h"

namespace llvm {
Target &getTheX86_32Target();
Target &getTheX86_64Target();
} // namespace llvm

using namespace llvm;

#define HIDDEN __attribute__((visibility("hidden")))
extern "C" HIDDEN void __real_LLVMInitializeX86AsmParser();
extern "C" HIDDEN void __wrap_LLVMInitializeX86AsmParser();

static Target registered; /* a copy, with LLVM's own parser; it is the same for both targets */

static MCTargetAsmParser *make(const MCSubtargetInfo &subtarget, MCAsmParser &parser, const MCInstrInfo &info,
                               const MCTargetOptions &options)
{
    if (!tool_unfold_parser())
        report_bad_alloc_error("no memory for tables of assembly");
    return registered.createMCAsmParser(subtarget, parser, info, options);
}

void __wrap_LLVMInitializeX86AsmParser()
{
    __real_LLVMInitializeX86AsmParser();
    registered = getTheX86_64Target();
    TargetRegistry::RegisterMCAsmParser(getTheX86_32Target(), make);
    TargetRegistry::RegisterMCAsmParser(getTheX86_64Target(), make);
}
