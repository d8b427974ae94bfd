/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stacks for LLVM, see fatal.h. */

#include "base/os.h"
#include "codegen/llvm/fatal.h"
#include "codegen/llvm/idle.h"

/* Stacks not in use; 0: none. As many as the cores of a large machine, which each need one at a time. In the child of a
 * fork, those that other threads were using stay mapped, like these threads' own stacks. */
enum { MOST_IDLE = 32 };
static atomic_uintptr_t idle[MOST_IDLE];

/* What most calls use; it stays in memory. */
enum { KEPT = 256 << 10 };

static int make_stack(uint64_t *low)
{
    uint64_t guard = tn__os_page_size();
    int error = tn__os_reserve(0, guard + TN__STACK, false, low);
    if (error)
        return error;
    error = tn__os_commit(*low + guard, TN__STACK, TN__PROT_RW);
    if (error)
        tn__os_release(*low, guard + TN__STACK);
    *low += guard;
    return error;
}

static int take_stack(uint64_t *low)
{
    *low = tn__idle_take(idle, MOST_IDLE);
    return *low ? 0 : make_stack(low);
}

static void give_stack(uint64_t low)
{
    uint64_t guard = tn__os_page_size();
    if (!tn__os_zero_private(low, TN__STACK - KEPT) && tn__idle_give(idle, MOST_IDLE, (uintptr_t)low))
        return;
    tn__os_release(low - guard, guard + TN__STACK);
}

#if __SANITIZE_ADDRESS__

#include <sanitizer/common_interface_defs.h>

/* AddressSanitizer has to be told which stack a thread runs on. */
struct call {
    void (*body)(void *context);
    void *context;
};

static void run_call(void *user)
{
    const struct call *call = user;
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    call->body(call->context);
    __sanitizer_start_switch_fiber(NULL, bottom, size);
}

static void call_on(uint64_t low, void (*body)(void *context), void *context)
{
    struct call call = {body, context};
    void *frames;
    __sanitizer_start_switch_fiber(&frames, (const void *)(uintptr_t)low, TN__STACK);
    tn__stack_switch(low + TN__STACK, run_call, &call);
    __sanitizer_finish_switch_fiber(frames, NULL, NULL);
}

#else

static void call_on(uint64_t low, void (*body)(void *context), void *context)
{
    tn__stack_switch(low + TN__STACK, body, context);
}

#endif

int tn__stack_call(void (*body)(void *context), void *context, struct tn_error *err)
{
    uint64_t low;
    int error = take_stack(&low);
    if (error)
        return tn__fail(err, TN_ENOMEM, "no room for a stack of %d MiB: %s", TN__STACK >> 20, strerror(error));
    call_on(low, body, context);
    give_stack(low);
    return 0;
}
