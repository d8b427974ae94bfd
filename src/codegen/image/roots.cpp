/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reduces a module to what chosen functions and variables lead to. LLVM's GlobalDCE would need the whole machinery of
 * passes around it; this is a mark and a sweep. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include "codegen/image/multiversion.h"

using namespace llvm;

namespace {

class marking {
    DenseSet<const Value *> seen;
    SmallVector<const Value *, 32> work;

  public:
    void add(const Value *value)
    {
        if (isa<Constant>(value) && seen.insert(value).second)
            work.push_back(value);
    }
    bool has(const Value *value) const
    {
        return seen.contains(value);
    }
    void run();
};

} // namespace

void marking::run()
{
    while (!work.empty()) {
        const Value *value = work.pop_back_val();
        for (const Use &operand : cast<User>(value)->operands()) /* of a function: personality and the like */
            add(operand);
        if (auto *function = dyn_cast<Function>(value))
            for (const Instruction &instruction : instructions(*function))
                for (const Use &operand : instruction.operands())
                    add(operand);
    }
}

/* llvm.used and its like, initializers: whatever they name is needed. */
static bool is_llvms(const GlobalValue &global)
{
    return global.getName().starts_with("llvm.");
}

static void erase_unmarked(Module &module, const marking &marks)
{
    SmallVector<GlobalValue *, 32> dead;
    for (GlobalValue &global : module.global_values())
        if (!marks.has(&global) && !is_llvms(global))
            dead.push_back(&global);
    for (GlobalValue *global : dead) /* what is dead may name one another, so first let go of everything */
        if (auto *function = dyn_cast<Function>(global))
            function->dropAllReferences();
        else
            cast<User>(global)->dropAllReferences();
    for (GlobalValue *global : dead) {
        global->removeDeadConstantUsers();
        global->replaceAllUsesWith(PoisonValue::get(global->getType())); /* in metadata and dead constants */
        global->eraseFromParent();
    }
}

bool tn__mv_defines(LLVMModuleRef module, const char *name, bool *is_local)
{
    const GlobalValue *global = unwrap(module)->getNamedValue(name);
    bool defined = global && !global->isDeclaration();
    *is_local = defined && global->hasLocalLinkage();
    return defined && !*is_local;
}

/* What may be called from outside is what was asked for, or what the system calls. */
static void hide_all_but(Module &module, const DenseSet<const GlobalValue *> &kept)
{
    for (GlobalValue &global : module.global_values())
        if (!kept.contains(&global) && !global.isDeclaration() && !global.hasAvailableExternallyLinkage()) {
            global.setLinkage(GlobalValue::InternalLinkage);
            global.setVisibility(GlobalValue::DefaultVisibility);
        }
}

void tn__mv_keep(LLVMModuleRef ref, const char *const *roots, size_t count)
{
    Module &module = *unwrap(ref);
    marking marks;
    DenseSet<const GlobalValue *> kept;
    for (size_t i = 0; i < count; i++)
        kept.insert(module.getNamedValue(roots[i]));
    for (GlobalValue &global : module.global_values())
        if (is_llvms(global) && !global.isDeclaration())
            kept.insert(&global);
    for (GlobalValue &global : module.global_values())
        if (kept.contains(&global))
            marks.add(&global);
    marks.run();
    erase_unmarked(module, marks);
    hide_all_but(module, kept);
}
