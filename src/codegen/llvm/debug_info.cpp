/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Debug information that LLVM's verifier accepts and its writer of DWARF cannot write. */

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Module.h"

#include "codegen/llvm/debug_info.h"

using namespace llvm;

namespace {

/* Local variables without a type: those that records name, and those that a function which is compiled, or inlined into
 * one, has retained. */
class untyped_search {
    DenseSet<const DISubprogram *> seen_functions;
    DenseSet<const DILocation *> seen_places;

    static bool is_untyped(const DINode *node)
    {
        auto *variable = dyn_cast_or_null<DILocalVariable>(node);
        return variable && !variable->getType();
    }

    bool in_subprogram(const DISubprogram *function)
    {
        return function && seen_functions.insert(function).second && any_of(function->getRetainedNodes(), is_untyped);
    }

    bool in_place(const DILocation *place)
    {
        bool found = false;
        for (; place && !found && seen_places.insert(place).second; place = place->getInlinedAt())
            found = in_subprogram(place->getScope()->getSubprogram());
        return found;
    }

    bool in_instruction(const Instruction &instruction)
    {
        return in_place(instruction.getDebugLoc()) || any_of(instruction.getDbgRecordRange(), [&](DbgRecord &record) {
                   auto *variable = dyn_cast<DbgVariableRecord>(&record);
                   return in_place(record.getDebugLoc()) || (variable && is_untyped(variable->getVariable()));
               });
    }

  public:
    bool in_function(const Function &function)
    {
        return in_subprogram(function.getSubprogram()) || any_of(function, [&](const BasicBlock &block) {
                   return any_of(block, [&](const Instruction &i) { return in_instruction(i); });
               });
    }
};

} // namespace

bool tn__has_bad_debug_info(const Module &module)
{
    untyped_search search;
    return module.debug_compile_units_begin() != module.debug_compile_units_end() &&
           any_of(module, [&](const Function &function) { return search.in_function(function); });
}
