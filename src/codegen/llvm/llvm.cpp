/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What LLVM's C API lacks, but for reading (read.cpp) and the passes (pipeline/): positions of diagnostics, the
 * names a target knows. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/AArch64TargetParser.h"

#include "base/base.h"
#include "codegen/llvm/llvm.h"

using namespace llvm;

static TargetMachine &unwrap(LLVMTargetMachineRef machine)
{
    return *reinterpret_cast<TargetMachine *>(machine);
}

/* ---- modules ---- */

bool tn__llvm_same_layout(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return unwrap(machine).isCompatibleDataLayout(unwrap(module)->getDataLayout());
}

uint64_t tn__llvm_count_instructions(LLVMModuleRef module)
{
    uint64_t count = 0;
    for (const Function &function : *unwrap(module))
        for (const Instruction &instruction : instructions(function))
            count += !instruction.isDebugOrPseudoInst(); /* LLVM's own count asks a std::function for each */
    return count;
}

/* True for types of at most 256 bytes. Passes compute values of types that instructions and their operands have
 * already, so checking those is enough. */
static bool is_small(const Type &type, const DataLayout &layout)
{
    static const uint64_t most_bits = 256 * 8;
    return !type.isSized() || layout.getTypeSizeInBits(const_cast<Type *>(&type)).getKnownMinValue() <= most_bits;
}

bool tn__llvm_is_modest(LLVMModuleRef module_ref)
{
    static const size_t most_instructions = 200;
    const Module &module = *unwrap(module_ref);
    const DataLayout &layout = module.getDataLayout();
    if (tn__llvm_count_instructions(module_ref) > most_instructions || module.getNamedMetadata("llvm.dbg.cu"))
        return false;
    for (const GlobalVariable &variable : module.globals())
        if (variable.hasInitializer() && !is_small(*variable.getValueType(), layout))
            return false;
    for (const Function &function : module)
        for (const Instruction &instruction : instructions(function))
            if (!is_small(*instruction.getType(), layout) || any_of(instruction.operands(), [&](const Use &operand) {
                    return isa<Constant>(operand) && !is_small(*operand->getType(), layout);
                }))
                return false;
    return true;
}

bool tn__llvm_write_bitcode(LLVMModuleRef module, tn_buffer *out)
{
    SmallVector<char, 0> bytes;
    bytes.reserve(8 << 10);
    BitcodeWriter writer(bytes);
    writer.writeModule(*unwrap(module));
    writer.writeStrtab();
    return tn__buffer_fill(out, bytes.data(), bytes.size());
}

/* ---- diagnostics ---- */

struct position {
    std::string file;
    unsigned line = 0, column = 0;
};

static position locate(const Instruction *instruction)
{
    const DILocation *location = instruction ? instruction->getDebugLoc().get() : nullptr;
    if (!location)
        return {};
    return {location->getFilename().str(), location->getLine(), location->getColumn()};
}

static std::string in_function(const Function &function)
{
    return " (in function '" + function.getName().str() + "')";
}

/* Assembler and register allocator name inline assembly only by the number that its !srcloc metadata carries. */
static const Instruction *find_assembly(const Module *module, uint64_t cookie)
{
    auto is_it = [cookie](const MDOperand &operand) {
        auto *number = mdconst::dyn_extract<ConstantInt>(operand);
        return number && number->getZExtValue() == cookie;
    };
    if (module && cookie)
        for (const Function &function : *module)
            for (const Instruction &instruction : instructions(function))
                if (const MDNode *node = instruction.getMetadata("srcloc"); node && any_of(node->operands(), is_it))
                    return &instruction;
    return nullptr;
}

/* One per kind that knows more than its text says; fills in the message. */
static position describe(const DiagnosticInfoSrcMgr &info, const Module *module, std::string &message)
{
    const SMDiagnostic &problem = info.getSMDiag();
    unsigned line = problem.getLineNo() > 0 ? problem.getLineNo() : 0, column = problem.getColumnNo() + 1;
    message = problem.getMessage().str();
    if (!info.isInlineAsmDiag())
        return line ? position{problem.getFilename().str(), line, column} : position();
    const Instruction *instruction = find_assembly(module, info.getLocCookie());
    message = "<inline asm>:" + std::to_string(line) + ":" + std::to_string(column) + ": " + message +
              (instruction ? in_function(*instruction->getFunction()) : "");
    return locate(instruction);
}

static position describe(const DiagnosticInfoInlineAsm &info, const Module *module, std::string &message)
{
    const Instruction *instruction = info.getInstruction();
    if (!instruction)
        instruction = find_assembly(module, info.getLocCookie());
    message = info.getMsgStr().str() + (instruction ? in_function(*instruction->getFunction()) : "");
    return locate(instruction);
}

static position position_of(const DiagnosticInfoWithLocationBase &info)
{
    if (!info.isLocationAvailable())
        return {};
    StringRef file;
    unsigned line, column;
    info.getLocation(file, line, column);
    return {file.str(), line, column};
}

static position describe(const DiagnosticInfoUnsupported &info, const Module *, std::string &message)
{
    message = info.getMessage().str() + in_function(info.getFunction());
    return position_of(info);
}

static position describe(const DiagnosticInfoOptimizationBase &info, const Module *, std::string &message)
{
    message = info.getMsg() + in_function(info.getFunction());
    return position_of(info);
}

static position describe(const DiagnosticInfo &info, const Module *, std::string &message)
{
    raw_string_ostream stream(message);
    DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return {};
}

void tn__llvm_describe(LLVMDiagnosticInfoRef diagnostic, LLVMModuleRef module_ref, tn__report_fn *report, void *user)
{
    const DiagnosticInfo &info = *unwrap(diagnostic);
    const Module *module = unwrap(module_ref);
    std::string message;
    position at;
    if (auto *assembler = dyn_cast<DiagnosticInfoSrcMgr>(&info))
        at = describe(*assembler, module, message);
    else if (auto *constraint = dyn_cast<DiagnosticInfoInlineAsm>(&info))
        at = describe(*constraint, module, message);
    else if (auto *unsupported = dyn_cast<DiagnosticInfoUnsupported>(&info))
        at = describe(*unsupported, module, message);
    else if (auto *remark = dyn_cast<DiagnosticInfoOptimizationBase>(&info))
        at = describe(*remark, module, message);
    else
        at = describe(info, module, message);
    message.erase(std::min(message.find('\n'), message.size())); /* a line each */
    report(user, at.file.c_str(), at.line, at.column, message.c_str());
}

/* ---- targets ---- */

struct tn__subtarget {
    std::unique_ptr<MCSubtargetInfo> info;
};

tn__subtarget *tn__llvm_subtarget(LLVMTargetRef target, const char *triple, const char *cpu)
{
    auto *llvm_target = reinterpret_cast<const Target *>(target);
    std::unique_ptr<MCSubtargetInfo> info(llvm_target->createMCSubtargetInfo(TN_TRIPLE(triple), cpu, ""));
    return info ? new tn__subtarget{std::move(info)} : nullptr;
}

void tn__llvm_subtarget_free(tn__subtarget *subtarget)
{
    delete subtarget;
}

bool tn__llvm_has_cpu(const tn__subtarget *subtarget, const char *cpu)
{
    /* AArch64 resolves a few more names before it looks into its table. */
    return subtarget->info->isCPUStringValid(cpu) || subtarget->info->isCPUStringValid(AArch64::resolveCPUAlias(cpu));
}

static const SubtargetFeatureKV *find_feature(const tn__subtarget *subtarget, StringRef wanted)
{
    auto features = subtarget->info->getAllProcessorFeatures(); /* sorted by name */
    auto found = lower_bound(features, wanted);
    return found != features.end() && wanted == found->Key ? found : nullptr;
}

bool tn__llvm_has_feature(const tn__subtarget *subtarget, const char *feature, size_t length)
{
    return find_feature(subtarget, StringRef(feature, length));
}

const char *tn__llvm_unknown_feature(const tn__subtarget *subtarget, const char *features, size_t *length)
{
    for (const char *at = features; *at; at += *length + (at[*length] == ',')) {
        *length = strcspn(at, ",");
        bool sign = *at == '+' || *at == '-';
        if (*length && !(sign && tn__llvm_has_feature(subtarget, at + 1, *length - 1)))
            return at;
    }
    return nullptr;
}

bool tn__llvm_ask_feature(const tn__subtarget *subtarget, const char *feature, bool *on)
{
    const SubtargetFeatureKV *found = find_feature(subtarget, feature);
    if (found)
        *on = subtarget->info->hasFeature(found->Value);
    return found;
}

void tn__llvm_ask_for_thread_data(LLVMModuleRef ref)
{
    Module &module = *unwrap(ref);
    if (module.getPIELevel() != PIELevel::Default)
        module.setModuleFlag(Module::Max, "PIE Level", static_cast<uint32_t>(PIELevel::Default));
    for (GlobalVariable &variable : module.globals()) /* or it asks for data that threads have from their beginning */
        if (variable.isThreadLocal())
            variable.setThreadLocalMode(GlobalVariable::GeneralDynamicTLSModel);
}

void tn__llvm_set_sections(LLVMTargetMachineRef machine, bool one_each)
{
    TargetOptions &options = unwrap(machine).Options;
    options.UseInitArray = true;
    options.FunctionSections = one_each;
    options.DataSections = one_each;
    options.EnableMachineOutliner = false; /* AArch64 and RISC-V ask for it; absent.cpp leaves it out */
}

void tn__llvm_use_descriptors(LLVMTargetMachineRef machine)
{
    unwrap(machine).Options.EnableTLSDESC = true;
}

/* ---- failing ---- */

void tn__llvm_out_of_memory()
{
    report_bad_alloc_error("out of memory in a pass over managed code");
}
