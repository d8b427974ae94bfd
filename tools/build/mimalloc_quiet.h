/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Comes before mimalloc when it is compiled (rules.mk). A runtime in the programs of others has no options from the
 * environment, and prints nothing: options have their defaults, and what mimalloc would write goes nowhere. Its calls
 * of what prints are dropped by mimalloc.sed, which saves 7 KB of the smallest program. It asks sysconf for the size of
 * pages only; musl's is 1 KB. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MI_NO_GETENV        1
#define getenv(name)        ((void)(name), (char *)NULL)
#define fputs(text, stream) ((void)(text), (void)(stream), 0)
#define sysconf(name)       ((long)getauxval(AT_PAGESZ))
