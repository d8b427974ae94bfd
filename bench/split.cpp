/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* split IN.bc OUT COUNT: divides a module into packages OUT0.bc, OUT1.bc ... of about the same size, each of which uses
 * only those before it. Functions that refer to each other in a circle stay together, so one package may be much
 * larger. Local functions and variables that another package uses become public. Prints the instructions of each. */

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace {

using references = SmallSetVector<GlobalValue *, 8>;

/* Constants that every package may have for itself: their addresses mean nothing. */
bool is_copied(const GlobalValue *value)
{
    auto *variable = dyn_cast<GlobalVariable>(value);
    return variable && variable->hasLocalLinkage() && variable->isConstant() && variable->hasGlobalUnnamedAddr();
}

void collect(const User *user, references &all, SmallPtrSetImpl<const User *> &seen)
{
    if (!seen.insert(user).second)
        return;
    for (const Use &use : user->operands()) {
        auto *global = dyn_cast<GlobalValue>(use);
        if (global && !is_copied(global)) {
            if (!global->isDeclaration())
                all.insert(const_cast<GlobalValue *>(global));
        } else if (isa<Constant>(use)) {
            collect(cast<User>(use), all, seen);
        }
    }
}

references references_of(const GlobalValue &global)
{
    references all;
    SmallPtrSet<const User *, 32> seen;
    if (auto *function = dyn_cast<Function>(&global)) {
        for (const BasicBlock &block : *function)
            for (const Instruction &instruction : block)
                collect(&instruction, all, seen);
    } else {
        collect(&global, all, seen);
    }
    return all;
}

size_t weight_of(const GlobalValue &global)
{
    auto *function = dyn_cast<Function>(&global);
    return function ? function->getInstructionCount() : 0;
}

/* Tarjan's strongly connected components: those that others use come first. */
struct components {
    struct state {
        unsigned number, low;
        bool on_stack;
    };
    DenseMap<GlobalValue *, state> states;
    std::vector<GlobalValue *> stack;
    std::vector<std::vector<GlobalValue *>> all;

    void visit(GlobalValue *global)
    {
        unsigned number = states.size() + 1, low = number;
        states[global] = {number, number, true};
        stack.push_back(global);
        for (GlobalValue *other : references_of(*global)) {
            if (!states.count(other)) {
                visit(other);
                low = std::min(low, states[other].low);
            } else if (states[other].on_stack) {
                low = std::min(low, states[other].number);
            }
        }
        states[global].low = low;
        if (low != number)
            return;
        all.emplace_back();
        GlobalValue *member;
        do {
            member = stack.back();
            stack.pop_back();
            states[member].on_stack = false;
            all.back().push_back(member);
        } while (member != global);
    }
};

size_t weight_of(const std::vector<GlobalValue *> &component)
{
    size_t weight = 0;
    for (const GlobalValue *global : component)
        weight += weight_of(*global);
    return weight;
}

/* Numbers [begin, end) of components by package, so that each of `count` packages from `first` on gets its share. */
void divide(const std::vector<std::vector<GlobalValue *>> &all, size_t begin, size_t end, size_t first, size_t count,
            DenseMap<const GlobalValue *, size_t> &packages)
{
    size_t total = 1, before = 0;
    for (size_t i = begin; i < end; i++)
        total += weight_of(all[i]);
    for (size_t i = begin; i < end; i++) {
        for (const GlobalValue *global : all[i])
            packages[global] = first + count * before / total;
        before += weight_of(all[i]);
    }
}

void erase_unused(Module &module)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (GlobalValue &global : make_early_inc_range(module.global_values())) {
            global.removeDeadConstantUsers();
            if (!global.use_empty() || !(global.isDeclaration() || is_copied(&global)))
                continue;
            global.eraseFromParent();
            changed = true;
        }
    }
}

bool write(const Module &module, const DenseMap<const GlobalValue *, size_t> &packages, size_t number,
           const std::string &path)
{
    ValueToValueMapTy map;
    std::unique_ptr<Module> part = CloneModule(module, map, [&](const GlobalValue *global) {
        auto found = packages.find(global);
        return found == packages.end() ? is_copied(global) : found->second == number;
    });
    erase_unused(*part);
    std::error_code error;
    raw_fd_ostream out(path, error);
    if (!error)
        WriteBitcodeToFile(*part, out);
    outs() << path << ": " << part->getInstructionCount() << "\n";
    return !error;
}

} // namespace

int main(int argc, char **argv)
{
    LLVMContext context;
    SMDiagnostic diagnostic;
    std::unique_ptr<Module> module = argc == 4 ? parseIRFile(argv[1], diagnostic, context) : nullptr;
    size_t count = module ? std::stoul(argv[3]) : 0, largest = 0;
    if (count < 3)
        return errs() << "usage: split IN.bc OUT COUNT, at least 3\n", 2;
    components found;
    for (GlobalValue &global : module->global_values())
        if (!global.isDeclaration() && !is_copied(&global) && !found.states.count(&global))
            found.visit(&global);
    for (size_t i = 0; i < found.all.size(); i++)
        largest = weight_of(found.all[i]) > weight_of(found.all[largest]) ? i : largest;
    /* The largest circle is a package by itself if it is larger than a share. */
    DenseMap<const GlobalValue *, size_t> packages;
    size_t before = 0, all = 0;
    for (size_t i = 0; i < found.all.size(); i++) {
        before += i < largest ? weight_of(found.all[i]) : 0;
        all += weight_of(found.all[i]);
    }
    size_t rest = all - weight_of(found.all[largest]), shares = (count - 1) * before / (rest ? rest : 1);
    shares = std::min(std::max<size_t>(shares, 1), count - 2);
    divide(found.all, 0, largest, 0, shares, packages);
    divide(found.all, largest, largest + 1, shares, 1, packages);
    divide(found.all, largest + 1, found.all.size(), shares + 1, count - 1 - shares, packages);
    for (auto &[global, package] : packages)
        for (GlobalValue *other : references_of(*global))
            if (packages[other] != package && other->hasLocalLinkage())
                other->setLinkage(GlobalValue::ExternalLinkage);
    for (GlobalValue &global : module->global_values())
        if (!global.hasLocalLinkage())
            global.setDSOLocal(false);
    for (size_t i = 0; i < count; i++)
        if (!write(*module, packages, i, std::string(argv[2]) + std::to_string(i) + ".bc"))
            return errs() << "cannot write\n", 1;
    return 0;
}
