/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The functions of os.h that depend on the processor, for AArch64. */

#include <ucontext.h>

#include "os.h"
#include "registers.h"

const struct tn__os_machine tn__os_machine = {0xc00000b7 /* AUDIT_ARCH_AARCH64 */, 273};

void tn__os_read_registers(const void *context, struct tn__os_access *access)
{
    enum { FRAME = 29 };
    const ucontext_t *user = context;
    access->stack = user->uc_mcontext.sp;
    access->frame = user->uc_mcontext.regs[FRAME];
    access->code = user->uc_mcontext.pc;
}

bool tn__os_leave_function(void *context)
{
    enum { LINK = 30, INSTRUCTION = 4 };
    ucontext_t *user = context;
    user->uc_mcontext.pc = user->uc_mcontext.regs[LINK] - INSTRUCTION;
    return true;
}

/* The instructions that compilers emit for this reach the caches of all cores; but another core may have fetched
 * already what was there before (Arm ARM, chapter B2, "Concurrent modification and execution of instructions"). */
void tn__os_flush_code(uint64_t address, size_t size)
{
    char *start = (char *)(uintptr_t)address;
    __builtin___clear_cache(start, start + size);
    tn__os_synchronize_cores();
}

void tn__os_relax(void)
{
    __asm__ volatile("yield");
}
