/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A host that was built for a sanitizer, and loads code that is instrumented for it: sanitized BITCODE PASSES FUNCTION
 * [lazy]. Prints what the sanitizer reports, with the function and line in loaded code, which only Tenon knows. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon_codegen.h>

enum { MOST = 8 };

static struct {
    char description[100];
    void *places[MOST];
    int count;
} report;

static void print_source(void *context, const struct tn_source *source)
{
    const char *base = source->file ? strrchr(source->file, '/') : NULL;
    (void)context;
    printf(" at %s:%u", base ? base + 1 : source->file ? source->file : "?", source->line);
}

static void print_report(void)
{
    for (int i = 0; i < report.count; i++) {
        struct tn_place place = {.size = sizeof place};
        struct tn_error err;
        printf("%s", report.description);
        if (!tn_symbolize(NULL, report.places[i], &place, &err))
            printf(" in %s", place.function);
        if (!tn_symbolize_source(NULL, report.places[i], print_source, NULL, &err))
            printf("\n");
        else
            printf(" (%s)\n", err.text);
    }
    fflush(stdout);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

static void on_report(const char *text)
{
    (void)text;
    snprintf(report.description, sizeof report.description, "%s", __asan_get_report_description());
    report.places[report.count++] = (char *)__asan_get_report_pc() - 1; /* it is a return address */
    print_report();
    _exit(0);
}

static void watch(void)
{
    __asan_set_error_report_callback(on_report);
}
#elif defined(LOADS_MSAN)
#include <execinfo.h>
#include <sanitizer/msan_interface.h>

static void ignore_source(void *context, const struct tn_source *source)
{
    (void)context, (void)source;
}

/* The runtime ends the process where it has found something, and has no function that says where. It calls this on each
 * thread that found something, without a lock: the first one reports, and ends the others with the process. */
static void on_death(void)
{
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    void *trace[32];
    struct tn_error err;
    while (atomic_flag_test_and_set(&reported))
        pause();
    __msan_scoped_disable_interceptor_checks(); /* the library is not instrumented, so its memory looks unwritten */
    snprintf(report.description, sizeof report.description, "use-of-uninitialized-value");
    for (int i = 0, count = backtrace(trace, 32); i < count && !report.count; i++)
        if (!tn_symbolize_source(NULL, (char *)trace[i] - 1, ignore_source, NULL, &err))
            report.places[report.count++] = (char *)trace[i] - 1;
    print_report();
}

static void watch(void)
{
    __msan_set_death_callback(on_death);
}

/* Shadows of arguments and results; a program's thread-local variables have no addresses that dlsym could tell. */
extern _Thread_local char __msan_param_tls[], __msan_retval_tls[], __msan_va_arg_tls[];
extern _Thread_local char __msan_va_arg_overflow_size_tls[];

static int define_variables(struct tn_library *library, struct tn_error *err)
{
    const char *thread = __builtin_thread_pointer();
    const struct tn_definition variables[] = {
        {"__msan_param_tls", (void *)(__msan_param_tls - thread), TN_SYMBOL_THREAD_LOCAL},
        {"__msan_retval_tls", (void *)(__msan_retval_tls - thread), TN_SYMBOL_THREAD_LOCAL},
        {"__msan_va_arg_tls", (void *)(__msan_va_arg_tls - thread), TN_SYMBOL_THREAD_LOCAL},
        {"__msan_va_arg_overflow_size_tls", (void *)(__msan_va_arg_overflow_size_tls - thread), TN_SYMBOL_THREAD_LOCAL},
    };
    return tn_define_all(library, variables, sizeof variables / sizeof *variables, NULL, err);
}
#define DEFINE_VARIABLES(library, err) define_variables(library, err)
#else
int __tsan_get_report_data(void *report, const char **description, int *count, int *stacks, int *accesses,
                           int *locations, int *mutexes, int *threads, int *unique, void **trace, unsigned long size);
int __tsan_get_report_mop(void *report, unsigned long i, int *thread, void **address, int *size, int *write,
                          int *atomic, void **trace, unsigned long count);
void __tsan_on_report(void *found);

/* Called with the runtime's locks: what allocates waits until the threads have ended. */
void __tsan_on_report(void *found)
{
    const char *description;
    int n, accesses;
    void *trace[16] = {0};
    __tsan_get_report_data(found, &description, &n, &n, &accesses, &n, &n, &n, &n, trace, 0);
    snprintf(report.description, sizeof report.description, "%s", description);
    for (int i = 0; i < accesses && report.count < MOST; i++) {
        void *address;
        __tsan_get_report_mop(found, (unsigned long)i, &n, &address, &n, &n, &n, trace, 16);
        report.places[report.count++] = trace[0];
    }
}

static void watch(void)
{
}
#endif

#ifndef DEFINE_VARIABLES
#define DEFINE_VARIABLES(library, err) 0
#endif

static void *read_file(const char *name, size_t *length)
{
    FILE *file = fopen(name, "rb");
    char *bytes = malloc(1 << 20);
    *length = file ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    return bytes;
}

static void on_failure(void)
{
    abort();
}

static void *run(void *function)
{
    __extension__((void (*)(void))function)();
    return NULL;
}

int main(int argc, char **argv)
{
    struct tn_jit *jit;
    struct tn_error err;
    void *function;
    struct tn_jit_module module = {.size = sizeof module, .name = "loaded.bc"};
    module.ir = read_file(argv[1], &module.length);
    struct tn_compile_options compile = {.size = sizeof compile, .passes = *argv[2] ? argv[2] : NULL, .opt_level = 1};
    struct tn_jit_options options = {.size = sizeof options,
                                     .compile = &compile,
                                     .lazy = argc > 4,
                                     .on_failure = on_failure,
                                     .resolver = tn_resolve_dlsym};
    if (tn_jit_create(&options, &jit, &err) || tn_observe_functions(tn_jit_session(jit), &err) ||
        tn_observe_sources(tn_jit_session(jit), &err) || DEFINE_VARIABLES(tn_jit_library(jit), &err) ||
        tn_jit_add_module(jit, NULL, &module, &err) || tn_jit_lookup(jit, argv[3], &function, &err) ||
        tn_jit_run_initializers(jit, NULL, argc, argv, NULL, &err)) {
        printf("error: %s\n", err.text);
        return 0;
    }
    watch();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, function);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    print_report();
    tn_jit_destroy(jit);
    free((void *)module.ir);
    printf("end\n");
    return 0;
}
