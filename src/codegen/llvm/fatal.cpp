/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM ends the process where it cannot go on ("Cannot select ..."). Its handler here leaves by longjmp instead: the
 * only one of the project. C++ destructors on the way are skipped, so the compilation's memory is abandoned and
 * counted. LLVM calls handlers without holding its lock, and each compilation has a context of its own, so other
 * threads and later compilations are not affected.
 *
 * Memory runs out in two ways: operator new throws, and malloc's callers ask a handler. The handler leaves by longjmp
 * as well, which passes functions that an exception may not pass; but where locks are held, while LLVM is set up, it
 * throws. One request escapes both: LLVM does not check the buffer that it copies inline assembly to, and faults
 * without it. */

#include <atomic>
#include <csetjmp>
#include <new>

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"

#include "base/float_env.h"
#include "codegen/llvm/fatal.h"

namespace {

struct trap {
    jmp_buf return_point;
    int (*body)(void *context);
    void *context;
    tn_error *err;
    int result;
};

thread_local trap *current;
thread_local bool setting_up;
std::atomic<uint64_t> abandoned;

void leave(int code, const char *reason)
{
    trap *trap = current;
    if (!trap) /* not our thread's doing: LLVM goes on as if no handler were there */
        return;
    trap->result = tn__fail(trap->err, code, "LLVM: %s", reason);
    longjmp(trap->return_point, 1);
}

void install()
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] {
        llvm::install_fatal_error_handler([](void *, const char *reason, bool) { leave(TN_EFATAL, reason); });
        llvm::install_bad_alloc_error_handler([](void *, const char *reason, bool) {
            if (setting_up)
                throw std::bad_alloc();
            leave(TN_ENOMEM, reason);
        });
    });
}

/* LLVM's registry of passes stays locked for good if memory runs out under its lock, so setting up starts only with
 * more memory at hand than it takes (0.4 MB). */
bool has_space()
{
    void *volatile space = ::operator new(1 << 20, std::nothrow); /* volatile: or the pair is optimised away */
    ::operator delete(space);
    return space != nullptr;
}

/* On the stack that the body runs on, because longjmp must not change to another. */
void spring(void *user)
{
    TN__KEEP_FLOAT_ENV;                                              /* LLVM folds constants by the functions of libm */
    trap *trap = static_cast<struct trap *>(user), *outer = current; /* an observer may compile */
    const void *frames = llvm::SavePrettyStackState(); /* to be restored by code that leaves them by longjmp */
    current = trap;
    volatile bool whole = false;
    if (setjmp(trap->return_point) == 0)
        try {
            trap->result = trap->body(trap->context);
            whole = true;
        } catch (const std::bad_alloc &) {
            trap->result = tn__fail(trap->err, TN_ENOMEM, "LLVM: out of memory");
        }
    current = outer;
    if (!whole) {
        llvm::RestorePrettyStackState(frames);
        abandoned++;
    }
}

} // namespace

bool tn__once(struct tn__once *once)
{
    TN__KEEP_FLOAT_ENV;
    install();
    tn__mutex_lock(&once->lock);
    if (!once->good) {
        setting_up = true;
        try {
            once->good = has_space() && once->step();
        } catch (const std::bad_alloc &) {
        }
        setting_up = false;
    }
    bool good = once->good;
    tn__mutex_unlock(&once->lock);
    return good;
}

int tn__contain(int (*body)(void *context), void *context, tn_error *err)
{
    install();
    trap trap = {{}, body, context, err, 0};
    int code = tn__stack_call(spring, &trap, err);
    return code ? code : trap.result;
}

int tn__contain_here(int (*body)(void *context), void *context, tn_error *err)
{
    install();
    trap trap = {{}, body, context, err, 0};
    spring(&trap);
    return trap.result;
}

void tn__contain_disposal(int (*body)(void *context), void *context)
{
    install();
    trap trap = {{}, body, context, nullptr, 0};
    if (tn__stack_call(spring, &trap, nullptr) != 0)
        spring(&trap);
}

uint64_t tn_codegen_abandoned(void)
{
    return abandoned;
}
