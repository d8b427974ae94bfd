/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The functions of os.h that depend on the processor, for RISC-V. */

#include <ucontext.h>

#include "os.h"
#include "registers.h"

const struct tn__os_machine tn__os_machine = {0xc00000f3 /* AUDIT_ARCH_RISCV64 */, 273};

void tn__os_read_registers(const void *context, struct tn__os_access *access)
{
    enum { FRAME = 8 }; /* s0 */
    const ucontext_t *user = context;
    access->stack = user->uc_mcontext.__gregs[REG_SP];
    access->frame = user->uc_mcontext.__gregs[FRAME];
    access->code = user->uc_mcontext.__gregs[REG_PC];
}

/* Calls may take two bytes. */
bool tn__os_leave_function(void *context)
{
    ucontext_t *user = context;
    user->uc_mcontext.__gregs[REG_PC] = user->uc_mcontext.__gregs[REG_RA] - 2;
    return true;
}

/* A system call, riscv_flush_icache: only the kernel can reach the other cores on which the process runs. */
void tn__os_flush_code(uint64_t address, size_t size)
{
    char *start = (char *)(uintptr_t)address;
    __builtin___clear_cache(start, start + size);
}

void tn__os_relax(void)
{
    /* Pause (Zihintpause); other processors take it for a fence that orders nothing. */
    __asm__ volatile(".4byte 0x0100000f");
}
