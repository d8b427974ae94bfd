/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reading IR. LLVM's readers verify modules that have debug information by themselves, print on standard error what
 * they find, and give up. So what is wrong has to be found before they look. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/AsmParser/LLParser.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/AutoUpgrade.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include "codegen/llvm/bitcode.h"
#include "codegen/llvm/debug_info.h"
#include "codegen/llvm/ir.h"
#include "codegen/llvm/llvm.h"
#include "codegen/llvm/nesting.h"

using namespace llvm;

/* As LLVM's own, for modules that were not verified: its flags may be anything. */
static bool has_debug_info(const Module &module)
{
    const NamedMDNode *flags = module.getModuleFlagsMetadata();
    return flags && any_of(flags->operands(), [](const MDNode *flag) {
               if (flag->getNumOperands() < 3)
                   return false;
               auto *key = dyn_cast_or_null<MDString>(flag->getOperand(1));
               auto *version = mdconst::dyn_extract_or_null<ConstantInt>(flag->getOperand(2));
               return key && key->getString() == "Debug Info Version" && version &&
                      version->getValue() == DEBUG_METADATA_VERSION;
           });
}

/* Debug information that is wrong is left out; anything else that is goes to `message`, with false. */
static bool verify(Module &module, std::string &message)
{
    if (!tn__nesting_of_module(module, message))
        return false;
    raw_string_ostream stream(message);
    bool bad_debug_info = false;
    bool good = !verifyModule(module, &stream, &bad_debug_info);
    if (good && (bad_debug_info || tn__has_bad_debug_info(module))) {
        StripDebugInfo(module);
        module.getContext().diagnose(DiagnosticInfoIgnoringInvalidDebugMetadata(module));
    }
    message = good ? "" : "invalid IR: " + StringRef(message).rtrim().str();
    return good;
}

/* Both readers leave behind what they have to say, or nothing where `layout` has said it. */
static std::unique_ptr<Module> read_text(MemoryBufferRef text, LLVMContext &context, bool is_verified,
                                         const ParserCallbacks &callbacks, tn__position &at, std::string &message)
{
    if (!tn__nesting_of_text(text.getBuffer(), at, message))
        return nullptr;
    SMDiagnostic problem;
    SourceMgr sources;
    sources.AddNewSourceBuffer(MemoryBuffer::getMemBuffer(text), SMLoc());
    auto module = std::make_unique<Module>(text.getBufferIdentifier(), context);
    LLParser parser(text.getBuffer(), sources, problem, module.get(), nullptr, context);
    if (parser.Run(/*UpgradeDebugInfo=*/false, *callbacks.DataLayout)) {
        message = problem.getMessage().str();
        at = {problem.getLineNo() > 0 ? (unsigned)problem.getLineNo() : 0, (unsigned)problem.getColumnNo() + 1};
        return nullptr;
    }
    if (!is_verified && !verify(*module, message))
        return nullptr;
    if (!has_debug_info(*module)) /* of another version, for all we know */
        UpgradeDebugInfo(*module);
    return module;
}

/* All bodies of a module, verified unless it was before. */
static bool finish(Module &module, StringRef bytes, bool is_verified, std::string &message)
{
    bool verified = !is_verified && has_debug_info(module); /* LLVM does it once more, behind the last function */
    Error error = Error::success();
    for (Function &function : module)
        if (verified && !error)
            error = function.materialize();
    if (!error && verified && !verify(module, message))
        return false;
    if (!error)
        error = module.materializeAll();
    if (error) {
        message = tn__bitcode_error(bytes, std::move(error));
        return false;
    }
    return is_verified || verified || verify(module, message);
}

static std::unique_ptr<Module> read_bitcode(MemoryBufferRef bytes, LLVMContext &context, tn__reading how,
                                            const ParserCallbacks &callbacks, std::string &message)
{
    bool is_verified = how == TN__READ_VERIFIED;
    if (!is_verified)
        message = tn__bitcode_problem(bytes.getBuffer());
    if (!message.empty() || (!is_verified && !tn__nesting_of_bitcode(bytes.getBuffer(), message)))
        return nullptr;
    auto module = getLazyBitcodeModule(bytes, context, false, false, callbacks);
    if (!module) {
        message = tn__bitcode_error(bytes.getBuffer(), module.takeError());
        return nullptr;
    }
    bool later = how == TN__READ_LAZILY && !has_debug_info(**module) && !(*module)->getNamedMetadata("llvm.dbg.cu");
    if (later)
        copyModuleAttrToFunctions(**module); /* as LLVM does once it has read all bodies */
    bool good = later ? verify(**module, message) : finish(**module, bytes.getBuffer(), is_verified, message);
    return good ? std::move(*module) : nullptr;
}

bool tn__load_body(Function &function, std::string &message)
{
    if (Error error = function.materialize()) {
        message = toString(std::move(error));
        return false;
    }
    if (!tn__nesting_of_body(function, message))
        return false;
    stripDebugInfo(function); /* the module has none */
    raw_string_ostream stream(message);
    bool good = !verifyFunction(function, &stream);
    message = good ? "" : "invalid IR: " + StringRef(message).rtrim().str();
    return good;
}

bool tn__llvm_is_bitcode(const char *bytes, size_t length)
{
    auto start = reinterpret_cast<const unsigned char *>(bytes);
    return isBitcode(start, start + length);
}

LLVMModuleRef tn__llvm_parse(LLVMContextRef context, const char *name, const char *bytes, size_t length,
                             tn__reading how, tn__layout_fn *layout, void *layout_user, tn__report_fn *report,
                             void *report_user)
{
    bool is_bitcode = tn__llvm_is_bitcode(bytes, length);
    ParserCallbacks callbacks([&](StringRef triple, StringRef own) -> std::optional<std::string> {
        /* LLVM's reader of bitcode has done this, and that of text does not. */
        std::string upgraded = is_bitcode || own.empty() ? own.str() : UpgradeDataLayoutString(own, triple);
        const char *chosen = layout(layout_user, triple.str().c_str(), upgraded.c_str());
        return chosen ? chosen : upgraded;
    });
    tn__position at;
    std::string message;
    MemoryBufferRef input(StringRef(bytes, length), name);
    std::unique_ptr<Module> module =
        is_bitcode ? read_bitcode(input, *unwrap(context), how, callbacks, message)
                   : read_text(input, *unwrap(context), how == TN__READ_VERIFIED, callbacks, at, message);
    if (!module)
        report(report_user, nullptr, at.line, at.column, message.c_str());
    return wrap(module.release());
}
