/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How many threads may compile: one for each core that this process may run on, as long as memory suffices. */

#include <sched.h>

#include "base/base.h"
#include "base/os.h"
#include "codegen/llvm/fatal.h"
#include "lib/tool.h"

/* Measured: a shard of SQLite takes 36 MB, a large function more. Of address space there is LLVM's stack as well. */
enum { MEMORY_PER_THREAD = 64 << 20 };

size_t tool_default_threads(void)
{
    cpu_set_t cores;
    bool known =
        sched_getaffinity(0, sizeof cores, &cores) == 0; /* not on machines with more cores than it has space for */
    size_t threads = known ? (size_t)CPU_COUNT(&cores) : tn__os_cores();
    struct tn__os_memory memory;
    tn__os_memory(&memory);
    uint64_t fit = tn__min64(memory.space / MEMORY_PER_THREAD, memory.address_space / (MEMORY_PER_THREAD + TN__STACK));
    return (size_t)tn__max64(1, tn__min64(threads, fit));
}
