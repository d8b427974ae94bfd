/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions: what everything else belongs to.
 *
 * A session owns code memory, libraries with all their contents, and optionally a pool of threads. A process may have
 * several sessions; they share nothing.
 *
 *     struct tn_session *session;
 *     struct tn_session_options options = {.size = sizeof options, .threads = 2};
 *     if (tn_session_create(&options, &session, &err))
 *         return err.code;
 *     ...
 *     tn_session_destroy(session); */

#ifndef TENON_API_SESSION_H
#define TENON_API_SESSION_H

#include "tenon/base.h"
#include "tenon/format.h"
#include "tenon/memory.h"
#include "tenon/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_session; /* opaque */
struct tn_input;   /* tenon/define.h */

enum {
    TN_SESSION_TIMINGS = 1, /* measure the phases of links, at about 0.2 us per phase */
    /* Every thread that will use thread-local variables of loaded objects is attached, or started after these were
     * linked. So accesses by TLS descriptors, and those of code that a JIT compiles, may be direct ones, which are
     * faster, and do not give a thread the initial values that it lacks (tenon/thread.h). */
    TN_SESSION_OWN_THREADS = 2,
};

/* A unit of work that any thread may run. */
struct tn_task;

enum tn_task_class {
    TN_TASK_DEMANDED = 0, /* some lookup needs it, or will when it goes on */
    TN_TASK_IDLE,         /* nothing needs it yet (tn_session_run_idle) */
};

/* Makes exactly `size` bytes of those at `packed`, by the method ELFCOMPRESS_ZLIB (1) or ELFCOMPRESS_ZSTD (2) (gABI,
 * "Section Compression"). Returns 0 if it cannot. Called by any thread, and possibly under locks of the session, which
 * it must not call. */
typedef int tn_decompress(uint32_t method, void *out, uint64_t size, const void *packed, uint64_t packed_size);

/* When initializers run: see tenon/lookup.h. */
enum tn_initializers {
    TN_INITIALIZERS_AUTOMATIC = 0, /* before a lookup or a first call hands out what it has linked */
    TN_INITIALIZERS_MANUAL,        /* only in tn_run_initializers */
};

struct tn_session_options {
    size_t size;          /* sizeof(struct tn_session_options) */
    size_t window_size;   /* bytes of address space for code and data; 0: 1 GiB, or less where the system allows less */
    uint64_t window_near; /* place the window within reach of this address; 0: near this program's text */
    enum tn_strategy strategy;
    /* Called for each undefined symbol of an object, with a place that needs it, before TN_EUNDEF is returned (whose
     * text may be truncated). Called under the session's lock: must not call the session. */
    void (*on_undefined)(void *context, const char *symbol, const char *needed_by);
    void *context;
    const struct tn_allocator *allocator; /* NULL: mimalloc */
    uint64_t flags;                       /* TN_SESSION_... */
    /* Called for failures that no lookup reports: of a materializer that was not asked for anything, or at the first
     * call of a lazy function. Called by any thread, without a lock. */
    void (*on_error)(void *context, const struct tn_error *error);
    /* Materializers needed at the same time may run in parallel: on this many threads of the session, or (idle tasks
     * run on as many others, of a lower priority) */
    size_t threads;
    /* on threads of the client. Called without a lock by the thread that needs the task; the client must have some
     * thread call tn_task_run exactly once for each task before the session is destroyed. Tasks may run late: threads
     * that wait run by themselves whatever has not been started. A client that also has idle tasks asks for
     * tn_task_class: they should come after all others, on threads that these do not wait for. */
    void (*dispatch)(void *context, struct tn_task *task);
    /* Code memory supplied by the client; copied. NULL: the session makes its own. If set, window_size, window_near and
     * strategy must be 0. With TN_MEMORY_ELSEWHERE, no initializer, finalizer or resolver of an indirect function runs
     * and no unwind table is registered; thread-local variables, stubs and the built-in observers fail with
     * TN_ENOTSUP. */
    const struct tn_memory *memory;
    /* Called, without a lock, when a removal has waited long for a thread to pass a quiescent point
     * (tn_quiesce_watched), or a lookup or a first call for a thread that runs initializers. */
    tn_on_delay *on_delay;
    /* The formats of objects that it reads, up to NULL, all of one architecture; copied. NULL: ELF of this machine.
     * Objects of another architecture than this machine's need TN_MEMORY_ELSEWHERE. An object of a format that is known
     * but not named here is TN_ENOTSUP, with a text that names the format. */
    const struct tn_format *const *formats;
    /* Called with each object before it is read, in the order in which objects are added: those of tn_add_object,
     * tn_add_file and responsibilities (compiled modules among them), and members of archives when they are loaded; not
     * for tn_add_section. It may inspect the bytes; replace them, by setting `bytes` and `length`, and if these are to
     * be given back also `release` and `context` (both NULL at first), which are called, when the bytes have been
     * copied, before adding goes on; or refuse the object by returning an error code, which whatever adds the object
     * returns, with the text. Other members may be read only. What `bytes` was remains borrowed as if it had not been
     * replaced. Called by the thread that adds or links, by several at once, and possibly under locks of the session,
     * which it must not call. A member of an archive may be shown again if its loading has to wait for another link. */
    int (*on_object)(void *context, struct tn_input *object, struct tn_error *err);
    /* Decompresses debug sections, for tn_observe_gdb and tn_observe_perf; programs with LLVM name
     * tn_codegen_decompress. NULL: objects whose debug sections are compressed are shown without lines. */
    tn_decompress *decompress;
    enum tn_initializers initializers;
};

/* Creates a session. `options` may be NULL (defaults) and need not outlive the call. TN_EINVAL (bad size, window,
 * strategy, flags or formats), TN_ENOTSUP (code of another architecture, to run here), TN_ENOMEM (also: no address
 * space), TN_EPERM (the system refuses every strategy; the text names the policy responsible). */
TN_API int tn_session_create(const struct tn_session_options *options, struct tn_session **out, struct tn_error *err);

/* Unmaps everything the session linked and releases every borrowed input. No thread may be running its code or
 * unwinding through it. Finalizers are not run: call tn_run_finalizers first if they matter. Destructors of
 * thread_local objects of loaded code do not run any more; the call waits for those that ending threads are running,
 * and for what loaded code has registered for forks and other threads are running.
 * NULL is ignored. */
TN_API void tn_session_destroy(struct tn_session *session);

/* Makes the second, writable mappings of TN_STRATEGY_DUAL inaccessible, until the next link makes one of them writable
 * again. Waits for links of other threads that are writing. With other strategies there is nothing to do. TN_ENOMEM,
 * TN_EPERM: the system refused; some may still be writable. */
TN_API int tn_session_seal(struct tn_session *session, struct tn_error *err);

/* From now on refuses links of objects whose code accesses thread-local variables with initial values in the local-exec
 * or the initial-exec model, as compilers do by default, while the process has a thread that is not attached: in such a
 * thread the variables would be 0. The link then fails with TN_ENOTSUP, and the text names the object and the thread;
 * so it does where the system does not list threads (/proc). Threads of the library count as attached; they are called
 * "tenon". For hosts that do not own their threads, such as modules of Python or Java; code compiled with -fPIC asks
 * for its variables, and is not refused. Any thread. */
TN_API void tn_session_check_threads(struct tn_session *session);

/* From now on signals wait while a first call of a lazy function looks up, compiles and links, so that their handlers
 * may do what they could if the function had been there: leave it by siglongjmp, fork, switch stacks. All signals but
 * those that an instruction causes (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT). Initializers run with
 * the mask of the caller; what else the client provides (materializers, resolvers, compilers, on_error, on_undefined,
 * dispatch) is called with signals blocked, and threads that it starts inherit that. Costs two system calls for each
 * first call. Before the session is used by several threads. */
TN_API void tn_session_defer_signals(struct tn_session *session);

struct tn_stats {
    size_t size;          /* in: sizeof(struct tn_stats) as the caller knows it */
    const char *strategy; /* "dual", "sealed", "mprotect" or "client"; static */
    uint64_t objects;     /* linked so far */
    uint64_t sections, symbols, relocations;
    uint64_t got_slots, stubs;
    uint64_t code_bytes, rodata_bytes, data_bytes; /* in use */
    uint64_t reserved_bytes;                       /* address space reserved for windows */
    uint64_t mappings;                             /* memory mappings currently held by the session */
    /* Time spent, summed over all links; 0 unless the session has TN_SESSION_TIMINGS. */
    uint64_t read_ns, resolve_ns, layout_ns, copy_ns, relocate_ns, publish_ns;
    /* Removed objects whose code stays until threads have run destructors of thread_local objects, and the bytes of
     * their code and data, which count above. */
    uint64_t lingering_objects, lingering_bytes;
    /* Memory that libgcc before version 13 may still read, in a thread that throws, and that stays until the session
     * ends: 64 bytes for each set of unwind tables that a link or removal changed and that a throw had seen. */
    uint64_t unwind_bytes;
};

/* Fills in *stats, whose `size` is set; does nothing if that size is impossible. */
TN_API void tn_session_stats(struct tn_session *session, struct tn_stats *stats);

/* Runs a task that `dispatch` was given; the task must not be used afterwards. NULL is ignored. */
TN_API void tn_task_run(struct tn_task *task);

/* The class of a task that `dispatch` was given and that is not yet run. */
TN_API enum tn_task_class tn_task_class(const struct tn_task *task);

/* Has `run` called once, by a thread of the session or of the client's, at a time when no demanded task waits for a
 * thread. Threads of the session run idle tasks in the order in which they were given, with the lowest priority that
 * the system has for ordinary threads; demanded tasks have threads of their own and never wait for an idle one. As
 * such a thread may be left without a core for long, `run` should hold no lock that other threads need for longer than
 * a moment, and leave it to them to take its results. It may call anything, this function included, except
 * tn_session_destroy.
 *
 * If the session is destroyed before a thread of its own has begun the task, the destroying thread calls `run` with
 * is_cancelled not 0, which then may only free what it has; one that is running is waited for. In the child of a fork,
 * a task that another thread was running is not run again.
 *
 * Any thread. After an error `run` is not called: TN_EINVAL, TN_ENOTSUP (the session has neither threads nor
 * `dispatch`), TN_ENOMEM (also: no thread). */
TN_API int tn_session_run_idle(struct tn_session *session, void (*run)(void *context, int is_cancelled), void *context,
                               struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
