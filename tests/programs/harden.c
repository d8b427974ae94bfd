/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* harden COMMAND...: runs a command as a hardened service runs it: no memory that was writable may become executable
 * (PR_SET_MDWE, which survives execve), 4 GiB of address space. Checks first that the kernel means it. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef PR_SET_MDWE /* Linux 6.3 */
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

enum { FAILED = 126, NOT_HERE = 77 };

static int fail(const char *what)
{
    fprintf(stderr, "harden: %s: %s\n", what, strerror(errno));
    return FAILED;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return FAILED;
    const struct rlimit limit = {4UL << 30, 4UL << 30};
    if (setrlimit(RLIMIT_AS, &limit))
        return fail("RLIMIT_AS");
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        return NOT_HERE;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || !mprotect(page, 4096, PROT_READ | PROT_EXEC))
        return fail("the policy does nothing");
    execv(argv[1], argv + 1);
    return fail(argv[1]);
}
