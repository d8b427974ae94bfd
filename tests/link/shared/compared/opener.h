/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens shared libraries: tenon.c with Tenon, system.c with the system's dynamic linker. Errors end the program. */

void *open_library(const char *path);
void *find_in(void *library, const char *name);
void close_library(void *library);
/* Whether the library can be opened; prints why it cannot. */
int try_library(const char *path);
