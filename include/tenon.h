/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The runtime: joins relocatable objects into the running process.
 *
 * A session owns executable memory. A library is a symbol table in it: objects, archives and host symbols are added to a
 * library, and looking a symbol up links what it needs. Nothing here prints, exits, aborts or touches a page that is both
 * writable and executable.
 *
 * Threads: all functions may be called from any thread at any time. Bytes are copied and relocated without a lock, so threads
 * link different objects of one session side by side. Looked-up addresses may be called from any thread.
 *
 * Errors: every function that can fail returns 0 or a negative code of enum tn_code and, when `err` is not NULL, describes
 * the failure there; `err` is left alone on success.
 *
 * Structs with a member `size` first are set to their sizeof by the caller, and later versions only add members at the end.
 * So callers of another version work: what an older, smaller struct lacks is taken as zero, which asks for the default; a
 * newer, larger one is accepted if what this version does not know is zero, else TN_EINVAL, never ignored. In structs that
 * report, what this version does not know is set to zero and `size` to what was filled. */

#ifndef TENON_H
#define TENON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_VERSION_MAJOR  0
#define TN_VERSION_MINOR  1
#define TN_VERSION_PATCH  0
#define TN_VERSION_STRING "0.1.0"

/* Number of the contract between compiled code and this runtime; images carry it. */
#define TN_RUNTIME_ABI 1

#if defined(__GNUC__)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

/* ---- versions and errors ---- */

/* The one error list: name, code, text. */
#define TN_ERROR_LIST(X)                                                                                               \
    X(TN_EINVAL, -1, "invalid argument")                                                                               \
    X(TN_ENOMEM, -2, "out of memory")                                                                                  \
    X(TN_EPERM, -3, "executable memory refused")                                                                       \
    X(TN_EIO, -4, "input or output failed")                                                                            \
    X(TN_EFORMAT, -5, "malformed or foreign input")                                                                    \
    X(TN_ENOTSUP, -6, "valid input that is not supported")                                                             \
    X(TN_ERANGE, -7, "value out of a relocation's or field's range")                                                   \
    X(TN_EUNDEF, -8, "undefined symbol")                                                                               \
    X(TN_EDUP, -9, "duplicate definition")                                                                             \
    X(TN_ECOMPILE, -10, "the IR was rejected")                                                                         \
    X(TN_EFATAL, -11, "the code generator gave up")                                                                    \
    X(TN_ECYCLE, -12, "would wait for itself")                                                                         \
    X(TN_EREMOVED, -13, "removed meanwhile")

enum tn_code {
    TN_OK = 0,
#define TN_X(name, code, text) name = code,
    TN_ERROR_LIST(TN_X)
#undef TN_X
};

/* Owned by the caller; need not be initialised. `text` is NUL-terminated, one sentence or several lines, and cut with an
 * ellipsis where it does not fit. */
struct tn_error {
    int code; /* enum tn_code */
    char text[2044];
};

TN_API const char *tn_version(void);          /* "0.1.0", static */
TN_API const char *tn_error_name(int code);   /* "TN_EUNDEF"; "TN_?" for a number not in the list; static */
TN_API const char *tn_error_string(int code); /* the list's text; static */

/* ---- sessions ---- */

struct tn_session; /* opaque */
struct tn_library; /* opaque; lives until its session is destroyed */
struct tn_tracker; /* opaque; lives until it or its session is destroyed */

/* How executable memory is obtained; tn_stats.strategy tells which one was taken. */
enum tn_strategy {
    TN_STRATEGY_AUTO = 0,     /* the first of the following that the system permits */
    TN_STRATEGY_DUAL = 1,     /* a memfd mapped twice: writable here, executable there */
    TN_STRATEGY_SEALED = 2,   /* a memfd written, sealed against writing, then mapped executable */
    TN_STRATEGY_MPROTECT = 3, /* pages written, then made executable and never writable again */
};

/* Where a session's memory comes from, code and data of loaded objects apart. Sizes are in bytes; blocks are aligned for
 * any type; NULL means that memory is out. Called by every thread that calls the session, at the same time. The struct is
 * not copied: it outlives the session. */
struct tn_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void *(*reallocate)(void *context, void *block, size_t size); /* block may be NULL */
    void (*release)(void *context, void *block);
};

enum tn_zone { TN_ZONE_CODE = 0, TN_ZONE_RODATA, TN_ZONE_DATA, TN_ZONES };

enum {
    TN_MEMORY_ELSEWHERE = 1, /* of another process: nothing of what is linked runs, or is read, in this one */
    TN_MEMORY_PACKED = 2,    /* objects share pages: pieces are large, and published in parts */
};

/* Where a session's code and data lie, if that is up to the client: a window of address space in this process or in another
 * one, divided into zones by permission. Pieces of it are mapped, written, published and unmapped, by functions that must not
 * call the session. `map` and `publish` answer 0 or a code of enum tn_code, with which the link fails; `err`, never NULL,
 * may be filled. `map` and `unmap` are called under the session's lock; `publish` without it, by several threads at once. */
struct tn_memory {
    size_t size; /* sizeof(struct tn_memory) */
    void *context;
    uint64_t flags;          /* TN_MEMORY_... */
    uint64_t window_address; /* in the address space of what will run, */
    size_t window_size;      /* in bytes, up to 1 GiB */
    size_t page_size;        /* pieces begin at multiples of it and are as long; a power of two up to 4 MiB */
    /* Makes [address, address + length) exist, for this zone, and answers in *bytes where the linker reads and writes in this
     * process what will lie there: anywhere, even at `address`, and whatever it holds. */
    int (*map)(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes, struct tn_error *err);
    /* These bytes are final: lets them be seen at `address`, executable, read-only, or as data of which the program may now
     * change its copy. Called once for the whole piece; if TN_MEMORY_PACKED is set, for parts of it, whose bounds are
     * multiples of 16, and again when a part is used anew: what lies beside it is in use meanwhile. */
    int (*publish)(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                   struct tn_error *err);
    /* Takes a whole piece back, published or not: nobody uses it any more. */
    void (*unmap)(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes);
};

enum {
    TN_SESSION_TIMINGS = 1, /* measure the phases of links, which costs some 0.2 us each */
};

/* Work that may be done by any thread. */
struct tn_task;

struct tn_session_options {
    size_t size;          /* sizeof(struct tn_session_options) */
    size_t window_size;   /* bytes of address space for code and data; 0: 1 GiB, or less where the system allows less */
    uint64_t window_near; /* place the window within reach of this address; 0: near this program's text */
    enum tn_strategy strategy;
    /* Called once per undefined symbol and place that needs it, before TN_EUNDEF is returned (its text may be cut). */
    void (*on_undefined)(void *context, const char *symbol, const char *needed_by);
    void *context;
    const struct tn_allocator *allocator; /* NULL: mimalloc */
    uint64_t flags;                       /* TN_SESSION_... */
    /* Called for failures that nobody waits for: a materializer that failed unasked, the
     * first call of a lazy function. Any thread, no lock held. */
    void (*on_error)(void *context, const struct tn_error *error);
    /* Materializers that are needed at the same time may run side by side: on this many threads of the session's own, */
    size_t threads;
    /* or on the client's: called without a lock, by the thread that needs them, it has tn_task_run called for each task,
     * once, before the session is destroyed. A thread that waits runs what nobody has begun, so tasks may come late. */
    void (*dispatch)(void *context, struct tn_task *task);
    /* Where code and data lie; copied. NULL: in memory of the session's own. If it is set, window_size, window_near and
     * strategy are 0. With TN_MEMORY_ELSEWHERE no initializer, finalizer or resolver of an indirect function is run, no
     * unwind table registered; thread-local variables, stubs and the built-in observers are TN_ENOTSUP. */
    const struct tn_memory *memory;
};

/* Creates a session. `options` may be NULL (defaults) and is not kept.
 * TN_EINVAL (bad size, window or strategy), TN_ENOMEM (no address space), TN_EPERM (the system refuses every strategy;
 * the text names the policy). */
TN_API int tn_session_create(const struct tn_session_options *options, struct tn_session **out, struct tn_error *err);

/* Unmaps everything the session linked and releases every borrowed input. No thread may run or unwind through its code.
 * Finalizers are not run: call tn_run_finalizers first where they matter. NULL is ignored. */
TN_API void tn_session_destroy(struct tn_session *session);

struct tn_stats {
    size_t size;          /* in: sizeof(struct tn_stats) as the caller knows it */
    const char *strategy; /* "dual", "sealed", "mprotect" or "client"; static */
    uint64_t objects;     /* linked so far */
    uint64_t sections, symbols, relocations;
    uint64_t got_slots, stubs;
    uint64_t code_bytes, rodata_bytes, data_bytes; /* in use */
    uint64_t reserved_bytes;                       /* address space of the windows */
    uint64_t mappings;                             /* made by the session and still there */
    /* Time spent, summed over all links; 0 unless the session has TN_SESSION_TIMINGS. */
    uint64_t read_ns, resolve_ns, layout_ns, copy_ns, relocate_ns, publish_ns;
};

TN_API void tn_session_stats(struct tn_session *session, struct tn_stats *stats);

TN_API void tn_task_run(struct tn_task *task);

/* ---- libraries ---- */

/* Creates an empty library; `name` is copied and appears in errors. TN_ENOMEM. */
TN_API int tn_library_create(struct tn_session *session, const char *name, struct tn_library **out,
                             struct tn_error *err);

enum {
    TN_SEARCH_HIDDEN = 1, /* also what that library hides from others */
};

struct tn_search {
    struct tn_library *library;
    uint64_t flags; /* TN_SEARCH_... */
};

/* Says where references and lookups of `library` are looked for when it does not know the symbol itself: in these
 * libraries, in this order. Each is asked for what it defines, then its resolvers and generators; the order it has itself
 * does not count. The list is copied and takes the place of the one before; addresses found earlier stay.
 * TN_EINVAL (a library of another session), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_library_search(struct tn_library *library, const struct tn_search *others, size_t count,
                             struct tn_error *err);

/* Removes all that the library holds, as tn_tracker_remove does: objects, definitions, promises, archives. Trackers,
 * resolvers, generators and the search order stay. TN_ENOMEM (nothing was removed). */
TN_API int tn_library_clear(struct tn_library *library, struct tn_error *err);

/* Clears the library and ends it: others find nothing in it any more, and with it or its trackers nothing can be done but
 * destroying the trackers: TN_EREMOVED. The handles stay valid until the session is destroyed. */
TN_API int tn_library_remove(struct tn_library *library, struct tn_error *err);

/* ---- trackers ---- */

/* A tracker owns the objects, definitions and promises that name it as their owner; they are removed together.
 * TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_tracker_create(struct tn_library *library, struct tn_tracker **out, struct tn_error *err);

/* The tracker of what names none. It lives as long as the library. */
TN_API struct tn_tracker *tn_library_tracker(struct tn_library *library);

/* Makes everything that `from` owns belong to `to`, a tracker of the same library. TN_EINVAL. */
TN_API int tn_tracker_transfer(struct tn_tracker *from, struct tn_tracker *to, struct tn_error *err);

/* Removes the tracker's objects: runs the finalizers of those that were initialised, takes their definitions, unwind tables
 * and memory back. The tracker can be used again. No thread may run or unwind through the removed code (if some may:
 * tn_tracker_retire), and nothing may refer to it any more: objects that were linked against it keep the old addresses.
 * Objects that are not linked yet fall back on weak definitions, common ones and COMDAT groups of their own that had given
 * way to what is removed. Code that was published through code instances is withdrawn first; then, if there was any, this
 * waits as tn_quiesce does, so attached threads may be running it. TN_ENOMEM (nothing was removed, but instances may have
 * been withdrawn). */
TN_API int tn_tracker_remove(struct tn_tracker *tracker, struct tn_error *err);

/* Removes the tracker's objects while attached threads may be running them. When it has begun, nobody finds the code any
 * more: definitions and promises go, code instances that have code of the tracker go back to their generic entries, lazy
 * functions that lead to it are looked up again at their next call (redirectable ones fail, or, without on_failure, have to be
 * led elsewhere before). Then it waits as tn_quiesce does, by the same rules, and only then finalizers are run, and unwind
 * tables and memory taken back. What is added to the tracker meanwhile stays, but code that instances get for it meanwhile is
 * withdrawn. As with tn_tracker_remove, no object that stays may refer to the code. TN_EREMOVED, TN_ENOMEM (nothing was
 * removed). */
TN_API int tn_tracker_retire(struct tn_tracker *tracker, struct tn_error *err);

/* Ends the tracker; its objects belong to the library from now on. NULL is ignored. */
TN_API void tn_tracker_destroy(struct tn_tracker *tracker);

/* ---- what a library is made of ---- */

/* Bytes that the session borrows: they must stay readable and unchanged until `release` is called (objects: once linked;
 * archives: when the session ends). If adding fails, `release` is not called and nothing is kept. */
struct tn_input {
    size_t size;      /* sizeof(struct tn_input) */
    const char *name; /* for errors; copied */
    const void *bytes;
    size_t length;                                                    /* in bytes */
    void (*release)(void *context, const void *bytes, size_t length); /* may be NULL */
    void *context;
    struct tn_tracker *owner; /* objects: who owns it; NULL: the library */
    uint64_t flags;           /* TN_INPUT_... */
};

enum {
    TN_INPUT_HIDDEN = 1, /* what it defines is seen by its own library only */
    TN_INPUT_WEAK = 2,   /* what it defines gives way to other definitions, as if it were weak */
};

/* Enters the definitions of one relocatable object (ELF, 64-bit, little-endian). It is linked when something needs it.
 * TN_EFORMAT (the text names section or symbol), TN_ENOTSUP, TN_EDUP (the text names both objects), TN_ENOMEM. */
TN_API int tn_add_object(struct tn_library *library, const struct tn_input *input, struct tn_error *err);

/* Enters an archive (GNU, BSD or thin); a member becomes part of the library when a symbol it defines is needed.
 * Members of thin archives are read from files beside `name`. TN_EFORMAT, TN_ENOMEM. */
TN_API int tn_add_archive(struct tn_library *library, const struct tn_input *input, struct tn_error *err);

/* Maps the file and adds it as an object or an archive, whichever its first bytes say. TN_EIO besides the codes above. */
TN_API int tn_add_file(struct tn_library *library, const char *path, struct tn_error *err);

/* A section of the client's own, as if an object had brought it. */
enum tn_section_kind { TN_SECTION_READ_ONLY = 0, TN_SECTION_DATA = 1, TN_SECTION_CODE = 2 };

struct tn_section_symbol {
    const char *name; /* copied */
    size_t offset;    /* in the section */
};

struct tn_section {
    size_t size;      /* sizeof(struct tn_section) */
    const char *name; /* copied; appears in errors, and __start_NAME and __stop_NAME frame it */
    enum tn_section_kind kind;
    const void *bytes; /* copied; NULL: zeros */
    size_t length;     /* in bytes */
    size_t alignment;  /* a power of two; 0: 16 */
    const struct tn_section_symbol *symbols;
    size_t symbol_count;
    struct tn_tracker *owner; /* NULL: the library */
};

/* Adds it; it is linked like an object. TN_EINVAL, TN_EDUP, TN_ENOMEM. */
TN_API int tn_add_section(struct tn_library *library, const struct tn_section *section, struct tn_error *err);

/* Defines an absolute symbol. TN_EDUP, TN_ENOMEM. */
TN_API int tn_define(struct tn_library *library, const char *name, const void *address, struct tn_error *err);

/* Makes `name` another name of `of`, which the library may get to know later; whoever needs the one needs the other.
 * TN_EDUP, TN_EINVAL (an alias of itself, also through others), TN_ENOMEM. */
TN_API int tn_define_alias(struct tn_library *library, const char *name, const char *of, struct tn_error *err);

enum {
    TN_SYMBOL_WEAK = 1,   /* gives way to other definitions */
    TN_SYMBOL_HIDDEN = 2, /* seen by its own library only */
    /* Of a definition: a thread-local variable of the program's own, the same in every thread; instead of an address its distance
     * from the thread pointer (__builtin_thread_pointer). */
    TN_SYMBOL_THREAD_LOCAL = 4,
};

struct tn_definition {
    const char *name; /* copied */
    const void *address;
    uint64_t flags; /* TN_SYMBOL_... */
};

/* Defines absolute symbols that belong to `owner` (NULL: the library). All or none. TN_EDUP, TN_EINVAL, TN_ENOMEM. */
TN_API int tn_define_all(struct tn_library *library, const struct tn_definition *definitions, size_t count,
                         struct tn_tracker *owner, struct tn_error *err);

struct tn_reexport {
    const char *name;   /* copied */
    const char *target; /* its name in the other library; NULL: the same */
    uint64_t flags;     /* TN_SYMBOL_... */
};

/* Makes symbols of `source` symbols of `library` too, with the same addresses; it may get to know them later.
 * All or none. TN_EDUP, TN_EINVAL (an alias of itself), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_reexport(struct tn_library *library, const struct tn_reexport *symbols, size_t count,
                       struct tn_library *source, struct tn_tracker *owner, struct tn_error *err);

/* ---- definitions made on demand ---- */

/* A materializer promises symbols and makes them when one of them is needed. It may compile, read files, look symbols up,
 * and add to libraries: no lock is held while it runs. */

struct tn_responsibility; /* opaque: the symbols that a materializer still owes */

struct tn_promised {
    const char *name; /* copied */
    uint64_t flags;   /* TN_SYMBOL_... */
};

enum { TN_LATER = 1 };

struct tn_materializer {
    size_t size;      /* sizeof(struct tn_materializer) */
    const char *name; /* for errors; copied */
    void *context;
    const struct tn_promised *symbols; /* copied */
    size_t count;
    /* Called once, by any thread, when a symbol is needed. Stages what it makes with the functions below and answers 0:
     * then all that was promised must have been staged; or a code of enum tn_code, with `err`, which is never NULL, filled:
     * its symbols have failed, and so has whoever needs them; or TN_LATER: it keeps the responsibility and ends it by
     * tn_responsibility_ready or tn_responsibility_fail, from any thread, also before it returns. After that, the
     * responsibility must not be used any more. The child of a fork calls it again for what had not ended, if it is needed
     * there. */
    int (*materialize)(void *context, struct tn_responsibility *responsibility, struct tn_error *err);
    /* One of its weak symbols was overridden before it was needed. May be NULL. No lock is held. */
    void (*discard)(void *context, const char *symbol);
    /* It is not needed any more: it has ended or was removed. May be NULL. */
    void (*destroy)(void *context);
    struct tn_tracker *owner; /* of the promise and of what it is kept with; NULL: the library */
};

/* Promises its symbols. A weak one gives way to definitions that are there already (`discard` is called for it), and to
 * stronger ones until it is needed. TN_EDUP, TN_EINVAL, TN_EREMOVED, TN_ENOMEM; `destroy` is not called then. */
TN_API int tn_add_materializer(struct tn_library *library, const struct tn_materializer *materializer,
                               struct tn_error *err);

/* Of one responsibility, one thread at a time. What is staged is entered in its library all at once when the
 * responsibility is ready. */

TN_API struct tn_library *tn_responsibility_library(const struct tn_responsibility *responsibility);

/* True if somebody has asked for this symbol of it. */
TN_API int tn_responsibility_is_wanted(const struct tn_responsibility *responsibility, const char *symbol);

/* Stages an object. `input->owner` is not used. Errors as tn_add_object. */
TN_API int tn_responsibility_add_object(struct tn_responsibility *responsibility, const struct tn_input *input,
                                        struct tn_error *err);

/* Stages absolute symbols that may be used only once everything they depend on may be: `needs` names `need_count` symbols
 * that its library knows or finds. TN_EINVAL, TN_ENOMEM. */
TN_API int tn_responsibility_define(struct tn_responsibility *responsibility, const struct tn_definition *definitions,
                                    size_t count, const char *const *needs, size_t need_count, struct tn_error *err);

/* Gives some of its symbols to a responsibility of their own, which is ended by itself; or back, to be made when they are
 * needed: by `materializer`, whose symbols must all be owed. TN_EINVAL, TN_ENOMEM. */
TN_API int tn_responsibility_delegate(struct tn_responsibility *responsibility, const char *const *symbols,
                                      size_t count, struct tn_responsibility **out, struct tn_error *err);
TN_API int tn_responsibility_replace(struct tn_responsibility *responsibility,
                                     const struct tn_materializer *materializer, struct tn_error *err);

/* Ends it: enters what was staged. On an error, which may be any of tn_add_object, TN_EUNDEF (something promised is
 * missing) or TN_EREMOVED (its tracker was removed meanwhile), its symbols have failed. */
TN_API int tn_responsibility_ready(struct tn_responsibility *responsibility, struct tn_error *err);
/* Ends it: its symbols have failed, for this reason. */
TN_API void tn_responsibility_fail(struct tn_responsibility *responsibility, const struct tn_error *why);

/* Called with names that nothing in `library` defines, when they are needed: may add whatever defines them. No lock is
 * held. An error fails whoever needs the names. */
typedef int tn_generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                        struct tn_error *err);

/* Generators are asked in the order they were added, after the resolvers. TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_generator(struct tn_library *library, tn_generate *generate, void *context, struct tn_error *err);

/* ---- host symbols ---- */

/* Answers the address of `name`, or NULL. Called under the session's lock: it must not call back into the session, nor fork(),
 * which waits for that lock (posix_spawn, popen and system do not). */
typedef void *tn_resolver(void *context, const char *name);

/* Asked, in the order they were added, for what the library itself does not define. TN_ENOMEM. */
TN_API int tn_add_resolver(struct tn_library *library, tn_resolver *resolver, void *context, struct tn_error *err);

/* Resolvers to add; each is linked into the program only where it is named. */
TN_API void *tn_resolve_exports(void *unused, const char *name); /* what this program marked with TN_EXPORT */
TN_API void *tn_resolve_table(void *table, const char *name);    /* a struct tn_symbol_table, see below */
TN_API void *tn_resolve_symtab(void *unused, const char *name);  /* this program's .symtab (libelf), unless stripped */
TN_API void *tn_resolve_dlsym(void *handle,
                              const char *name); /* dlsym, in programs that have it; NULL: of all it has */
TN_API void *tn_resolve_allowed(void *allowed, const char *name); /* a struct tn_allowed, see below */

/* A resolver that answers only what a list allows. Lives as long as the library. */
struct tn_allowed {
    tn_resolver *resolver;    /* asked for what is allowed, */
    void *context;            /* with this */
    const char *const *names; /* sorted by strcmp */
    size_t count;
};

/* Makes the symbols of a shared library visible to `library`, after the resolvers that it has: dlopen and dlsym, in programs
 * that have them. It is closed when `library` is removed or its session ends.
 * TN_ENOTSUP (a static program), TN_EIO (the text is dlerror's), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_shared_library(struct tn_library *library, const char *path, struct tn_error *err);

struct tn_export {
    const char *name;
    const void *address;
};

/* Makes a function or object of this program visible to tn_resolve_exports, also in static and stripped programs. The
 * attribute `retain` keeps it through --gc-sections. In C++ it is for names without mangling (extern "C", objects at global
 * level), and its entries are not const: there clang would make constants of some and variables of others. */
#ifdef __cplusplus
#define TN_EXPORT(symbol)                                                                                              \
    __attribute__((used, retain, section("tn_exports"))) static struct tn_export tn_export_of_##symbol = {             \
        #symbol, reinterpret_cast<const void *>(&symbol)}
#else
#define TN_EXPORT(symbol)                                                                                              \
    __attribute__((used, retain, section("tn_exports"))) static const struct tn_export tn_export_of_##symbol = {       \
        #symbol, __extension__((const void *)&symbol)}
#endif

/* A table of symbols sorted by strcmp of the name, as tools can generate it. */
struct tn_symbol_table {
    const struct tn_export *entries;
    size_t count;
};

/* ---- threads ---- */

/* Attaches the calling thread, or does nothing if it is attached. Needed by threads that were started before an object with
 * thread-local variables is linked by another thread, and that will use these variables; and by threads that run code which
 * others remove, see tn_quiesce. A thread detaches before it ends. After a fork only the thread that forked is attached in
 * the child. */
TN_API void tn_thread_attach(void);
TN_API void tn_thread_detach(void);

/* Says that the calling thread is at a quiescent point: it holds no address of code or data that might be removed, neither
 * in a variable nor as a frame on its stack, and will look up anew what it needs. Costs two loads and a compare while
 * nobody waits. Does nothing in threads that are not attached and in blocking regions. Not for signal handlers. */
TN_API void tn_thread_quiescent(void);

/* Between these two the calling thread is one long quiescent point: for system calls, locks and whatever else may last. They
 * nest, and do nothing in threads that are not attached. Not for signal handlers. */
TN_API void tn_thread_begin_blocking(void);
TN_API void tn_thread_end_blocking(void);

/* Waits until every attached thread has passed a quiescent point since the call, is in a blocking region or has detached. So
 * what nobody could find any more before the call is used by nobody after it, and may be freed:
 *     unpublish it;  tn_quiesce();  free it.
 * The calling thread itself counts as quiescent. There is no time limit: an attached thread that neither passes a point nor
 * blocks keeps all waiting, so the caller must hold nothing that other threads wait for outside of a blocking region. */
TN_API void tn_quiesce(void);

/* The same for those who cannot wait: `begin` answers a ticket, `ended` whether tn_quiesce would have returned by now if it
 * had been called then. The thread that asks counts as quiescent. */
TN_API uint64_t tn_quiesce_begin(void);
TN_API int tn_quiesce_ended(uint64_t ticket);

/* Thread-local variables of loaded objects live in a reserve in the program's own TLS segment, of 4096 bytes a thread. A
 * program that wants another size says TN_TLS_RESERVE(bytes); once, at file level. */
#define TN_TLS_RESERVE_ALIGNMENT 64
#define TN_TLS_RESERVE(bytes)                                                                                          \
    __thread char tn_tls_reserve[bytes]                                                                                \
        __attribute__((aligned(TN_TLS_RESERVE_ALIGNMENT), tls_model("initial-exec"))) = "\x91tenon\xe5\x1f";           \
    const size_t tn_tls_reserve_size = sizeof tn_tls_reserve

extern TN_API __thread char tn_tls_reserve[] __attribute__((tls_model("initial-exec")));
extern TN_API const size_t tn_tls_reserve_size;

/* ---- linking ---- */

/* Links every object added so far (not the archive members that nobody needs). All objects it takes become callable
 * together or not at all; after an error the library is as it was before the call.
 * TN_EUNDEF (all undefined symbols, each with who needs it), TN_ERANGE, TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM, TN_EPERM. */
TN_API int tn_link(struct tn_library *library, struct tn_error *err);

/* The same, without the sections that are not needed: what the named symbols, the initializers and the finalizers do not lead
 * to is left away and undefined from then on, as by a static linker's --gc-sections. TN_EUNDEF also for a root that nobody
 * defines. */
TN_API int tn_link_roots(struct tn_library *library, const char *const *roots, size_t count, struct tn_error *err);

/* Answers the address of a global symbol, first linking the object that defines it and all it needs; materializers that
 * this leads to are run, and waited for. No address is handed out before everything it depends on is in place. Errors as
 * tn_link; TN_ECYCLE (a materializer waits for itself, also through others); what a materializer failed with. */
TN_API int tn_lookup(struct tn_library *library, const char *name, void **address, struct tn_error *err);

enum {
    TN_WANTED_WEAK = 1,   /* may be missing; its address is NULL then */
    TN_WANTED_HIDDEN = 2, /* may be one that its library hides from others */
};

struct tn_wanted {
    const char *name;
    uint64_t flags; /* TN_WANTED_... */
    void *address;  /* out */
};

/* The same for a set of symbols: all, or none and an error that names those that are missing. */
TN_API int tn_lookup_all(struct tn_library *library, struct tn_wanted *symbols, size_t count, struct tn_error *err);

/* Called once, without a lock; `err` NULL: the addresses are there. */
typedef void tn_lookup_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err);

/* The same without waiting for materializers: `done` is called by this thread before it returns, or later by the one that
 * ends the last of them; a thread that is inside of a materializer goes on with other lookups than its own only when that has
 * returned, or when it has to wait. `symbols` stays with the lookup until then. TN_EINVAL, TN_ENOMEM: `done` is not called. */
TN_API int tn_lookup_async(struct tn_library *library, struct tn_wanted *symbols, size_t count, tn_lookup_done *done,
                           void *context, struct tn_error *err);

/* A lookup for a materializer that runs on other threads than its own, so that cycles are found; `done` NULL: blocking. */
TN_API int tn_responsibility_lookup(struct tn_responsibility *responsibility, struct tn_library *library,
                                    struct tn_wanted *symbols, size_t count, tn_lookup_done *done, void *context,
                                    struct tn_error *err);

/* Runs the initializers of what was linked since the last call, in the order a static program would run them: by
 * priority, then by link order. They receive the three arguments, as glibc passes them. The lock is not held meanwhile.
 * TN_ENOMEM: none was run. */
TN_API int tn_run_initializers(struct tn_library *library, int argc, char **argv, char **envp, struct tn_error *err);

/* Runs the finalizers of what was initialised, in the opposite order; each runs once. */
TN_API void tn_run_finalizers(struct tn_library *library);

/* ---- lazy and redirectable functions ---- */

/* A lazy function is linked when it is first called. Its name stands for a stub, whose address is the function's for whoever
 * asks: it stays the same and differs from that of the body. The first call looks the target up, with all it needs, while
 * the arguments are kept; any number of threads may make it at once. Later calls cost one indirect jump.
 * If the target cannot be had, the session's error reporter is told why, and the call goes to `on_failure`, with its
 * arguments and as if that had been called instead: it may return in the function's place, or throw through the caller.
 * The next call tries again. */
struct tn_lazy_symbol {
    const char *name;   /* copied */
    const char *target; /* copied; NULL: the same name, in the other library */
    uint64_t flags;     /* TN_SYMBOL_... */
    /* Which arguments are references to managed objects; a collector then finds, and may change, them while the function is
     * looked up. Bit i of the first stands for the register of the i-th integer argument (x86-64: rdi rsi rdx rcx r8 r9), bit
     * 6 for the static chain (r10); bit i of the second for the i-th word of the arguments in memory. */
    uint32_t managed_registers, managed_stack;
};

struct tn_stub_options {
    size_t size;              /* sizeof(struct tn_stub_options) */
    struct tn_tracker *owner; /* of the library that gets the names; NULL: the library */
    void (*on_failure)(void); /* called with the arguments of the call that fails; what it does is up to the client */
};

/* Defines `count` lazy functions in `library`, that lead to what `targets` has; both are libraries of one session and may
 * be the same. All are defined or none. They are removed with their owner: no thread may call them any more, or be
 * in a first call; the stubs will serve other functions.
 * TN_EINVAL (also: on_failure is missing, a function would lead to itself), TN_EDUP, TN_EREMOVED, TN_ENOTSUP, TN_ENOMEM,
 * TN_EPERM. */
TN_API int tn_define_lazy(struct tn_library *library, const struct tn_lazy_symbol *symbols, size_t count,
                          struct tn_library *targets, const struct tn_stub_options *options, struct tn_error *err);

/* Defines a function that leads to `address` until tn_redirect. With NULL it leads nowhere yet, and calls of it fail as
 * those of a lazy function do; on_failure may be missing if that never happens. Errors as tn_define_lazy. */
TN_API int tn_define_redirectable(struct tn_library *library, const char *name, const void *address,
                                  const struct tn_stub_options *options, struct tn_error *err);

/* Lets a redirectable or lazy function lead to `address` from now on, or, with NULL, to where it led at first: a
 * lazy one is looked up again. Threads may call it meanwhile; they come to the old function or to the new one.
 * TN_EUNDEF (no such name), TN_EREMOVED, TN_EINVAL (it has no stub, it would lead to itself, on_failure is missing). */
TN_API int tn_redirect(struct tn_library *library, const char *name, const void *address, struct tn_error *err);

/* ---- code instances ---- */

/* A code instance is one version of one function, in whatever state: not compiled, waited for, interpreted, compiled. It is
 * how compiled code gets to its callers while other threads compile, replace and remove it. It lies in an object of the
 * client's, which keeps it until no thread uses it; its layout is part of the runtime ABI, so generated code may read it.
 *
 *     invoke    specsigflags  specptr
 *     NULL      00            NULL     not compiled
 *     entry     00            NULL     call the entry: generic code, one that waits, or compiled code that reads neither of these
 *     entry     10            P        compiled; the entry may call P, whose signature is not special
 *     entry     11            P        compiled; P has a signature of its own, which callers may know
 *
 * `invoke` has a signature that all instances share, and is called with the instance among its arguments. Once the ready bit
 * is set, invoke and the low bit stay as they are until the code is withdrawn; specptr changes to equivalent code only. All
 * that was ever there may be called until the calling thread passes a quiescent point (tn_quiesce).
 *
 * Reading, as tn_instance_read does and generated code may do:
 *     1  I = load invoke, acquire          2  I is NULL, or the wait entry and not wanted: (NULL, 00, NULL)
 *     3  P = load specptr, acquire         4  P is NULL: (I, 00, NULL)
 *     5  F = load specsigflags, acquire;   6  not ready: start over; withdrawn: (I, 00, NULL)
 *     7  I = load invoke, acquire
 *     8  F = load specsigflags, acquire    9  withdrawn: (I, 00, NULL)
 *    10  load specptr; not P: start over; else (I, F, P)
 * An entry that was reached through `invoke` may simply load specptr: it finds code of its own kind, not NULL. */

enum {
    TN_INSTANCE_SPECSIG = 1,   /* specptr has a signature of its own */
    TN_INSTANCE_READY = 2,     /* all words are what was published */
    TN_INSTANCE_WITHDRAWN = 4, /* the code is being removed: to readers there is none */
};

/* Entries that instances of one kind share. Both have the signature of `invoke`. */
struct tn_instance_entries {
    void *generic; /* an interpreter, or what else runs uncompiled functions; NULL: the client looks for NULL */
    void *wait;    /* helps to compile the instance, or waits for it, and calls it then; NULL: there is none */
};

struct tn_instance;

struct tn_instance_link { /* in the list of a tracker */
    struct tn_instance *next, **previous;
    struct tn_tracker *owner;
};

struct tn_instance {
    void *invoke;
    void *specptr;
    uint32_t specsigflags; /* TN_INSTANCE_... */
    uint32_t reserved;     /* 0 */
    const struct tn_instance_entries *entries;
    struct tn_instance_link links[2]; /* whose code was published, and whose it was updated to */
};

/* Code of an instance, as it is read and published. */
struct tn_instance_code {
    void *invoke;
    void *specptr;
    uint32_t specsigflags; /* TN_INSTANCE_SPECSIG and TN_INSTANCE_READY; publishing sets the latter itself */
};

/* Makes it one that is not compiled; `entries` outlive it. So is a zeroed struct with `entries` set. */
TN_API void tn_instance_init(struct tn_instance *instance, const struct tn_instance_entries *entries);

/* Takes it out of the lists of trackers; then its memory may be used for something else. Its code stays where it is. */
TN_API void tn_instance_finish(struct tn_instance *instance);

/* Answers one of the states above. With `waitcompile` 0 a function that is waited for counts as not compiled. */
TN_API struct tn_instance_code tn_instance_read(const struct tn_instance *instance, int waitcompile);

/* Not compiled -> waited for: who calls it comes to the wait entry. Does nothing in other states. */
TN_API void tn_instance_promise(struct tn_instance *instance);

/* Not compiled, or waited for -> generic: nobody compiles it, or that failed. Does nothing in other states. Code may still be
 * published later. */
TN_API void tn_instance_fall_back(struct tn_instance *instance);

/* Publishes compiled code, with or without specptr; `owner` is the tracker that it is removed with (NULL: it stays forever).
 * TN_EDUP: other code was first, or its removal has not ended. Yours is discarded; read what is there.
 * TN_EINVAL (invoke is NULL or stands in for code, unknown flags, flags without specptr). */
TN_API int tn_instance_publish(struct tn_instance *instance, const struct tn_instance_code *code,
                               struct tn_tracker *owner, struct tn_error *err);

/* Replaces specptr, which the caller has read since its last quiescent point, by equivalent code: of the same signature and
 * callable by the same entry. `owner` is whose the new code is; the instance goes back to its generic entry when
 * either that tracker or the one that it was published for is removed.
 * TN_EDUP: specptr is not `from` any more, and was left alone. TN_EINVAL (NULL). */
TN_API int tn_instance_update(struct tn_instance *instance, void *from, void *to, struct tn_tracker *owner,
                              struct tn_error *err);

/* Removes the code of instances: points them at their generic entries, waits as tn_quiesce does, and lets other code be
 * published. Then nobody runs the old code, and it may be freed. tn_tracker_remove does this for all code of a tracker. Only
 * one thread at a time may do it with an instance. */
TN_API void tn_instances_withdraw(struct tn_instance *const *instances, size_t count);

/* The right to compile an instance, in memory of the thread that compiles; its members are not the caller's business. */
struct tn_lease {
    struct tn_instance *instance;
    struct tn_lease *next;
};

enum tn_reservation {
    TN_RESERVED = 0,      /* compile it, publish it or let it fall back, and release the lease */
    TN_ALREADY_COMPILED,  /* read it; after waiting also: somebody else's attempt has failed */
    TN_RESERVATION_CYCLE, /* who compiles it waits for this thread: compile a private copy, or call the generic entry */
};

/* Sees to it that only one thread compiles an instance: others wait until it releases its lease. A thread may hold several
 * leases. Before it waits, it follows who compiles the instance, what that one waits for, who compiles that, and so on; if
 * this leads back to it, it is told so instead, so that threads never wait in a circle. Waiting is no quiescent point, see
 * tn_thread_begin_blocking. A child of fork has the leases of the thread that forked; the others are free. */
TN_API enum tn_reservation tn_instance_reserve(struct tn_instance *instance, struct tn_lease *lease);

/* Ends a reservation, by the thread that made it. Does nothing if the lease was not granted. */
TN_API void tn_instance_release(struct tn_lease *lease);

/* ---- observers ---- */

/* What is linked can be watched: by the client, and by what is built in (a table of functions, debuggers, profilers). All
 * of it is off until asked for, costs a link one test of a pointer then, and is part of a program only where it is named. */

struct tn_range {
    uint64_t address, size; /* size 0: there is none */
};

struct tn_function {
    const char *name; /* as in the object: C++ names are mangled */
    uint64_t address, size;
};

#define TN_SECTION_DISCARDED UINT64_MAX

/* An object that was linked. All pointers are valid during the call only, but for `library` and `name`, which last until
 * the object is removed. */
struct tn_linked_object {
    size_t size; /* of this struct */
    uint64_t id; /* no two objects that exist have the same; not 0 */
    const char *library, *name;
    struct tn_range zones[TN_ZONES]; /* code with its stubs, read-only data with the GOT, writable data */
    /* What follows is known only when the object is linked. */
    const void *bytes; /* the object as it was added; NULL for a section of the client's */
    size_t length;
    const struct tn_function *functions; /* what is code and has a name, by address; one for each; NAME@stub: to NAME */
    size_t function_count;
    const uint64_t *section_addresses; /* by section number: 0 if it is not loaded, TN_SECTION_DISCARDED if another */
    size_t section_count;              /* object's copy of it was taken; thread-local ones: see symbol_addresses */
    const uint64_t *symbol_addresses; /* by symbol number; of a thread-local one the distance from the thread pointer */
    size_t symbol_count;
};

/* Called under the session's lock or by the thread that destroys it, so they must not call the session (tn_symbolize may
 * be called). Any function may be NULL. */
struct tn_observer {
    size_t size; /* sizeof(struct tn_observer) */
    void *context;
    /* These objects are in place and nobody can have called them yet. 0, or a code of enum tn_code, with which the link
     * fails then; `err`, never NULL, may be filled. One call per link. */
    int (*linked)(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err);
    /* They are about to be removed. Called also if the link failed after `linked` had accepted them. */
    void (*removed)(void *context, const struct tn_linked_object *const *objects, size_t count);
    /* The session ends; everything was removed. */
    void (*closed)(void *context);
};

/* Tells the observer, which is copied, of every object linked from now on. TN_EINVAL, TN_ENOMEM. */
TN_API int tn_add_observer(struct tn_session *session, const struct tn_observer *observer, struct tn_error *err);

/* Keeps the names and addresses of the functions of what is linked from now on, for tn_symbolize: 12 bytes a function
 * and the names. TN_ENOMEM; links may fail with it too. */
TN_API int tn_observe_functions(struct tn_session *session, struct tn_error *err);

/* Pointers are valid until the object is removed. */
struct tn_place {
    size_t size; /* in: sizeof(struct tn_place) as the caller knows it */
    const char *library, *object;
    const char *function;      /* NAME@stub: of a stub; NULL: code without a name, and the members below are 0 */
    uint64_t function_address; /* where it begins */
    uint64_t offset;           /* from there */
    uint64_t function_size;
};

/* Tells which function of which loaded object lies at `address`, in logarithmic time; session NULL: in any session. Knows
 * what tn_observe_functions kept. Not for signal handlers. TN_EUNDEF: nothing known lies there. */
TN_API int tn_symbolize(const struct tn_session *session, const void *address, struct tn_place *place,
                        struct tn_error *err);

/* Shows what is linked from now on to GDB and LLDB through GDB's interface for JIT compilers (GDB manual, "JIT Compilation
 * Interface"): one entry per link, with symbols, unwind information and, of objects compiled with -g, source lines.
 * Debuggers find the interface by the names of __jit_debug_register_code and __jit_debug_descriptor in the program's
 * symbol table: strip it with --keep-symbol for both, or export both (-Wl,--export-dynamic-symbol).
 * Breakpoints cannot be written to memory of TN_STRATEGY_DUAL, so the session goes over to another strategy; where the
 * system permits none, only hardware breakpoints work. TN_EINVAL (it is too late for that: something is linked already),
 * TN_ENOMEM. Links may fail with TN_ENOMEM too. */
TN_API int tn_observe_gdb(struct tn_session *session, struct tn_error *err);

enum tn_perf {
    TN_PERF_MAP = 0, /* perf-PID.map: names; perf looks for it in /tmp */
    TN_PERF_JITDUMP, /* jit-PID.dump: names, code, lines; for `perf record -k mono` and `perf inject --jit` */
};

/* Writes what is linked from now on to a file for perf in `folder` (NULL: /tmp); after a fork, the child writes one of its
 * own. perf applies the map to anonymous memory only, so the session then leaves TN_STRATEGY_DUAL as for tn_observe_gdb.
 * TN_EINVAL (map: something is linked already), TN_EIO, TN_EPERM (also where the folder forbids executable mappings, for
 * jitdump), TN_ENOMEM; links may fail with the last three too. */
TN_API int tn_observe_perf(struct tn_session *session, enum tn_perf kind, const char *folder, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
