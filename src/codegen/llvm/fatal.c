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

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#include <llvm-c/ErrorHandling.h>

#include "codegen/llvm/fatal.h"
#include "codegen/llvm/llvm.h"
#include "codegen/llvm/stack.h"

struct trap {
    jmp_buf return_point;
    int (*body)(void *context);
    void *context;
    struct tn_error *err;
    int result;
};

static _Thread_local struct trap *current;
static _Thread_local bool setting_up;
static atomic_uint_least64_t abandoned;

static void leave(int code, const char *reason)
{
    struct trap *trap = current;
    if (!trap) /* not our thread's doing: LLVM goes on as if no handler were there */
        return;
    trap->result = tn__fail(trap->err, code, "LLVM: %s", reason);
    longjmp(trap->return_point, 1);
}

static void on_fatal(const char *reason)
{
    leave(TN_EFATAL, reason);
}

static void on_bad_alloc(void *user, const char *reason, bool crash)
{
    (void)user;
    (void)crash;
    if (setting_up)
        tn__llvm_throw_bad_alloc();
    leave(TN_ENOMEM, reason);
}

static void install_once(void)
{
    LLVMInstallFatalErrorHandler(on_fatal);
    tn__llvm_on_bad_alloc(on_bad_alloc);
}

static void install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_once);
}

/* LLVM's registry of passes stays locked for good if memory runs out under its lock, so setting up starts only with
 * more memory at hand than it takes (0.4 MB). */
enum { ROOM = 1 << 20 };

static void run_step(void *user)
{
    struct tn__once *once = user;
    once->good = tn__llvm_has_room(ROOM) && once->step();
}

bool tn__once(struct tn__once *once)
{
    install();
    pthread_mutex_lock(&once->lock);
    if (!once->good) {
        setting_up = true;
        once->good = tn__llvm_call(run_step, once) && once->good;
        setting_up = false;
    }
    bool good = once->good;
    pthread_mutex_unlock(&once->lock);
    return good;
}

static void run(void *user)
{
    struct trap *trap = user;
    trap->result = trap->body(trap->context);
}

/* On the stack that the body runs on, because longjmp must not change to another. */
static void spring(void *user)
{
    struct trap *trap = user, *outer = current; /* an observer may compile */
    const void *frames = tn__llvm_save_frames();
    current = trap;
    bool whole = false;
    if (setjmp(trap->return_point) == 0) {
        whole = tn__llvm_call(run, trap);
        if (!whole)
            trap->result = tn__fail(trap->err, TN_ENOMEM, "LLVM: out of memory");
    }
    current = outer;
    if (!whole) {
        tn__llvm_restore_frames(frames);
        atomic_fetch_add(&abandoned, 1);
    }
}

int tn__contain(int (*body)(void *context), void *context, struct tn_error *err)
{
    install();
    struct trap trap = {.body = body, .context = context, .err = err};
    int code = tn__stack_call(spring, &trap, err);
    return code ? code : trap.result;
}

int tn__contain_here(int (*body)(void *context), void *context, struct tn_error *err)
{
    install();
    struct trap trap = {.body = body, .context = context, .err = err};
    spring(&trap);
    return trap.result;
}

void tn__contain_disposal(int (*body)(void *context), void *context)
{
    install();
    struct trap trap = {.body = body, .context = context};
    if (tn__stack_call(spring, &trap, NULL) != TN_OK)
        spring(&trap);
}

uint64_t tn_codegen_abandoned(void)
{
    return atomic_load(&abandoned);
}
