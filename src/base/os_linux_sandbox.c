/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A filter of system calls. See seccomp(2). What is not in the table is refused: calls that are newer than what a C
 * library may rely on as if the system lacked them, and others with EPERM. Those that only an attacker makes, and calls
 * of another architecture or of x32, end the process. */

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

enum { X32 = 0x40000000 };

/* The kernel's headers are not among those of every C library (linux/filter.h, linux/seccomp.h). */
struct instruction {
    uint16_t code;
    uint8_t if_true, if_false;
    uint32_t value;
};
struct filter {
    unsigned short size;
    struct instruction *code;
};
struct call_data {
    int32_t number;
    uint32_t audit;
    uint64_t at, arguments[6];
};
enum { LOAD = 0x20, JUMP_EQUAL = 0x15, JUMP_NOT_LESS = 0x35, RETURN = 0x06 };
enum { SET_FILTER = 1, ALL_THREADS = 1 };
static const uint32_t END_PROCESS = 0x80000000, REFUSE = 0x00050000 /* with an error number */, GRANT = 0x7fff0000;

enum what {
    ALLOW,
    KILL,
    IF_OWN,    /* the first argument is this process */
    IF_READS,  /* the third argument is NULL: nothing is set */
    IF_COMMAND /* the second argument is one of `commands` */
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
    {SYS_fcntl, IF_COMMAND},
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

/* Of fcntl. Others have the kernel send signals, and to processes that kill(2) could not reach from here. */
static const uint32_t commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS};

enum { ROW_MOST = 7 }; /* instructions for a row, without those for commands */

struct program {
    struct instruction code[16 + ROW_MOST * TN_COUNT(rows) + 2 * TN_COUNT(commands)];
    unsigned short size;
};

static void add(struct program *p, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    p->code[p->size++] = (struct instruction){code, if_true, if_false, value};
}

static void load(struct program *p, size_t offset)
{
    add(p, LOAD, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t action)
{
    add(p, RETURN, action, 0, 0);
}

/* Little-endian: the low half of an argument comes first. */
static size_t argument(unsigned number, unsigned half)
{
    return offsetof(struct call_data, arguments) + 8 * number + 4 * half;
}

/* The kernel looks at the low half only. */
static void add_commands(struct program *p, int call)
{
    add(p, JUMP_EQUAL, (uint32_t)call, 0, 2 + 2 * TN_COUNT(commands));
    load(p, argument(1, 0));
    for (size_t i = 0; i < TN_COUNT(commands); i++) {
        add(p, JUMP_EQUAL, commands[i], 0, 1);
        answer(p, GRANT);
    }
    answer(p, REFUSE | EPERM);
}

/* The number of the call is loaded; behind these instructions it need not be. */
static void add_row(struct program *p, const struct row *row)
{
    if (row->what == ALLOW || row->what == KILL) {
        add(p, JUMP_EQUAL, (uint32_t)row->call, 0, 1);
        answer(p, row->what == ALLOW ? GRANT : END_PROCESS);
        return;
    }
    if (row->what == IF_COMMAND) {
        add_commands(p, row->call);
        return;
    }
    unsigned number = row->what == IF_OWN ? 0 : 2;
    uint32_t low = row->what == IF_OWN ? tn__os_process_id() : 0;
    add(p, JUMP_EQUAL, (uint32_t)row->call, 0, 6);
    load(p, argument(number, 0));
    add(p, JUMP_EQUAL, low, 0, 3);
    load(p, argument(number, 1));
    add(p, JUMP_EQUAL, 0, 0, 1);
    answer(p, GRANT);
    answer(p, REFUSE | EPERM);
}

static void make(struct program *p)
{
    load(p, offsetof(struct call_data, audit));
    add(p, JUMP_EQUAL, tn__os_machine.audit, 1, 0);
    answer(p, END_PROCESS);
    load(p, offsetof(struct call_data, number));
    add(p, JUMP_NOT_LESS, X32, 0, 1);
    answer(p, END_PROCESS);
    for (const struct row *row = rows; row < rows + TN_COUNT(rows); row++)
        add_row(p, row);
    add(p, JUMP_NOT_LESS, tn__os_machine.first_new, 0, 1);
    answer(p, REFUSE | ENOSYS);
    answer(p, REFUSE | EPERM);
}

int tn__os_enter_sandbox(void)
{
    struct program program = {.size = 0};
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    make(&program);
    struct filter filter = {program.size, program.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return errno;
    return syscall(SYS_seccomp, SET_FILTER, ALL_THREADS, &filter) ? errno : 0;
}
