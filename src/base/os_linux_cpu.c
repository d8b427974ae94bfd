/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What only the kernel knows about the cores of the machine. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

enum { CORES = 8192, SYS_HWPROBE = 258 };

/* linux/membarrier.h, which musl's headers do not have. */
enum {
    MEMBARRIER_PRIVATE_EXPEDITED = 8,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 16,
    MEMBARRIER_PRIVATE_EXPEDITED_SYNC_CORE = 32,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE = 64,
};

size_t tn__os_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_CONF);
    return cores > 0 ? (size_t)cores : 1;
}

size_t tn__os_usable_cores(void)
{
    cpu_set_t allowed[CORES / (8 * sizeof(cpu_set_t))];
    if (sched_getaffinity(0, sizeof allowed, allowed) != 0)
        return tn__os_cores();
    int count = CPU_COUNT_S(sizeof allowed, allowed);
    return count > 0 ? (size_t)count : 1;
}

/* On Linux, priorities are those of threads. SCHED_IDLE would leave even less, but then a thread that is stopped within
 * malloc could keep others from going on for seconds. */
void tn__os_give_way(void)
{
    enum { LOWEST = 19 };
    setpriority(PRIO_PROCESS, 0, LOWEST);
}

void tn__os_visit_cores(void (*visit)(void *context), void *context)
{
    cpu_set_t allowed[CORES / (8 * sizeof(cpu_set_t))], one[CORES / (8 * sizeof(cpu_set_t))];
    bool visited = false;
    if (sched_getaffinity(0, sizeof allowed, allowed) == 0) {
        for (size_t core = 0; core < CORES; core++) {
            if (!CPU_ISSET_S(core, sizeof allowed, allowed))
                continue;
            CPU_ZERO_S(sizeof one, one);
            CPU_SET_S(core, sizeof one, one);
            if (sched_setaffinity(0, sizeof one, one) == 0) {
                visit(context);
                visited = true;
            }
        }
        sched_setaffinity(0, sizeof allowed, allowed);
    }
    if (!visited)
        visit(context);
}

static int membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0 ? 0 : errno;
}

/* The kernel says EPERM to processes that have not registered. Registering again does nothing. */
static int reach_threads(int command, int registration)
{
    int saved = errno, error = membarrier(command);
    if (error == EPERM && !membarrier(registration))
        error = membarrier(command);
    errno = saved;
    return error;
}

int tn__os_fence_threads(void)
{
    if (tn__os_fence_fault())
        return EPERM;
    return reach_threads(MEMBARRIER_PRIVATE_EXPEDITED, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED);
}

void tn__os_synchronize_cores(void)
{
    reach_threads(MEMBARRIER_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}

int tn__os_riscv_hwprobe(struct tn__os_hwprobe *keys, size_t count)
{
    return syscall(SYS_HWPROBE, keys, count, 0, NULL, 0) == 0 ? 0 : errno;
}

int tn__os_read_text(const char *path, char *text, size_t size)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    size_t length = 0;
    ssize_t n = 1;
    while (length + 1 < size && n) {
        n = read(fd, text + length, size - 1 - length);
        if (n < 0 && errno != EINTR)
            break;
        length += n > 0 ? (size_t)n : 0;
    }
    int error = n < 0 ? errno : 0;
    text[length] = 0;
    close(fd);
    return error;
}
