/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How the tables of passes are written. A row adds one pass, a stage or a nested pass manager to a pass manager. */

#ifndef TENON_CODEGEN_ROWS_H
#define TENON_CODEGEN_ROWS_H

#include "codegen/llvm/llvm_compat.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include "codegen/pipeline/pipeline.h"

#pragma GCC visibility push(hidden)

/* The levels a row is for. */
enum : unsigned { O0 = 1 << 0, O1 = 1 << 1, O2 = 1 << 2, O3 = 1 << 3, O23 = O2 | O3, ALL = O1 | O23 };

template <typename Manager> struct row {
    unsigned levels;
    unsigned option;  /* TN__... of pipeline.h, or 0: the row counts only with it */
    const char *name; /* of the pass or stage in pipelines, or NULL */
    llvm::StringRef (*class_name)(const tn__stages &stages); /* what LLVM calls the passes of this name */
    void (*add)(Manager &manager, const tn__stages &stages);
};
using loop_row = row<llvm::LoopPassManager>;
using function_row = row<llvm::FunctionPassManager>;
using cgscc_row = row<llvm::CGSCCPassManager>;
using module_row = row<llvm::ModulePassManager>;

template <typename Manager> void add_rows(Manager &manager, llvm::ArrayRef<row<Manager>> rows, const tn__stages &stages)
{
    for (const auto &row : rows)
        if (row.levels & (1u << stages.level) && (stages.options & row.option) == row.option)
            row.add(manager, stages);
}

template <typename Manager, size_t N> Manager build(const row<Manager> (&rows)[N], const tn__stages &stages)
{
    Manager manager;
    add_rows(manager, llvm::ArrayRef(rows), stages);
    return manager;
}

/* One pass with its arguments, which may use `level` and `stages`. `text` also names passes of the class `Class`. */
#define NAMING(levels, option, text, Class, ...)                                                                       \
    {                                                                                                                  \
        levels, option, text,                                                                                          \
            [](const tn__stages &stages) {                                                                             \
                [[maybe_unused]] int level = stages.level;                                                             \
                return Class::name();                                                                                  \
            },                                                                                                         \
            [](auto &manager, const tn__stages &stages) {                                                              \
                [[maybe_unused]] int level = stages.level;                                                             \
                manager.addPass(__VA_ARGS__);                                                                          \
            }                                                                                                          \
    }
#define OPTIONAL(levels, option, text, ...)                                                                            \
    NAMING(levels, option, text, std::decay_t<decltype(__VA_ARGS__)>, __VA_ARGS__)
#define PASS(levels, text, ...) OPTIONAL(levels, 0, text, __VA_ARGS__)
/* A table of loop passes as one function pass, a table of function passes as one module pass. */
#define LOOPS(levels, mssa, table) PASS(levels, NULL, TN_LOOP_ADAPTOR(build(table, stages), mssa))
#define FUNCTIONS(levels, table)   PASS(levels, NULL, createModuleToFunctionPassAdaptor(build(table, stages), true))
#define MEMORY_SSA                 true
#define NO_MEMORY_SSA              false

/* A pass that does nothing, for observers: a place that --stop-before and --print-before can name. */
#define MARKER(text)                                                                                                   \
    namespace {                                                                                                        \
    struct text : llvm::PassInfoMixin<text> {                                                                          \
        static llvm::StringRef name()                                                                                  \
        {                                                                                                              \
            return #text;                                                                                              \
        }                                                                                                              \
        template <typename Unit, typename Manager, typename... Rest>                                                   \
        llvm::PreservedAnalyses run(Unit &, Manager &, Rest &&...)                                                     \
        {                                                                                                              \
            return llvm::PreservedAnalyses::all();                                                                     \
        }                                                                                                              \
    };                                                                                                                 \
    }
#define MARKERS(stage) MARKER(Before##stage) MARKER(After##stage)
#define MARK(marker)   PASS(O0 | ALL, NULL, marker())

/* A table of rows of the same kind between its markers. */
#define STAGE(option, text, title, table)                                                                              \
    {                                                                                                                  \
        O0 | ALL, option, text, [](const tn__stages &) -> llvm::StringRef { return text; },                            \
            [](auto &manager, const tn__stages &stages) {                                                              \
                manager.addPass(Before##title());                                                                      \
                add_rows(manager, llvm::ArrayRef(table), stages);                                                      \
                manager.addPass(After##title());                                                                       \
            }                                                                                                          \
    }

/* For the end of a pipeline: what hides structure from other passes but makes good machine code. */
llvm::SimplifyCFGOptions tn__last_simplification();

/* ---- tables in files of their own ---- */

/* What the inliner runs on each function: early optimisation, loops, scalars. */
llvm::FunctionPassManager tn__simplification(const tn__stages &stages);
/* Inlines each function into its callers after simplifying it. */
extern const llvm::ArrayRef<module_row> tn__inliner_rows;
void tn__provide_inliner(llvm::ModuleAnalysisManager &modules); /* analyses that only the inliner asks for */
/* Loops and straight code become vector code. */
extern const llvm::ArrayRef<function_row> tn__vectorizer_rows;
void tn__provide_vectorizer(llvm::FunctionAnalysisManager &functions);
/* Functions are instrumented: the last rows. Before all others, functions are chosen; false: there are none, and no
 * variables. */
extern const llvm::ArrayRef<module_row> tn__sanitizer_rows;
bool tn__choose_sanitized(llvm::Module &module, const tn__stages &stages);
void tn__provide_sanitizers(llvm::ModuleAnalysisManager &modules, llvm::FunctionAnalysisManager &functions);

#pragma GCC visibility pop
#endif
