/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A function that exit calls (base/at_exit.h) waits until no thread compiles in the background any more. It comes
 * before the destructors of static objects that a finished call of the compiler has made.
 *
 * The thread that ends the program never gives back what it holds. So a background thread counts only while it is in
 * the compiler, and not while it waits for another thread: for a promise, a link, or the lock of a module. */

#include "jit/background.h"

#include "base/at_exit.h"
#include "base/os.h"

/* The upper half is the number of the process; the lower half counts the threads that are in the compiler. After a
 * fork, those of the parent do not count. */
static uint64_t running;
static uint32_t ended, left;                       /* `left` changes after `running` */
static __thread uint32_t inside, entered, process; /* that in which this thread counts, or 0 */

static uint32_t count_in(uint64_t word)
{
    return word >> 32 == tn__os_process_id() ? (uint32_t)word : 0;
}

static void change(int by)
{
    uint64_t old = __atomic_load_n(&running, __ATOMIC_SEQ_CST), next;
    do
        next = (uint64_t)tn__os_process_id() << 32 | (uint32_t)(count_in(old) + (uint32_t)by);
    while (!__atomic_compare_exchange_n(&running, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

static bool is_counted(void)
{
    return process == tn__os_process_id();
}

/* A compiler's caller may end the program itself, in a function of the client. */
static void wait_at_exit(struct tn__at_exit *unused)
{
    (void)unused;
    __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t before = __atomic_load_n(&left, __ATOMIC_SEQ_CST);
        if (count_in(__atomic_load_n(&running, __ATOMIC_SEQ_CST)) <= is_counted())
            break;
        tn__os_wait(&left, before, UINT64_MAX);
    }
}

bool tn__background_begin(void)
{
    static struct tn__at_exit wait = {.function = wait_at_exit};
    if (__atomic_load_n(&ended, __ATOMIC_SEQ_CST))
        return false;
    inside++;
    tn__at_exit_add(&wait); /* where that fails, there is nothing better */
    return true;
}

void tn__background_end(void)
{
    inside--;
}

bool tn__compiler_enter(void)
{
    if (entered++ || !inside)
        return true;
    process = tn__os_process_id();
    change(1);
    if (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST))
        return true;
    tn__compiler_leave();
    return false;
}

bool tn__compiler_leave(void)
{
    if (!entered || --entered)
        return entered;
    bool counted = is_counted();
    tn__at_exit_renew();
    process = 0;
    if (!counted)
        return true;
    change(-1);
    __atomic_add_fetch(&left, 1, __ATOMIC_SEQ_CST);
    tn__os_wake(&left);
    return true;
}

bool tn__background_is_over(void)
{
    return inside && __atomic_load_n(&ended, __ATOMIC_RELAXED);
}
