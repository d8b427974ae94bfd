/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's reader of DWARF: from addresses to lines. Debug information that makes no sense to it is passed over. */

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"

#include "codegen/debug/dwarf.h"

using namespace llvm;

struct tn__dwarf {
    std::unique_ptr<object::ObjectFile> file;
    std::unique_ptr<DWARFContext> context;
};

static void ignore(Error error)
{
    consumeError(std::move(error));
}

tn__dwarf *tn__dwarf_open(const void *bytes, size_t size)
{
    StringRef text(static_cast<const char *>(bytes), size);
    auto file = object::ObjectFile::createELFObjectFile(MemoryBufferRef(text, ""));
    if (!file) {
        consumeError(file.takeError());
        return nullptr;
    }
    using Relocations = DWARFContext::ProcessDebugRelocations;
    auto context = DWARFContext::create(**file, Relocations::Ignore, nullptr, "", ignore, ignore);
    return new tn__dwarf{std::move(*file), std::move(context)};
}

void tn__dwarf_close(tn__dwarf *dwarf)
{
    delete dwarf;
}

/* How LLVM spells what it does not know. */
static const char *known(const std::string &text)
{
    return text.empty() || text == DILineInfo::BadString ? nullptr : text.c_str();
}

bool tn__dwarf_find(tn__dwarf *dwarf, uint64_t address, tn__frame_fn *frame, void *user)
{
    using Kind = DILineInfoSpecifier::FileLineInfoKind;
    DIInliningInfo frames =
        dwarf->context->getInliningInfoForAddress({address, object::SectionedAddress::UndefSection},
                                                  DILineInfoSpecifier(Kind::AbsoluteFilePath, DINameKind::LinkageName));
    bool found = false;
    for (uint32_t i = 0; i < frames.getNumberOfFrames(); i++) {
        const DILineInfo &info = frames.getFrame(i);
        const char *function = known(info.FunctionName), *file = known(info.FileName);
        if (!function && !file)
            continue;
        found = true;
        frame(user, function, file, info.Line, info.Column);
    }
    return found;
}
