/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Several modules into one, by LLVM's linker of IR. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

#include "codegen/image/multiversion.h"

using namespace llvm;

/* Modules are linked within one context; bitcode leads from one to the other. */
bool tn__image_join(LLVMModuleRef module, LLVMModuleRef other, bool other_counts)
{
    std::unique_ptr<Module> source(unwrap(other));
    SmallVector<char, 0> bytes;
    BitcodeWriter writer(bytes);
    writer.writeModule(*source);
    writer.writeStrtab();
    std::string name = source->getModuleIdentifier();
    source.reset();
    LLVMContext &context = unwrap(module)->getContext();
    auto read = parseBitcodeFile(MemoryBufferRef(StringRef(bytes.data(), bytes.size()), name), context);
    if (!read) {
        context.emitError(toString(read.takeError()));
        return false;
    }
    return !Linker::linkModules(*unwrap(module), std::move(*read),
                                other_counts ? Linker::Flags::OverrideFromSrc : Linker::Flags::None);
}
