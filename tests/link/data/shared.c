/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A small shared library with relocations of each kind, for tests/link/shared/read.c. The only code is a function that
 * returns at once, which may be called whatever becomes of the symbols that lead to it. */

__attribute__((visibility("default"))) void returns(void)
{
}

extern void elsewhere(void) __attribute__((weak));
extern int getpid(void);

__thread int variable __attribute__((tls_model("initial-exec"))) = 3;
static __thread int zero;

int word = 1;
int *to_word = &word;
static int hidden = 2;
int *const to_hidden = &hidden;
void (*to_function)(void) = returns;
void (*to_nothing)(void) = elsewhere;
int (*to_host)(void) = getpid;
int zeros[4];

__attribute__((section(".init_array"), used)) static void (*const initializer)(void) = returns;
__attribute__((section(".fini_array"), used)) static void (*const finalizer)(void) = returns;
