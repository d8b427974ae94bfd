/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Variables whose address is known when the image is opened: types and saved objects. Code loads the address from an
 * array of the image, which is not written after that: so passes may move these loads, and make one of several. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"

#include "codegen/image/multiversion.h"
#include "codegen/llvm/ir.h"

using namespace llvm;

/* A variable, alias or function of which the address is a part, other than as an operand of an instruction; NULL: there
 * is none. What LLVM's own variables list does not count. */
static const GlobalValue *owner_of(const Constant &address)
{
    SmallSetVector<const Constant *, 16> work;
    work.insert(&address);
    for (size_t at = 0; at < work.size(); at++)
        for (const User *user : work[at]->users())
            if (auto *global = dyn_cast<GlobalValue>(user)) {
                if (!tn__is_llvms(*global))
                    return global;
            } else if (auto *constant = dyn_cast<Constant>(user)) {
                work.insert(constant);
            }
    return nullptr;
}

static Value *load_word(GlobalVariable &words, size_t number, Type *type, Instruction *before)
{
    IRBuilder<> builder(before);
    Value *word = builder.CreateConstInBoundsGEP2_64(words.getValueType(), &words, 0, number);
    LoadInst *load = builder.CreateAlignedLoad(type, word, Align(8));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(words.getContext(), {}));
    return load;
}

/* Before the instruction; for a phi, at the end of the block that the value comes from: once, because equal blocks have
 * equal values. */
static void replace(GlobalVariable &global, GlobalVariable &words, size_t number)
{
    DenseMap<std::pair<PHINode *, BasicBlock *>, Value *> incoming;
    SmallVector<Use *, 32> uses;
    for (Use &use : global.uses())
        if (isa<Instruction>(use.getUser()))
            uses.push_back(&use);
    for (Use *use : uses) {
        auto *user = cast<Instruction>(use->getUser());
        auto *phi = dyn_cast<PHINode>(user);
        if (!phi) {
            use->set(load_word(words, number, global.getType(), user));
            continue;
        }
        BasicBlock *block = phi->getIncomingBlock(*use);
        Value *&value = incoming[{phi, block}];
        if (!value)
            value = load_word(words, number, global.getType(), block->getTerminator());
        use->set(value);
    }
}

bool tn__mv_load_address(LLVMModuleRef ref, const char *symbol, const char *name, size_t number, bool *used,
                         const char **owner)
{
    Module &module = *unwrap(ref);
    GlobalVariable *global = module.getNamedGlobal(symbol);
    *used = false;
    if (!global)
        return true;
    if (const GlobalValue *other = owner_of(*global)) {
        *owner = other->getName().data();
        return false;
    }
    convertUsersOfConstantsToInstructions({global});
    *used = any_of(global->users(), [](const User *user) { return isa<Instruction>(user); });
    if (!*used)
        return true;
    auto *words = module.getNamedGlobal(name);
    auto *array = ArrayType::get(PointerType::get(module.getContext(), 0), 0); /* another module knows the size */
    if (!words) {
        words = new GlobalVariable(module, array, false, GlobalValue::ExternalLinkage, nullptr, name);
        words->setVisibility(GlobalValue::HiddenVisibility);
    }
    replace(*global, *words, number);
    return true;
}
