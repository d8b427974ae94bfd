/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Remarks of optimisations, for observers. LLVM's own writer of them needs its library of YAML, which is not linked;
 * what is written here is what its tools read (llvm-remarkutil, opt-viewer). */

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include "codegen/llvm/remarks.h"

using namespace llvm;

/* ---- YAML ---- */

namespace {

/* Quoted as LLVM's tools understand it: they drop single quotes. */
void write_scalar(raw_ostream &out, StringRef text)
{
    bool is_plain = text.find_if([](unsigned char c) { return c < ' ' || c == 0x7f; }) == StringRef::npos;
    out << (is_plain ? '\'' : '"');
    for (unsigned char c : text)
        if (is_plain)
            out << (c == '\'' ? "''" : StringRef(reinterpret_cast<char *>(&c), 1));
        else if (c < ' ' || c == 0x7f || c == '"' || c == '\\')
            out << "\\x" << hexdigit(c >> 4) << hexdigit(c & 15);
        else
            out << c;
    out << (is_plain ? '\'' : '"');
}

/* Values stand in one column. */
raw_ostream &write_key(raw_ostream &out, const Twine &key)
{
    static const size_t column = 17;
    std::string text = key.str();
    out << text << ':';
    return out.indent(text.size() + 1 < column ? static_cast<unsigned>(column - text.size() - 1) : 1);
}

void write_place(raw_ostream &out, StringRef indent, const DiagnosticLocation &place)
{
    if (!place.isValid())
        return;
    write_key(out << indent, "DebugLoc") << "{ File: ";
    write_scalar(out, place.getRelativePath());
    out << ", Line: " << place.getLine() << ", Column: " << place.getColumn() << " }\n";
}

struct kind {
    tn_remark_kind kind;
    const char *tag;
};

kind kind_of(const DiagnosticInfoOptimizationBase &remark)
{
    switch (remark.getKind()) {
    case DK_OptimizationRemark:
    case DK_MachineOptimizationRemark:
        return {TN_REMARK_PASSED, "Passed"};
    case DK_OptimizationRemarkMissed:
    case DK_MachineOptimizationRemarkMissed:
        return {TN_REMARK_MISSED, "Missed"};
    case DK_OptimizationRemarkAnalysisFPCommute:
        return {TN_REMARK_ANALYSIS, "AnalysisFPCommute"};
    case DK_OptimizationRemarkAnalysisAliasing:
        return {TN_REMARK_ANALYSIS, "AnalysisAliasing"};
    case DK_OptimizationFailure:
        return {TN_REMARK_FAILURE, "Failure"};
    default:
        return {TN_REMARK_ANALYSIS, "Analysis"};
    }
}

StringRef function_of(const DiagnosticInfoOptimizationBase &remark)
{
    return GlobalValue::dropLLVMManglingEscape(remark.getFunction().getName());
}

std::string yaml_of(const DiagnosticInfoOptimizationBase &remark)
{
    std::string text;
    raw_string_ostream out(text);
    out << "--- !" << kind_of(remark).tag << '\n';
    write_scalar(write_key(out, "Pass"), remark.getPassName());
    write_scalar(write_key(out << '\n', "Name"), remark.getRemarkName());
    out << '\n';
    write_place(out, "", remark.getLocation());
    write_scalar(write_key(out, "Function"), function_of(remark));
    if (remark.getHotness())
        write_key(out << '\n', "Hotness") << *remark.getHotness();
    out << "\nArgs:\n";
    for (const auto &argument : remark.getArgs()) {
        write_scalar(write_key(out << "  - ", argument.Key), argument.Val);
        out << '\n';
        write_place(out, "    ", argument.Loc);
    }
    out << "...\n";
    return text;
}

/* ---- the handler ---- */

class remark_handler : public DiagnosticHandler {
    const tn_compile_observer &observer;

    void report(const DiagnosticInfoOptimizationBase &info)
    {
        const DiagnosticLocation &place = info.getLocation();
        std::string name = info.getRemarkName().str(), function = function_of(info).str(), text = info.getMsg(),
                    yaml = yaml_of(info), pass = info.getPassName().str(),
                    file = place.isValid() ? place.getRelativePath().str() : "";
        tn_remark remark = {};
        remark.size = sizeof remark;
        remark.kind = kind_of(info).kind;
        remark.pass = pass.c_str();
        remark.name = name.c_str();
        remark.function = function.c_str();
        if (place.isValid()) {
            remark.file = file.c_str();
            remark.line = place.getLine();
            remark.column = place.getColumn();
        }
        remark.text = text.c_str();
        remark.yaml = yaml.c_str();
        observer.remark(observer.context, &remark);
    }

  public:
    explicit remark_handler(const tn_compile_observer &observer) : observer(observer)
    {
    }

    bool handleDiagnostics(const DiagnosticInfo &info) override
    {
        if (auto *remark = dyn_cast<DiagnosticInfoOptimizationBase>(&info))
            report(*remark);
        return DiagnosticHandler::handleDiagnostics(info);
    }

    bool isAnalysisRemarkEnabled(StringRef) const override
    {
        return true;
    }
    bool isMissedOptRemarkEnabled(StringRef) const override
    {
        return true;
    }
    bool isPassedOptRemarkEnabled(StringRef) const override
    {
        return true;
    }
    bool isAnyRemarkEnabled() const override
    {
        return true;
    }
};

} // namespace

void tn__llvm_observe_remarks(LLVMContextRef context, const tn_compile_observer *observer)
{
    LLVMContext &c = *unwrap(context);
    if (observer && observer->remark)
        c.setDiagnosticHandler(std::make_unique<remark_handler>(*observer));
    else if (c.getDiagHandlerPtr()->isAnyRemarkEnabled())
        c.setDiagnosticHandler(std::make_unique<DiagnosticHandler>());
}

/* ---- remarks of ours ---- */

bool tn__llvm_wants_remarks(LLVMContextRef context)
{
    LLVMContext &c = *unwrap(context);
    return c.getLLVMRemarkStreamer() || c.getDiagHandlerPtr()->isAnyRemarkEnabled();
}

void tn__llvm_remark(LLVMValueRef at, const char *pass, const char *name, bool passed, const char *text)
{
    auto *instruction = unwrap<Instruction>(at);
    LLVMContext &context = instruction->getContext();
    if (!tn__llvm_wants_remarks(wrap(&context)))
        return;
    if (passed)
        context.diagnose(OptimizationRemark(pass, name, instruction) << text);
    else
        context.diagnose(OptimizationRemarkMissed(pass, name, instruction) << text);
}

/* LLVM's remarks are of functions, and so is their format. */
void tn__llvm_remark_of(LLVMValueRef global, const tn_compile_observer *observer, const char *pass, const char *name,
                        const char *text)
{
    std::string yaml, of = global ? GlobalValue::dropLLVMManglingEscape(unwrap(global)->getName()).str() : "";
    raw_string_ostream out(yaml);
    out << "--- !Missed\n";
    write_scalar(write_key(out, "Pass"), pass);
    write_scalar(write_key(out << '\n', "Name"), name);
    write_scalar(write_key(out << '\n', "Function"), of);
    write_scalar(write_key(out << "\nArgs:\n", "  - String"), text);
    out << "\n...\n";
    tn_remark remark = {};
    remark.size = sizeof remark;
    remark.kind = TN_REMARK_MISSED;
    remark.pass = pass;
    remark.name = name;
    remark.function = of.c_str();
    remark.text = text;
    remark.yaml = yaml.c_str();
    observer->remark(observer->context, &remark);
}
