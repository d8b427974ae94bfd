/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    dup2(1, 2);
    program_invocation_name = program_invocation_short_name = "program"; /* data of libc, written by loaded code */
    errno = ENOENT;
    warn("missing %d", 1);
    warnx("plain");
    error(0, EACCES, "with a number");
    error_at_line(0, 0, "file.c", 12, "with a place");
    printf("%u\n", error_message_count);
    errx(4, "and out");
}
