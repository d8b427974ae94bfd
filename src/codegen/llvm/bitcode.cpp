/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bitcode as it is stored (bitcode.h). */

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/LLVMBitCodes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"

#include "codegen/llvm/bitcode.h"
#include "codegen/llvm/llvm.h"

using namespace llvm;

Error tn__each_entry(BitstreamCursor &cursor, function_ref<Expected<bool>(BitstreamEntry entry)> visit)
{
    while (!cursor.AtEndOfStream()) {
        Expected<BitstreamEntry> entry = cursor.advance();
        if (!entry)
            return entry.takeError();
        if (entry->Kind == BitstreamEntry::EndBlock || entry->Kind == BitstreamEntry::Error)
            break;
        Expected<bool> more = visit(*entry);
        if (!more)
            return more.takeError();
        if (!*more)
            break;
    }
    return Error::success();
}

/* ---- blocks ---- */

static Expected<bool> skip(BitstreamCursor &cursor, BitstreamEntry entry)
{
    if (entry.Kind == BitstreamEntry::SubBlock) {
        Error error = cursor.SkipBlock();
        return error ? Expected<bool>(std::move(error)) : true;
    }
    Expected<unsigned> skipped = cursor.skipRecord(entry.ID);
    return skipped ? Expected<bool>(true) : skipped.takeError();
}

static Error visit_blocks(BitstreamCursor &cursor,
                          function_ref<Expected<bool>(BitstreamCursor &cursor, unsigned block)> visit)
{
    BitstreamBlockInfo info;
    cursor.setBlockInfo(&info);
    bool in_module = false, more = true;
    while (more && !cursor.AtEndOfStream()) {
        Error error = tn__each_entry(cursor, [&](BitstreamEntry entry) -> Expected<bool> {
            if (entry.Kind != BitstreamEntry::SubBlock)
                return skip(cursor, entry);
            if (entry.ID == bitc::BLOCKINFO_BLOCK_ID) {
                auto read = cursor.ReadBlockInfoBlock();
                if (!read)
                    return read.takeError();
                if (*read)
                    info = std::move(**read);
                return true;
            }
            if (in_module) {
                Expected<bool> wanted = visit(cursor, entry.ID);
                return wanted ? Expected<bool>(more = *wanted) : wanted.takeError();
            }
            if (entry.ID != bitc::MODULE_BLOCK_ID)
                return skip(cursor, entry);
            in_module = true;
            Error error = cursor.EnterSubBlock(entry.ID);
            return error ? Expected<bool>(std::move(error)) : true;
        });
        if (error || in_module)
            return error;
    }
    return Error::success();
}

bool tn__each_block(StringRef bytes, function_ref<Expected<bool>(BitstreamCursor &cursor, unsigned block)> visit)
{
    auto begin = reinterpret_cast<const unsigned char *>(bytes.data()), end = begin + bytes.size();
    if (isBitcodeWrapper(begin, end) && SkipBitcodeWrapperHeader(begin, end, true))
        return false;
    BitstreamCursor cursor(ArrayRef<uint8_t>(begin, end));
    Expected<SimpleBitstreamCursor::word_t> magic = cursor.Read(32);
    Error error = magic ? visit_blocks(cursor, visit) : magic.takeError();
    bool good = !error;
    consumeError(std::move(error));
    return good;
}

/* ---- what is wrong with a file ---- */

/* The blocks outside all others, by their lengths. False: one is longer than the file. */
static Expected<bool> visit_outline(SimpleBitstreamCursor &cursor, uint64_t bits, unsigned &modules)
{
    static const unsigned kind_width = 2;
    while (!cursor.AtEndOfStream()) {
        auto kind = cursor.Read(kind_width);
        if (!kind || *kind != bitc::ENTER_SUBBLOCK)
            return kind ? Expected<bool>(true) : kind.takeError();
        auto block = cursor.ReadVBR(bitc::BlockIDWidth);
        auto width = block ? cursor.ReadVBR(bitc::CodeLenWidth) : block.takeError();
        if (!width)
            return width.takeError();
        cursor.SkipToFourByteBoundary();
        auto words = cursor.Read(bitc::BlockSizeWidth);
        if (!words)
            return words.takeError();
        uint64_t end = cursor.GetCurrentBitNo() + *words * 32;
        modules += *block == bitc::MODULE_BLOCK_ID;
        if (end > bits)
            return false;
        if (Error error = cursor.JumpToBit(end))
            return Expected<bool>(std::move(error));
    }
    return true;
}

std::string tn__bitcode_problem(StringRef bytes)
{
    auto begin = reinterpret_cast<const unsigned char *>(bytes.data()), end = begin + bytes.size();
    std::string truncated =
        "the bitcode is truncated: a block of it goes on after its " + std::to_string(bytes.size()) + " bytes";
    if (isBitcodeWrapper(begin, end) && SkipBitcodeWrapperHeader(begin, end, true))
        return truncated;
    SimpleBitstreamCursor cursor(ArrayRef<uint8_t>(begin, end));
    unsigned modules = 0;
    Expected<SimpleBitstreamCursor::word_t> magic = cursor.Read(32);
    Expected<bool> whole = magic ? visit_outline(cursor, 8 * uint64_t(end - begin), modules) : magic.takeError();
    if (!whole || !*whole) {
        consumeError(whole.takeError());
        return truncated;
    }
    if (modules > 1)
        return "the bitcode has " + std::to_string(modules) + " modules, as a unit of -flto=thin that is split has; " +
               "compile it with -fno-split-lto-unit";
    return modules ? "" : "the bitcode has no module; it may be truncated";
}

static std::string producer_of(StringRef bytes)
{
    Expected<std::string> producer = getBitcodeProducerString(MemoryBufferRef(bytes, ""));
    if (producer)
        return *producer;
    consumeError(producer.takeError());
    return "";
}

/* Other producers than LLVM number their versions in other ways. */
static bool is_newer(StringRef producer)
{
    unsigned version;
    return !producer.empty() &&
           (!producer.consume_front("LLVM") || producer.consumeInteger(10, version) || version > LLVM_VERSION_MAJOR);
}

std::string tn__bitcode_error(StringRef bytes, Error error)
{
    std::string producer = producer_of(bytes), words = toString(std::move(error));
    if (is_newer(producer))
        return "the bitcode was written by " + producer + ", which may be newer than LLVM " LLVM_VERSION_STRING ": " +
               words;
    return "the bitcode is damaged: " + words;
}

/* ---- separable bodies ---- */

namespace {

struct survey {
    unsigned first_space, last_space;
    bool separable = true;
    SmallVector<uint64_t, 64> operands;

    void visit_type(unsigned code)
    {
        size_t space = code == bitc::TYPE_CODE_OPAQUE_POINTER ? 0 : code == bitc::TYPE_CODE_POINTER ? 1 : SIZE_MAX;
        if (space < operands.size() && operands[space] >= first_space && operands[space] <= last_space)
            separable = false;
    }

    Error visit_types(BitstreamCursor &cursor)
    {
        if (Error error = cursor.EnterSubBlock(bitc::TYPE_BLOCK_ID_NEW))
            return error;
        return tn__each_entry(cursor, [&](BitstreamEntry entry) -> Expected<bool> {
            if (entry.Kind == BitstreamEntry::SubBlock)
                return skip(cursor, entry);
            operands.clear();
            Expected<unsigned> code = cursor.readRecord(entry.ID, operands);
            if (!code)
                return code.takeError();
            visit_type(*code);
            return true;
        });
    }

    /* A function's block, or that of its constants, which is in it. `named`: the record that blocks are named by. LLVM
     * writes both before the instructions, which are not looked at. */
    Error visit_body(BitstreamCursor &cursor, unsigned block, unsigned named)
    {
        if (Error error = cursor.EnterSubBlock(block))
            return error;
        return tn__each_entry(cursor, [&](BitstreamEntry entry) -> Expected<bool> {
            if (entry.Kind == BitstreamEntry::SubBlock) {
                if (entry.ID != bitc::CONSTANTS_BLOCK_ID || block == bitc::CONSTANTS_BLOCK_ID)
                    return skip(cursor, entry);
                Error error = visit_body(cursor, entry.ID, bitc::CST_CODE_BLOCKADDRESS);
                return error ? Expected<bool>(std::move(error)) : true;
            }
            Expected<unsigned> code = cursor.skipRecord(entry.ID);
            if (!code)
                return code.takeError();
            separable &= *code != named;
            return block == bitc::CONSTANTS_BLOCK_ID || *code == named || *code == bitc::FUNC_CODE_DECLAREBLOCKS;
        });
    }

    Error visit_function(BitstreamCursor &cursor)
    {
        BitstreamCursor inside = cursor;
        Error error = visit_body(inside, bitc::FUNCTION_BLOCK_ID, bitc::FUNC_CODE_BLOCKADDR_USERS);
        return error ? std::move(error) : cursor.SkipBlock();
    }

    Expected<bool> visit(BitstreamCursor &cursor, unsigned block)
    {
        Error error = block == bitc::TYPE_BLOCK_ID_NEW   ? visit_types(cursor)
                      : block == bitc::FUNCTION_BLOCK_ID ? visit_function(cursor)
                                                         : cursor.SkipBlock();
        return error ? Expected<bool>(std::move(error)) : separable;
    }
};

} // namespace

/* What writers of other versions have left to be upgraded concerns the module as a whole. */
static bool is_of_this_version(StringRef bitcode)
{
    return StringRef(producer_of(bitcode)).starts_with("LLVM" + std::to_string(LLVM_VERSION_MAJOR) + ".");
}

bool tn__llvm_has_separable_bodies(const char *bytes, size_t length, unsigned first_space, unsigned last_space)
{
    StringRef bitcode(bytes, length);
    survey all{first_space, last_space};
    return is_of_this_version(bitcode) &&
           tn__each_block(bitcode, [&](BitstreamCursor &cursor, unsigned block) { return all.visit(cursor, block); }) &&
           all.separable;
}
