/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reports the passes of a pipeline to a struct tn_compile_observer. LLVM's own printing and timing are in its Passes
 * library, which is not linked. */

#ifndef TENON_CODEGEN_WATCH_H
#define TENON_CODEGEN_WATCH_H

#include <string>
#include <vector>

#include "llvm/IR/PassInstrumentation.h"

#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)

class tn__watch {
    const tn_compile_observer &observer;
    std::vector<uint64_t> begun; /* when the passes began that are running */
    std::string text;            /* the name of the pass that is shown */
    bool announced = false;      /* before_pass was called for the pass that comes now */
    bool stopped = false;

  public:
    /* Must live as long as the callbacks are used. */
    tn__watch(llvm::PassInstrumentationCallbacks &callbacks, const tn_compile_observer &observer);

  private:
    tn_pass describe(llvm::StringRef name, const llvm::Any *unit);
    bool announce(llvm::StringRef name, const llvm::Any &unit);
    bool may_run(llvm::StringRef name, const llvm::Any &unit);
    void begin(llvm::StringRef name, const llvm::Any &unit);
    void end(llvm::StringRef name, const llvm::Any *unit);
};

#pragma GCC visibility pop
#endif
