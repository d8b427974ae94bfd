/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Decides which functions get which versions, on the whole module (multiversion.h). A function is cloned for a target
 * that is not clone_all if it has what that target is better at; and also if it is called by such a clone and calls
 * one, so that no call between clones leads over code of the base. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include "codegen/image/bodies.h"
#include "codegen/image/multiversion.h"
#include "codegen/llvm/ir.h"

using namespace llvm;

/* ---- what a function has ---- */

static unsigned flags_of(const Type *type)
{
    const Type *scalar = type->getScalarType();
    return (type->isVectorTy() ? TN__MV_SIMD : 0) | (scalar->isHalfTy() ? TN__MV_FLOAT16 : 0) |
           (scalar->isBFloatTy() ? TN__MV_BFLOAT16 : 0);
}

static unsigned flags_of(const Function &function)
{
    SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> edges;
    FindFunctionBackedges(function, edges);
    unsigned flags = flags_of(function.getReturnType()) | (edges.empty() ? 0 : TN__MV_LOOP);
    for (const Argument &argument : function.args())
        flags |= flags_of(argument.getType());
    for (const Instruction &instruction : instructions(function)) {
        const Function *callee = tn__callee(instruction);
        StringRef name = callee ? callee->getName() : "";
        Intrinsic::ID intrinsic = callee ? callee->getIntrinsicID() : Intrinsic::not_intrinsic;
        if (intrinsic == Intrinsic::fma || intrinsic == Intrinsic::fmuladd ||
            (isa<FPMathOperator>(instruction) && instruction.getFastMathFlags().any()))
            flags |= TN__MV_MATH;
        if (name.starts_with("julia.cpu.") || name.starts_with("tenon.cpu."))
            flags |= TN__MV_CPU;
        flags |= flags_of(instruction.getType());
        for (const Use &operand : instruction.operands())
            flags |= flags_of(operand->getType());
    }
    return flags;
}

/* ---- which functions are cloned ---- */

/* Tables of labels outside of the function, assembly that names it, and code that runs before slots are filled, know
 * one body only. */
static bool can_clone(const Function &function, ArrayRef<GlobalValue *> used)
{
    if (function.hasLocalLinkage() && is_contained(used, &function))
        return false;
    for (const BasicBlock &block : function)
        if (block.hasAddressTaken())
            for (const User *user : BlockAddress::lookup(&block)->users())
                if (!isa<Instruction>(user) || cast<Instruction>(user)->getFunction() != &function)
                    return false;
    return !function.hasFnAttribute(Attribute::Naked) && !function.hasOptNone() &&
           function.getCallingConv() != CallingConv::X86_VectorCall && /* a part of the symbol's name */
           none_of(function.users(), [](const User *user) { return isa<GlobalIFunc>(user); });
}

/* What linkers know it by: the IR may say that its name is to be taken as it stands. */
static StringRef symbol_of(const Function &function)
{
    return GlobalValue::dropLLVMManglingEscape(function.getName());
}

void tn__make_hidden(GlobalValue &global, const char *image)
{
    global.setName((global.hasName() ? global.getName() : "unnamed") + "." + image);
    global.setLinkage(GlobalValue::ExternalLinkage);
    global.setVisibility(GlobalValue::HiddenVisibility);
}

namespace {

struct candidate {
    Function *function;
    unsigned flags;
    uint64_t clones = 0;
    SmallVector<size_t, 4> callees, callers; /* indices of candidates */

    explicit candidate(Function &function) : function(&function), flags(flags_of(function))
    {
    }
};

struct annotation {
    Module &module;
    const tn__mv &mv;
    std::vector<candidate> candidates{};
    DenseMap<const Function *, size_t> index{};
    uint64_t partial = 0; /* the targets that are not clone_all */
    std::vector<Function *> slotted{};

    /* Finds the candidates, and which of them call which. */
    void collect()
    {
        SmallVector<GlobalValue *, 8> used;
        collectUsedGlobalVariables(module, used, /*CompilerUsed=*/false);
        collectUsedGlobalVariables(module, used, /*CompilerUsed=*/true);
        for (Function &function : module)
            if (tn__is_defined(function) && can_clone(function, used)) {
                index[&function] = candidates.size();
                candidates.emplace_back(function);
            }
        for (size_t caller = 0; caller < candidates.size(); caller++) {
            SmallSet<size_t, 16> seen;
            for (const Instruction &instruction : instructions(*candidates[caller].function)) {
                const Function *callee = tn__callee(instruction);
                auto found = callee ? index.find(callee) : index.end();
                if (found == index.end() || !seen.insert(found->second).second)
                    continue;
                candidates[caller].callees.push_back(found->second);
                candidates[found->second].callers.push_back(caller);
            }
        }
    }

    /* To a fixpoint: a function that gets a clone may complete the condition for its neighbours. */
    void clone_for(size_t target)
    {
        const uint64_t bit = UINT64_C(1) << target;
        auto is_cloned = [&](size_t i) { return (candidates[i].clones & bit) != 0; };
        SmallVector<size_t, 0> work;
        for (size_t i = 0; i < candidates.size(); i++)
            if (mv.targets[target].clone_all || target == 0 || (candidates[i].flags & mv.targets[target].wanted)) {
                candidates[i].clones |= bit;
                work.push_back(i);
            }
        auto consider = [&](size_t i) {
            if (is_cloned(i) || none_of(candidates[i].callers, is_cloned) || none_of(candidates[i].callees, is_cloned))
                return;
            candidates[i].clones |= bit;
            work.push_back(i);
        };
        while (!work.empty()) {
            size_t i = work.pop_back_val();
            for_each(candidates[i].callees, consider);
            for_each(candidates[i].callers, consider);
        }
    }

    /* Anything but calls from functions that are multiplied themselves needs one address that all versions share. */
    bool is_entry(const candidate &candidate) const
    {
        if (!candidate.function->hasLocalLinkage() || candidate.function->hasFnAttribute("tenon.mv.shared"))
            return true;
        return any_of(candidate.function->uses(), [&](const Use &use) {
            auto *call = dyn_cast<CallBase>(use.getUser());
            return !isa<BlockAddress>(use.getUser()) &&
                   (!call || !call->isCallee(&use) || !index.count(call->getFunction()));
        });
    }

    void attach(candidate &candidate)
    {
        Function &function = *candidate.function;
        function.addFnAttr("tenon.mv.clones", utohexstr(candidate.clones, true));
        if (!isPowerOf2_64(candidate.clones)) {
            bool entry = is_entry(candidate);
            if (entry)
                function.addFnAttr("tenon.mv.entry");
            if (entry || (candidate.clones & partial)) {
                slotted.push_back(&function);
                if (function.hasLocalLinkage()) /* the tables name it */
                    tn__make_hidden(function, mv.image);
            }
        }
        if (function.isInterposable())
            function.addFnAttr("tenon.mv.weak");
    }

    /* In the order of the table of functions. */
    size_t number_cells()
    {
        std::vector<Function *> cells;
        for (Function &function : module)
            if (function.hasFnAttribute("tenon.mv.opaque") ||
                (function.hasFnAttribute("tenon.mv.replaceable") && function.hasFnAttribute("tenon.mv.public")))
                cells.push_back(&function);
        sort(cells, [](const Function *a, const Function *b) {
            bool first = a->hasFnAttribute("tenon.mv.slot"), second = b->hasFnAttribute("tenon.mv.slot");
            return first != second ? first : symbol_of(*a) < symbol_of(*b);
        });
        for (size_t cell = 0; cell < cells.size(); cell++)
            cells[cell]->addFnAttr("tenon.mv.cell", utostr(cell));
        return cells.size();
    }

    /* What starts a program calls it from another file, also if all of this one is hidden (-fvisibility=hidden). */
    void show_main()
    {
        Function *main = module.getFunction("main");
        if (main && tn__is_defined(*main) && !main->hasLocalLinkage())
            main->setVisibility(GlobalValue::DefaultVisibility);
    }

    tn__mv_counts run()
    {
        show_main();
        /* Front ends without -fPIC take for granted that nothing lies in a shared library; an image may. */
        for (GlobalValue &global : module.global_values())
            if (!global.hasLocalLinkage() && global.hasDefaultVisibility())
                global.setDSOLocal(false);
        collect();
        for (size_t target = 0; target < mv.count; target++) {
            if (target && !mv.targets[target].clone_all)
                partial |= UINT64_C(1) << target;
            clone_for(target);
        }
        for (Function &function : module)
            if (function.hasFnAttribute("tenon.mv.opaque") && function.hasLocalLinkage())
                tn__make_hidden(function, mv.image);
        for (candidate &candidate : candidates)
            attach(candidate);
        /* Slots are in the order of the names, as the table of functions is. */
        sort(slotted, [](const Function *a, const Function *b) { return symbol_of(*a) < symbol_of(*b); });
        for (size_t slot = 0; slot < slotted.size(); slot++)
            slotted[slot]->addFnAttr("tenon.mv.slot", utostr(slot));
        for (Function &function : module)
            if (tn__is_public(function))
                function.addFnAttr("tenon.mv.public");
        return {slotted.size(), number_cells()};
    }
};

} // namespace

/* A resolver of an indirect function is called by loaders, and by nobody else. */
static bool is_replaceable(const Function &function)
{
    return tn__is_defined(function) && !function.hasLocalLinkage() && !function.hasHiddenVisibility() &&
           none_of(function.users(), [](const User *user) { return isa<GlobalIFunc>(user); });
}

bool tn__mv_mark_replaceable(LLVMModuleRef module, const char *const *names, size_t count, const char **refused)
{
    for (Function &function : *unwrap(module))
        if (!count && is_replaceable(function))
            function.addFnAttr("tenon.mv.replaceable");
    for (size_t i = 0; i < count; i++) {
        Function *function = unwrap(module)->getFunction(names[i]);
        function = function ? function : unwrap(module)->getFunction("\1" + std::string(names[i]));
        if (!function || !is_replaceable(*function)) {
            *refused = names[i];
            return false;
        }
        function->addFnAttr("tenon.mv.replaceable");
    }
    return true;
}

tn__mv_counts tn__mv_annotate(LLVMModuleRef module, const tn__mv *mv)
{
    return annotation{*unwrap(module), *mv}.run();
}

/* ---- what loaders have to know ---- */

bool tn__mv_each(LLVMModuleRef module, tn__mv_visit *visit, void *context)
{
    for (const Function &function : *unwrap(module)) {
        tn__mv_function found = {nullptr,
                                 1,
                                 TN__MV_NO_SLOT,
                                 TN__MV_NO_SLOT,
                                 TN__MV_NO_SLOT,
                                 function.hasFnAttribute("tenon.mv.public"),
                                 !function.hasFnAttribute("tenon.mv.entry")};
        tn__attribute_number(function, "tenon.mv.clones", 16, found.clones);
        tn__attribute_number(function, "tenon.mv.slot", 10, found.slot);
        tn__attribute_number(function, "tenon.mv.cell", 10, found.cell);
        tn__attribute_number(function, "tenon.mv.opaque", 10, found.opaque);
        std::string name = symbol_of(function).str();
        found.name = name.c_str();
        if ((found.is_public || found.slot >= 0 || found.cell >= 0) && tn__is_defined(function) &&
            !visit(context, &found))
            return false;
    }
    return true;
}
