/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Something of everything that compilers make relocations of; it is linked and looked at, never run (oracle.c). */

extern int host_function(int);
extern int host_datum;
extern int host_missing __attribute__((weak));
extern void host_missing_function(void) __attribute__((weak));
typedef int function(int);

static int local_datum = 7, local_zeros[100];
int global_datum = 8, global_zeros[50];
const int global_constant = 9;
__attribute__((visibility("hidden"))) int hidden_datum = 10;
__attribute__((weak)) int weak_datum = 11;
static const double numbers[] = {1.5, 2.5};
static const char *const texts[] = {"one", "two", "three", "one two three"};

__attribute__((noinline)) static int local_function(int x)
{
    return x + local_datum + host_function(x);
}

__attribute__((noinline, weak)) int weak_function(int x)
{
    return x * weak_datum;
}

__attribute__((noinline, visibility("hidden"))) int hidden_function(int x)
{
    return x - hidden_datum;
}

extern int alias_function(int) __attribute__((alias("global_function")));

int global_function(int x)
{
    switch (x) { /* a jump table */
    case 0:
        return local_function(x);
    case 1:
        return hidden_function(global_datum);
    case 2:
        return host_datum;
    case 3:
        return weak_function(local_zeros[5]);
    case 4:
        return (int)(numbers[x & 1] * 3.25);
    case 5:
        return texts[x & 3][x & 1];
    case 6:
        return alias_function(x - 1);
    default:
        return global_zeros[x & 31] + host_missing_function ? 1 : 0;
    }
}

int *pointers[] = {&local_datum, &global_zeros[3], &host_datum, &host_missing, &hidden_datum};
function *const functions[] = {local_function, global_function, host_function, weak_function, hidden_function};
__attribute__((section("named_section"))) const void *const places[] = {&numbers[1], texts, &places[1]};

int use(int i)
{
    return *pointers[i] + functions[i](i) + (&host_missing ? host_missing : 1);
}

/* Compared and counted with as numbers: position-dependent code has them as immediates. */
int is_known(const void *p, unsigned long sum)
{
    return p == &global_datum || p == (const void *)host_function || sum + (unsigned long)&local_zeros[2] == 5;
}

__attribute__((constructor(200))) static void construct(void)
{
    local_zeros[0] = 1;
}

__attribute__((destructor)) static void destruct(void)
{
    local_zeros[0] = 2;
}

#ifndef NO_TLS
static __thread int thread_local_datum = 5, thread_local_zeros[3];
__thread long thread_global_datum = 6;
__attribute__((visibility("hidden"))) __thread char thread_hidden = 7;
__thread int thread_initial __attribute__((tls_model("initial-exec"))) = 8;

int use_thread(int i)
{
    return thread_local_datum + thread_local_zeros[i] + (int)thread_global_datum + thread_hidden + thread_initial;
}

long *thread_address(void)
{
    return &thread_global_datum;
}
#endif
