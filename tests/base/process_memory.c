/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a process may use, under control groups that the test makes up: files of its own in the places of the
 * kernel's, in a mount namespace of a child. */

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

#define MB   (1ull << 20)
#define ROOT "/sys/fs/cgroup"

enum { CANNOT_MOUNT = 77 };

static const struct row {
    const char *what, *groups; /* of /proc/self/cgroup */
    struct {
        const char *path, *text;
    } files[6];
    uint64_t limit, room;
} rows[] = {
    {"version 2, a container's own root",
     "0::/\n",
     {{"memory.max", "104857600\n"}, {"memory.current", "1048576\n"}},
     100 * MB,
     99 * MB},
    {"version 2, the group that contains it allows less",
     "0::/outer/inner\n",
     {{"outer/", ""},
      {"outer/inner/", ""},
      {"outer/inner/memory.max", "209715200\n"},
      {"outer/memory.max", "52428800\n"},
      {"memory.max", "max\n"}},
     50 * MB,
     50 * MB},
    {"version 2, a group that is not mounted here",
     "0::/elsewhere/x\n",
     {{"memory.max", "104857600\n"}},
     100 * MB,
     100 * MB},
    {"version 2, memory that caches files is free",
     "0::/\n",
     {{"memory.max", "104857600\n"}, {"memory.current", "94371840\n"}, {"memory.stat", "anon 1\nfile 83886080\n"}},
     100 * MB,
     90 * MB},
    {"version 1, among other hierarchies",
     "9:name=systemd:/\n4:memory:/job\n1:cpu:/job\n0::/\n",
     {{"memory/", ""},
      {"memory/job/", ""},
      {"memory/job/memory.limit_in_bytes", "73400320\n"},
      {"memory/memory.limit_in_bytes", "9223372036854771712\n"}},
     70 * MB,
     70 * MB},
    {"version 1, mounted together with other controllers",
     "4:memory_recursiveprot,cpu,memory:/job\n3:rdma,misc:/job\n",
     {{"memory/", ""}, {"memory/memory.limit_in_bytes", "73400320\n"}},
     70 * MB,
     70 * MB},
    {"lines that are none",
     "\n:\n0:memory\nmemory:/job\n0::/\n",
     {{"memory/", ""}, {"memory/memory.limit_in_bytes", "73400320\n"}, {"memory.max", "104857600\n"}},
     100 * MB,
     100 * MB},
};

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* In the child: the status of the process. */
static int check(const struct row *row)
{
    char path[200], groups[64], list[] = "/tmp/tenon-groups-XXXXXX";
    int fd = mkstemp(list);
    snprintf(groups, sizeof groups, "/proc/%d/cgroup", (int)getpid());
    bool ready = fd >= 0 && unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                 write_file(list, row->groups) && mount(list, groups, NULL, MS_BIND, NULL) == 0 &&
                 mount("none", ROOT, "tmpfs", 0, NULL) == 0;
    unlink(list);
    if (!ready)
        return CANNOT_MOUNT;
    for (size_t i = 0; i < TN_COUNT(row->files) && row->files[i].path; i++) {
        snprintf(path, sizeof path, ROOT "/%s", row->files[i].path);
        if (path[strlen(path) - 1] == '/' ? mkdir(path, 0700) != 0 : !write_file(path, row->files[i].text))
            return CANNOT_MOUNT;
    }
    struct tn__os_memory memory;
    tn__os_memory(&memory);
    return memory.limit != row->limit ? 1 : memory.space != row->room ? 2 : 0;
}

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void control_groups_limit_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        pid_t pid = fork();
        if (!pid)
            _exit(check(&rows[i]));
        int status = status_of(pid);
        if (status == CANNOT_MOUNT)
            skip();
        if (status)
            fail_msg("%s: the %s is wrong", rows[i].what, status == 1 ? "limit" : "room");
    }
}

/* How much address space this process has; terabytes with a sanitizer. */
static uint64_t reserved(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "VmSize: %llu kB", &kilobytes) != 1)
        ;
    if (status)
        fclose(status);
    return kilobytes * 1024;
}

static int check_address_space(void)
{
    struct tn__os_memory memory;
    const uint64_t room = 8192 * MB, used = reserved();
    const struct rlimit limit = {used + room, used + room};
    tn__os_memory(&memory);
    if (!used || memory.address_space != UINT64_MAX || setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    tn__os_memory(&memory);
    return memory.address_space <= room + MB && memory.address_space > room - 64 * MB ? 0 : 2;
}

static void the_limit_of_address_space_counts(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (!pid)
        _exit(check_address_space());
    assert_int_equal(status_of(pid), 0);
}

static void without_proc_nothing_is_known(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (!pid) {
        struct tn__os_memory memory;
        if (chroot("/var/empty") != 0 && chroot("/mnt") != 0)
            _exit(CANNOT_MOUNT);
        tn__os_memory(&memory);
        _exit(memory.limit != UINT64_MAX || memory.space != UINT64_MAX);
    }
    int status = status_of(pid);
    if (status == CANNOT_MOUNT)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_groups_limit_memory),
        cmocka_unit_test(the_limit_of_address_space_counts),
        cmocka_unit_test(without_proc_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
