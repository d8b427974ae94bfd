/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A filter of system calls. See seccomp(2). What is not in the table is refused: calls that are newer than what a C
 * library may rely on as if the system lacked them, and others with EPERM. Those that only an attacker makes, and calls
 * of another architecture or of x32, end the process. */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

enum { X32 = 0x40000000 };

enum what {
    ALLOW,
    KILL,
    IF_OWN,  /* the first argument is this process */
    IF_READS /* the third argument is NULL: nothing is set */
};

static const struct row {
    int call;
    enum what what;
} rows[] = {
    /* what compiling takes, the most frequent first */
    {SYS_futex, ALLOW},
    {SYS_mmap, ALLOW},
    {SYS_munmap, ALLOW},
    {SYS_madvise, ALLOW},
    {SYS_mprotect, ALLOW},
    {SYS_mremap, ALLOW},
    {SYS_brk, ALLOW},
    {SYS_recvmsg, ALLOW},
    {SYS_sendmsg, ALLOW},
    {SYS_ppoll, ALLOW},
    {SYS_read, ALLOW},
    {SYS_write, ALLOW},
    {SYS_pread64, ALLOW},
    {SYS_pwrite64, ALLOW},
    {SYS_pwritev, ALLOW},
    {SYS_writev, ALLOW},
    {SYS_close, ALLOW},
    {SYS_fstat, ALLOW},
    {SYS_fcntl, ALLOW},
    {SYS_ftruncate, ALLOW},
    {SYS_lseek, ALLOW},
    {SYS_memfd_create, ALLOW},
    {SYS_clock_gettime, ALLOW},
    {SYS_clock_getres, ALLOW},
    {SYS_gettimeofday, ALLOW},
    {SYS_getrusage, ALLOW},
    {SYS_setitimer, ALLOW},
    {SYS_getrandom, ALLOW},
    {SYS_getpid, ALLOW},
    {SYS_gettid, ALLOW},
    {SYS_getppid, ALLOW},
    {SYS_geteuid, ALLOW},
    {SYS_getuid, ALLOW},
    {SYS_rt_sigaction, ALLOW},
    {SYS_rt_sigprocmask, ALLOW},
    {SYS_rt_sigreturn, ALLOW},
    {SYS_sigaltstack, ALLOW},
    {SYS_sched_yield, ALLOW},
    {SYS_sched_getaffinity, ALLOW},
    {SYS_sysinfo, ALLOW},
    {SYS_uname, ALLOW},
    {SYS_restart_syscall, ALLOW},
    {SYS_set_robust_list, ALLOW},
    {SYS_membarrier, ALLOW},
    {SYS_exit, ALLOW},
    {SYS_exit_group, ALLOW},
    {SYS_tgkill, IF_OWN}, /* abort */
    {SYS_prlimit64, IF_READS},
    {SYS_execve, KILL},
    {SYS_execveat, KILL},
    {SYS_ptrace, KILL},
    {SYS_process_vm_readv, KILL},
    {SYS_process_vm_writev, KILL},
    {SYS_bpf, KILL},
    {SYS_init_module, KILL},
    {SYS_finit_module, KILL},
    {SYS_kexec_load, KILL},
    {SYS_mount, KILL},
    {SYS_chroot, KILL},
};

enum { ROW_MOST = 7 }; /* instructions for a row */

struct program {
    struct sock_filter code[16 + ROW_MOST * TN_COUNT(rows)];
    unsigned short size;
};

static void add(struct program *p, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    p->code[p->size++] = (struct sock_filter){code, if_true, if_false, value};
}

static void load(struct program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t action)
{
    add(p, BPF_RET | BPF_K, action, 0, 0);
}

/* Little-endian: the low half of an argument comes first. */
static size_t argument(unsigned number, unsigned half)
{
    return offsetof(struct seccomp_data, args) + 8 * number + 4 * half;
}

/* The number of the call is loaded; behind these instructions it need not be. */
static void add_row(struct program *p, const struct row *row)
{
    const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
    if (row->what == ALLOW || row->what == KILL) {
        add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)row->call, 0, 1);
        answer(p, row->what == ALLOW ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
        return;
    }
    unsigned number = row->what == IF_OWN ? 0 : 2;
    uint32_t low = row->what == IF_OWN ? tn__os_process_id() : 0;
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)row->call, 0, 6);
    load(p, argument(number, 0));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, low, 0, 3);
    load(p, argument(number, 1));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
    answer(p, SECCOMP_RET_ALLOW);
    answer(p, refuse);
}

static void make(struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, tn__os_machine.audit, 1, 0);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    add(p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    for (const struct row *row = rows; row < rows + TN_COUNT(rows); row++)
        add_row(p, row);
    add(p, BPF_JMP | BPF_JGE | BPF_K, tn__os_machine.first_new, 0, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    answer(p, SECCOMP_RET_ERRNO | EPERM);
}

int tn__os_enter_sandbox(void)
{
    struct program program = {.size = 0};
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    make(&program);
    struct sock_fprog filter = {program.size, program.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) ? errno : 0;
}
