/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local variables of the programs that `tenon run` loads, of any size up to ROOM.
 *
 * glibc gives every thread a block for static thread-local data and keeps its size in variables. The main thread's
 * block is allocated with ROOM more, which is address space only, because it is touched where variables are. When the
 * program creates its first thread, the size of the blocks grows by what the program uses then: glibc takes the block
 * of a thread from its stack.
 *
 *     lower addresses    [ spare space of glibc | area of loaded programs | the command's TLS segment ] thread pointer
 *
 * or, where thread-local data lies above the thread pointer, the same the other way round.
 *
 * glibc does not know what is in the area, so the values are set here when it initialises a thread's block. The linker
 * leads calls within glibc here (--wrap in rules.mk). */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/last_thread.h"
#include "link/tls/tls.h"
#include "lib/tool.h"

/* What the command itself has in its TLS segment: the reserve's header. */
TN_TLS_RESERVE(16);

enum { ROOM = 16 << 20, ROOM_OF_LATE_CODE = 1 << 20 };

/* ---- glibc's own ---- */

extern size_t _dl_tls_static_size, _dl_tls_static_used __attribute__((visibility("hidden")));

void *__real__dl_early_allocate(size_t size);
void *__wrap__dl_early_allocate(size_t size);
void *__real__dl_allocate_tls(void *thread);
void *__wrap__dl_allocate_tls(void *thread);
void *__real__dl_allocate_tls_init(void *thread, bool main);
void *__wrap__dl_allocate_tls_init(void *thread, bool main);

static struct {
    size_t static_size, static_used, stack_size; /* without the area */
    size_t size;
    bool runs, fixed; /* the program; the size */
    struct tn__tls_area area;
} self;

/* ---- the main thread's block: nothing thread-local exists yet ---- */

/* Its one caller makes the main thread's block: at the end of this memory, or at its beginning. */
__attribute__((no_stack_protector)) void *__wrap__dl_early_allocate(size_t size)
{
    char *block = __real__dl_early_allocate(ROOM + size);
    return block && !tn__arch_host->tls_above ? block + ROOM : block;
}

/* ---- blocks of other threads ---- */

void *__wrap__dl_allocate_tls(void *thread)
{
    thread = __real__dl_allocate_tls(thread);
    if (thread)
        tn__tls_fill(thread);
    return thread;
}

/* For a block that had been another thread's. */
void *__wrap__dl_allocate_tls_init(void *thread, bool main)
{
    thread = __real__dl_allocate_tls_init(thread, main);
    if (thread)
        tn__tls_fill(thread);
    return thread;
}

/* From now on threads have an area of this size, in addition to the stack they would have without. */
static bool set_size(size_t size)
{
    pthread_attr_t attributes;
    self.size = size;
    _dl_tls_static_size = self.static_size + size;
    _dl_tls_static_used = self.static_used + size;
    if (pthread_getattr_default_np(&attributes) != 0)
        return false;
    bool ok = pthread_attr_setstacksize(&attributes, self.stack_size + size) == 0 &&
              pthread_setattr_default_np(&attributes) == 0;
    pthread_attr_destroy(&attributes);
    return ok;
}

/* ---- the area ---- */

bool tool_thread_data_start(void)
{
    pthread_attr_t attributes;
    bool above = tn__arch_host->tls_above;
    uint8_t *initial = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (initial == MAP_FAILED || pthread_getattr_default_np(&attributes) != 0)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    pthread_attr_getstacksize(&attributes, &self.stack_size);
    pthread_attr_destroy(&attributes);
    self.static_size = _dl_tls_static_size;
    self.static_used = tn__align_up(_dl_tls_static_used, TN_TLS_RESERVE_ALIGNMENT);
    self.area = (struct tn__tls_area){
        .edge = above ? self.static_used : -self.static_used,
        .initial_edge = above ? initial : initial + ROOM,
        .size = ROOM,
        .advice = "executables made by tenon build --kind=exe can have more",
    };
    tn__tls_use(&self.area);
    return set_size(ROOM) || (tool_fail(STATUS_FAILURE, "out of memory"), false);
}

/* The size is what the program uses now, and something for code that is linked later. */
static bool fix_size(void)
{
    size_t size = self.area.used;
    if (tool_program.jit && size < ROOM_OF_LATE_CODE)
        size = ROOM_OF_LATE_CODE;
    self.fixed = true;
    self.area.size = tn__align_up(size, TN_TLS_RESERVE_ALIGNMENT);
    self.area.advice = "once threads run, it cannot grow: use these variables before the first thread starts, or omit "
                       "--lazy and --threads";
    return set_size(self.area.size);
}

/* ---- the program's threads ---- */

typedef void *thread_function(void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *given, thread_function *start, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *given, thread_function *start, void *argument);
int __wrap___pthread_create(pthread_t *thread, const pthread_attr_t *given, thread_function *start, void *argument);

static bool is_fixed(void)
{
    return !self.runs || self.fixed || fix_size();
}

struct start {
    thread_function *function;
    void *argument;
};

/* Attached threads get the initial values of code that is linked while they run, by whatever thread. They report no
 * quiescent points, so nothing may wait for these: to the library, each is in a blocking region. */
static void attach(void)
{
    tn__last_thread_watch();
    tn_thread_attach();
    tn_thread_begin_blocking();
}

/* The main thread. */
void tool_thread_data_run(void)
{
    self.runs = true;
    attach();
}

static void *enter(void *given)
{
    struct start start = *(struct start *)given;
    free(given);
    tool_watch_thread(); /* first: threads that have no signal stack then get a smaller one */
    attach();
    return start.function(start.argument);
}

static int create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *function, void *argument)
{
    if (!self.runs)
        return __real_pthread_create(thread, attributes, function, argument);
    struct start *start = malloc(sizeof *start);
    if (!start)
        return EAGAIN;
    *start = (struct start){.function = function, .argument = argument};
    int error = __real_pthread_create(thread, attributes, enter, start);
    if (error)
        free(start);
    return error;
}

/* Functions of glibc, such as thrd_create, call this one. Their attributes need not be an address. */
int __wrap___pthread_create(pthread_t *thread, const pthread_attr_t *given, thread_function *start, void *argument)
{
    return is_fixed() ? create(thread, given, start, argument) : EAGAIN;
}

/* The program may ask for a stack of some size: it gets that beside its thread-local data. Memory that the program
 * provides as a stack stays as large as it is. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *given, thread_function *start, void *argument)
{
    void *stack = NULL;
    size_t size = 0;
    bool asks = given && pthread_attr_getstack(given, &stack, &size) == 0 && size && (uintptr_t)stack + size == 0;
    if (!asks || !is_fixed())
        return __wrap___pthread_create(thread, given, start, argument);
    pthread_attr_t attributes = *given;
    pthread_attr_setstacksize(&attributes, size + self.size);
    return create(thread, &attributes, start, argument);
}
