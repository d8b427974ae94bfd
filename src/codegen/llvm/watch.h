/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reports the passes of a pipeline, LLVM's and ours, to a struct tn_compile_observer. LLVM's own printing and timing
 * are in its Passes library, which is not linked. */

#ifndef TENON_CODEGEN_WATCH_H
#define TENON_CODEGEN_WATCH_H

#include <llvm-c/Types.h>

#include "tenon_codegen.h"

#ifdef __cplusplus
#include <string>
#include <vector>

#include "llvm/IR/PassInstrumentation.h"
#endif

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__watch;

/* One for each run of a pipeline. The observer is borrowed. */
struct tn__watch *tn__watch_create(const struct tn_compile_observer *observer);
void tn__watch_destroy(struct tn__watch *watch);
bool tn__watch_is_observed(const struct tn__watch *watch);

/* Before and after a pass of ours, or a marker, which has no text of its own. False: the observer has stopped the
 * pipeline. */
bool tn__watch_begin(struct tn__watch *watch, const char *pass, LLVMModuleRef module);
void tn__watch_end(struct tn__watch *watch, const char *pass, LLVMModuleRef module);

#ifdef __cplusplus
}

struct tn__watch {
    /* For passes of LLVM. */
    llvm::PassInstrumentationCallbacks callbacks;

    explicit tn__watch(const tn_compile_observer &observer);
    bool is_observed() const;
    bool may_run(llvm::StringRef name, const llvm::Any &unit);
    void begin(llvm::StringRef name, const llvm::Any &unit);
    void end(llvm::StringRef name, const llvm::Any *unit);

  private:
    const tn_compile_observer &observer;
    std::vector<uint64_t> begun; /* when the passes began that are running */
    std::string text;            /* the name of the pass that is shown */
    bool announced = false;      /* before_pass was called for the pass that comes now */
    bool stopped = false;

    tn_pass describe(llvm::StringRef name, const llvm::Any *unit);
    bool announce(llvm::StringRef name, const llvm::Any &unit);
};
#endif

#pragma GCC visibility pop
#endif
