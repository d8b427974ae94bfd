/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The functions of os.h that depend on the processor, for x86-64. */

#include <ucontext.h>

#include "os.h"
#include "registers.h"

const struct tn__os_machine tn__os_machine = {0xc000003e /* AUDIT_ARCH_X86_64 */, 313};

void tn__os_read_registers(const void *context, struct tn__os_access *access)
{
    const ucontext_t *user = context;
    access->stack = (uint64_t)user->uc_mcontext.gregs[REG_RSP];
    access->frame = (uint64_t)user->uc_mcontext.gregs[REG_RBP];
    access->code = (uint64_t)user->uc_mcontext.gregs[REG_RIP];
}

bool tn__os_leave_function(void *context)
{
    ucontext_t *user = context;
    greg_t *stack = &user->uc_mcontext.gregs[REG_RSP];
    uint64_t back;
    if (!tn__os_peek((uint64_t)*stack, &back))
        return false;
    user->uc_mcontext.gregs[REG_RIP] = (greg_t)back - 1;
    *stack += (greg_t)sizeof back;
    return true;
}

/* Instruction fetch sees what was written; compilers make nothing of this. */
void tn__os_flush_code(uint64_t address, size_t size)
{
    char *start = (char *)(uintptr_t)address;
    __builtin___clear_cache(start, start + size);
}

void tn__os_relax(void)
{
    __builtin_ia32_pause();
}
