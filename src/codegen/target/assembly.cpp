/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Assembly in modules reads no files. A target machine gets a copy of its target that makes parsers of assembly with
 * handlers of their own for the directives that would. So these are found however they are spelled and made, by macros
 * as well, and LLVM's registry, which the program may use too, stays as it is. */

#include <cctype>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCAsmParserExtension.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"

#include "codegen/target/target.h"

using namespace llvm;

static bool refuse(MCAsmParserExtension *extension, StringRef directive, SMLoc place)
{
    return extension->getParser().Error(place, directive + " reads a file, which is not allowed");
}

/* Parsers look handlers up by the exact spelling, but their own directives in any case. */
static void refuse_spellings(MCAsmParser &parser, MCAsmParserExtension *extension, std::string directive)
{
    for (unsigned bits = 0; bits < 1u << (directive.size() - 1); bits++) {
        for (size_t i = 1; i < directive.size(); i++)
            directive[i] = (char)(bits >> (i - 1) & 1 ? toupper(directive[i]) : tolower(directive[i]));
        parser.addDirectiveHandler(directive, {extension, refuse});
    }
}

static MCTargetAsmParser *make_parser(const MCSubtargetInfo &subtarget, MCAsmParser &parser, const MCInstrInfo &info,
                                      const MCTargetOptions &options)
{
    LLVMTargetRef original = tn__find_llvm_target(subtarget.getTargetTriple().str().c_str());
    if (!original)
        return nullptr;
    auto *made = reinterpret_cast<const Target *>(original)->createMCAsmParser(subtarget, parser, info, options);
    for (const char *directive : {".include", ".incbin"})
        if (made)
            refuse_spellings(parser, made, directive);
    return made;
}

LLVMTargetRef tn__llvm_closed_target(LLVMTargetRef target)
{
    auto *copy = new Target(*reinterpret_cast<const Target *>(target));
    TargetRegistry::RegisterMCAsmParser(*copy, make_parser);
    return reinterpret_cast<LLVMTargetRef>(copy);
}

void tn__llvm_closed_target_free(LLVMTargetRef target)
{
    delete reinterpret_cast<Target *>(target);
}
