// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Access to LLVM's tables of features and CPUs, for oracle.c.

#include "llvm.h"

#include <llvm-c/Target.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>
#include <memory>
#include <vector>

using namespace llvm;

struct llvm_cpu {
    std::unique_ptr<MCSubtargetInfo> info;
};

#define INITIALIZE(Name)                                                                                               \
    LLVMInitialize##Name##TargetInfo();                                                                                \
    LLVMInitialize##Name##TargetMC();

struct llvm_cpu *llvm_cpu(const char *triple, const char *name, const char *features)
{
#if TN_TARGET_X86
    INITIALIZE(X86)
#endif
#if TN_TARGET_AArch64
    INITIALIZE(AArch64)
#endif
#if TN_TARGET_RISCV
    INITIALIZE(RISCV)
#endif
    std::string message;
    Triple parsed(triple);
    const Target *target = TargetRegistry::lookupTarget(parsed, message);
    if (!target)
        return nullptr;
    static std::vector<std::unique_ptr<struct llvm_cpu>> all; // until the process ends
    all.push_back(std::make_unique<struct llvm_cpu>());
    all.back()->info.reset(target->createMCSubtargetInfo(parsed, name, features));
    return all.back().get();
}

const char *llvm_name_at(const struct llvm_cpu *cpu, size_t index)
{
    auto names = cpu->info->getAllProcessorDescriptions();
    return index < names.size() ? names[index].Key : nullptr;
}

const char *llvm_feature_at(const struct llvm_cpu *cpu, size_t index)
{
    auto features = cpu->info->getAllProcessorFeatures();
    return index < features.size() ? features[index].Key : nullptr;
}

bool llvm_has(const struct llvm_cpu *cpu, size_t index)
{
    return cpu->info->getFeatureBits()[cpu->info->getAllProcessorFeatures()[index].Value];
}

bool llvm_implies(const struct llvm_cpu *cpu, size_t index, size_t other)
{
    auto features = cpu->info->getAllProcessorFeatures();
    return features[index].Implies.getAsBitset()[features[other].Value];
}
