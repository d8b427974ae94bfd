/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs a program in a process that the system refuses something: `limited WHAT PROGRAM [ARGUMENT...]`, where WHAT is a
 * row of the table. Status 77: this system has no such limit. */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ABSENT 77

/* A call with this flag in its argument fails; flag 0: each call. */
struct refusal {
    int call, argument;
    unsigned flag;
    int error;
};

static int refuse(const struct refusal *r)
{
    unsigned at = (unsigned)offsetof(struct seccomp_data, nr),
             flags = (unsigned)(offsetof(struct seccomp_data, args) + 8 * (unsigned)r->argument);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)r->call, 0, r->flag ? 3 : 1),
        BPF_STMT(r->flag ? BPF_LD | BPF_W | BPF_ABS : BPF_RET | BPF_K,
                 r->flag ? flags : SECCOMP_RET_ERRNO | (unsigned)r->error),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, r->flag, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)r->error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (!r->flag)
        filter[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? ABSENT : 0;
}

/* No mapping that was writable may become executable (Linux 6.3). */
static int set_mdwe(void)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };
    return prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) ? ABSENT : 0;
}

/* Of memory of its own; of addresses. */
static int limit_data(void)
{
    const struct rlimit limit = {64 << 20, 64 << 20};
    return setrlimit(RLIMIT_DATA, &limit) ? ABSENT : 0;
}

static int limit_addresses(void)
{
    const struct rlimit limit = {512 << 20, 512 << 20};
    return setrlimit(RLIMIT_AS, &limit) ? ABSENT : 0;
}

enum { NOREPLACE = 0x100000 }; /* MAP_FIXED_NOREPLACE */

static const struct {
    const char *name;
    int (*set)(void);
    struct refusal refusal;
} limits[] = {
    {"mdwe", set_mdwe, {0}},
    {"64MB", limit_data, {0}},
    {"512MB-of-addresses", limit_addresses, {0}},
    {"mremap", NULL, {SYS_mremap, 0, 0, EPERM}},
    {"no-mremap", NULL, {SYS_mremap, 0, 0, ENOSYS}},
    {"noreplace", NULL, {SYS_mmap, 3, NOREPLACE, EPERM}},
    {"no-noreplace", NULL, {SYS_mmap, 3, NOREPLACE, EOPNOTSUPP}},
    {"memfd", NULL, {SYS_memfd_create, 0, 0, EPERM}},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(limits[i].name, argv[1]) != 0)
            continue;
        int status = limits[i].set ? limits[i].set() : refuse(&limits[i].refusal);
        if (status)
            return status;
        execv(argv[2], argv + 2);
        perror(argv[2]);
        return 1;
    }
    fprintf(stderr, "limited WHAT PROGRAM [ARGUMENT...]\n");
    return 2;
}
