/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Accesses to memory that is not there: a signal handler on a stack of its own, which continues as the program would
 * have without it. */

#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

static struct sigaction before;
static void (*watcher)(const struct tn__os_access *access);

static void on_fault(int number, siginfo_t *info, void *context)
{
    struct tn__os_access access = {.address = (uintptr_t)info->si_addr};
    tn__os_read_registers(context, &access);
    if (info->si_code > 0) /* not sent by a process */
        watcher(&access);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else if (!sigaction(number, &before, NULL) && info->si_code <= 0)
        kill(getpid(), number); /* an access is simply repeated */
}

int tn__os_watch_accesses(void (*watch)(const struct tn__os_access *access))
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    watcher = watch;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &before) ? errno : 0;
}

int tn__os_give_signal_stack(size_t room, uint64_t *address, size_t *size)
{
    enum { LEAST = 51 }; /* as in linux/auxvec.h: what the processor's registers take */
    stack_t stack;
    *address = *size = 0;
    if (sigaltstack(NULL, &stack))
        return errno;
    if (!(stack.ss_flags & SS_DISABLE))
        return 0;
    *size = tn__align_up(room + getauxval(LEAST), tn__os_page_size());
    int error = tn__os_reserve(0, *size + tn__os_page_size(), false, address); /* the lowest page stays a guard */
    if (error)
        return error;
    uint64_t low = *address + tn__os_page_size();
    error = tn__os_commit(low, *size, TN__PROT_RW);
    stack = (stack_t){.ss_sp = (void *)(uintptr_t)low, .ss_size = *size};
    if (!error && sigaltstack(&stack, NULL))
        error = errno;
    *size += tn__os_page_size();
    if (error) {
        tn__os_release(*address, *size);
        *address = 0;
    }
    return error;
}

void tn__os_take_signal_stack(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
}
