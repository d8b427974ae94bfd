/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What calls say, compared with what has happened: in a session for another address space, with a library that was
 * removed, and with a JIT that was destroyed. A call that does nothing is no success. */

#include <sys/wait.h>
#include <unistd.h>

#include "assume.h"
#include "tenon.h"
#include "tenon_heap.h"

enum state { USUAL, ELSEWHERE, REMOVED, STATES };

static struct tn_error err;

struct world {
    struct tn_session *session;
    struct tn_library *library, *other;
    struct tn_tracker *tracker;
    struct tn_jit *jit;
    void *address;
    int count; /* what callbacks count */
};

/* ---- memory of another process ---- */

static int map(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes, struct tn_error *error)
{
    (void)context, (void)zone, (void)address, (void)error;
    *bytes = calloc(1, length);
    return *bytes ? 0 : TN_ENOMEM;
}

static int publish(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                   struct tn_error *error)
{
    (void)context, (void)zone, (void)address, (void)length, (void)bytes, (void)error;
    return 0;
}

static void unmap(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes)
{
    (void)context, (void)zone, (void)address, (void)length;
    free(bytes);
}

static const struct tn_memory memory = {.size = sizeof memory,
                                        .flags = TN_MEMORY_ELSEWHERE,
                                        .window_address = UINT64_C(1) << 40,
                                        .window_size = 1 << 24,
                                        .page_size = 4096,
                                        .map = map,
                                        .publish = publish,
                                        .unmap = unmap};

/* ---- what has happened ---- */

static uint64_t flags_of(struct tn_library *library, const char *name)
{
    struct tn_known known = {name, 0};
    return tn_lookup_flags(library, &known, 1, NULL) ? 0 : known.flags;
}

static bool is_ready(struct tn_library *library, const char *name)
{
    return flags_of(library, name) & TN_KNOWN_READY;
}

static int count_symbol(void *context, const struct tn_known *symbol)
{
    (void)symbol;
    ++*(int *)context;
    return 0;
}

static void *resolve_known(void *context, const char *name)
{
    return strcmp(name, "known") ? NULL : context;
}

static void *resolve_one(void *context, const char *name)
{
    return strcmp(name, "resolved") ? NULL : context;
}

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *error)
{
    (void)names, (void)count, (void)error;
    ++*(int *)context;
    return library ? 0 : TN_EINVAL;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *error)
{
    const struct tn_definition made = {"made", context, 0};
    return tn_responsibility_define(responsibility, &made, 1, NULL, 0, error);
}

static void removed(void *context, const struct tn_error *error)
{
    *(int *)context += !error;
}

static int note_linked(void *context, const struct tn_linked_object *const *objects, size_t count,
                       struct tn_error *error)
{
    (void)objects, (void)error;
    *(int *)context += (int)count;
    return 0;
}

static void run_idle(void *context, int is_cancelled)
{
    *(int *)context += !is_cancelled;
}

/* Links something, which observers see. */
static bool is_seen(struct world *w)
{
    struct tn_wanted wanted = {"here", 0, NULL};
    return !tn_lookup_all(w->other, &wanted, 1, NULL) && w->count;
}

/* ---- the calls ---- */

#define DATUM    "datum", &datum
#define FUNCTION ((const void *)no_function)

static int datum;
static const struct tn_stub_options stubs = {.size = sizeof stubs, .on_failure = (void (*)(void))no_function};
static const char *const begins = DATA "/begins.o", *const alone = DATA "/alone.o", *const archive = DATA "/answers.a";

/* The bytes of alone.o, which `free` gives back. */
static struct tn_input object(void)
{
    struct tn__os_file file;
    struct tn_input input = {.size = sizeof input, .name = "alone.o"};
    assert_int_equal(tn__os_map_file(alone, &file), 0); /* until the end of the test */
    input.bytes = file.bytes;
    input.length = file.size;
    return input;
}

static int add_object(struct world *w)
{
    const struct tn_input input = object();
    return tn_add_object(w->library, &input, &err);
}

static int add_archive(struct world *w)
{
    struct tn__os_file file;
    assert_int_equal(tn__os_map_file(archive, &file), 0);
    const struct tn_input input = {.size = sizeof input, .name = archive, .bytes = file.bytes, .length = file.size};
    return tn_add_archive(w->library, &input, &err);
}

static int add_lazy_object(struct world *w)
{
    const struct tn_input input = object();
    return tn_add_lazy_object(w->library, &input, &stubs, &err);
}

static int add_section(struct world *w)
{
    const struct tn_section_symbol symbol = {"first", 0};
    const struct tn_section section = {
        .size = sizeof section, .name = "section", .length = 8, .symbols = &symbol, .symbol_count = 1};
    return tn_add_section(w->library, &section, &err);
}

static int define_all(struct world *w)
{
    const struct tn_definition definition = {"first", &datum, TN_SYMBOL_CALLABLE};
    return tn_define_all(w->library, &definition, 1, w->tracker, &err);
}

static int define_thread_local(struct world *w)
{
    const struct tn_definition definition = {"first", (const void *)8, TN_SYMBOL_THREAD_LOCAL};
    return tn_define_all(w->library, &definition, 1, NULL, &err);
}

static int reexport(struct world *w)
{
    const struct tn_reexport symbol = {"first", "here", 0};
    return tn_reexport(w->library, &symbol, 1, w->other, NULL, &err);
}

static int define_lazy(struct world *w)
{
    const struct tn_lazy_symbol symbol = {.name = "first", .target = "here"};
    return tn_define_lazy(w->library, &symbol, 1, w->other, &stubs, &err);
}

static int promise(struct world *w)
{
    const struct tn_promised symbol = {"made", 0};
    const struct tn_materializer m = {
        .size = sizeof m, .name = "answers", .context = &datum, .symbols = &symbol, .count = 1, .materialize = make};
    return tn_add_materializer(w->library, &m, &err);
}

static int search(struct world *w)
{
    const struct tn_search order = {w->other, 0};
    return tn_library_search(w->library, &order, 1, &err);
}

static int look_up(struct world *w, int (*how)(struct world *w, struct tn_wanted *wanted))
{
    static struct tn_wanted wanted;
    wanted = (struct tn_wanted){"own", 0, NULL};
    int code = how(w, &wanted);
    w->address = wanted.address;
    return code;
}

static int all(struct world *w, struct tn_wanted *wanted)
{
    return tn_lookup_all(w->library, wanted, 1, &err);
}

static int until(struct world *w, struct tn_wanted *wanted)
{
    return tn_lookup_until(w->library, wanted, 1, UINT64_MAX, &err);
}

static void note_code(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *error)
{
    (void)symbols, (void)count;
    *(int *)context = error ? error->code : 1;
}

static int async(struct world *w, struct tn_wanted *wanted)
{
    int code = tn_lookup_async(w->library, wanted, 1, note_code, &w->count, &err);
    return code ? code : w->count < 0 ? w->count : 0;
}

static int start(struct world *w, struct tn_wanted *wanted)
{
    struct tn_lookup_handle *handle;
    int code = tn_lookup_start(w->library, wanted, 1, note_code, &w->count, &handle, &err);
    code = code ? code : w->count < 0 ? w->count : 0;
    return handle && tn_lookup_cancel(handle, NULL) ? TN_ECYCLE : code;
}

static int run_initializers(struct world *w)
{
    int code = tn_add_file(w->library, begins, &err);
    if (!code)
        code = tn_link(w->library, &err);
    if (code != TN_EREMOVED)
        assert_int_equal(code, 0);
    return tn_run_initializers(w->library, 0, NULL, NULL, &err);
}

static long begun(struct world *w)
{
    void *address;
    if (tn_lookup(w->library, "begins", &address, NULL) ||
        (uintptr_t)address - memory.window_address < memory.window_size)
        return 0;
    return call(address, 0);
}

static int add_module(struct world *w)
{
    const struct tn_jit_module module = toy_module("alone");
    return tn_jit_add_module(w->jit, w->library, &module, &err);
}

static int replace_module(struct world *w)
{
    const struct tn_jit_module module = toy_module("program");
    return tn_jit_replace(w->jit, w->library, &module, &err);
}

static int run_jit_initializers(struct world *w)
{
    const struct tn_jit_module module = toy_module("begins");
    int code = tn_jit_add_module(w->jit, w->library, &module, &err);
    if (code != TN_EREMOVED)
        assert_int_equal(code, 0);
    return tn_jit_run_initializers(w->jit, w->library, 0, NULL, NULL, &err);
}

static int observe(struct world *w)
{
    const struct tn_observer observer = {.size = sizeof observer, .context = &w->count, .linked = note_linked};
    return tn_add_observer(w->session, &observer, &err);
}

static int symbolize(struct world *w)
{
    struct tn_place place = {.size = sizeof place};
    tn_lookup(w->other, "begins", &w->address, NULL);
    int code = tn_symbolize(w->session, w->address, &place, &err);
    w->count += !code && place.function != NULL;
    return code;
}

static bool is_asked(struct world *w)
{
    tn_lookup(w->library, "unknown", &w->address, NULL);
    return w->count;
}

static int old_asked; /* of a generator that the library has */

static bool is_old_asked(struct world *w)
{
    tn_lookup(w->library, "unknown", &w->address, NULL);
    return old_asked;
}

static int look_up_in_jit(struct world *w)
{
    check(tn_define(tn_jit_library(w->jit), "datum", &datum, &err), &err);
    return tn_jit_lookup(w->jit, "datum", &w->address, &err);
}

static int count_function(void *context, const struct tn_jit_function *function)
{
    (void)function;
    ++*(int *)context;
    return 0;
}

static bool is_transferred(struct world *w)
{
    return !tn_tracker_remove(w->tracker, NULL) && flags_of(w->library, "tracked");
}

static bool is_symbolized(struct world *w)
{
    return !symbolize(w) && w->count;
}

/* gdb's interface (gdb/jit.h). */
extern struct {
    uint32_t version, action;
    void *relevant, *first;
} __jit_debug_descriptor;

static bool is_shown(struct world *w)
{
    return !tn_lookup(w->other, "begins", &w->address, NULL) && __jit_debug_descriptor.first;
}

/* A collector that sees the object refuses it. */
static bool is_observed(struct world *w)
{
    check(tn_add_file(w->other, DATA "/managed.o", &err), &err);
    return tn_lookup(w->other, "unmanaged", &w->address, NULL) != 0;
}

static bool has_perf_map(void)
{
    char path[40];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    return unlink(path) == 0;
}

static bool is_child;

static void leave(void *context)
{
    (void)context;
    if (is_child)
        _exit(3);
}

static bool is_left(void)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        is_child = true;
        exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

/* ---- libraries that are opened ---- */

/* "asks" asks for another library. */
static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *error)
{
    struct world *w = context;
    struct tn_library *found = NULL;
    (void)from;
    if (strcmp(path, "asks"))
        return 0;
    int code = tn_dl_library(*library, "another", &found, error);
    w->count = found && tn_library_find(w->session, "another") == found;
    return code;
}

static int offer(struct world *w)
{
    const struct tn_dl_options options = {.size = sizeof options, .load = load, .context = w};
    return tn_dl_offer(w->session, &options, &err);
}

static int ask_by_path(struct world *w)
{
    void *opens;
    int code = offer(w);
    if (!code)
        code = tn_add_file(w->library, DATA "/opens.o", &err);
    if (!code)
        code = tn_lookup(w->library, "opens", &opens, &err);
    return code ? code : ((void *(*)(const char *))opens)("asks") ? 0 : TN_EINVAL;
}

static int close_opened(struct world *w)
{
    int code = tn_library_open(w->library, 0, &err);
    return code ? code : tn_library_close(w->library, &err);
}

#define KNOWN    w->library, resolve_known, &datum
#define IN(name) flags_of(w->library, name)

/* The call; whether it has done what it is for; what it says in a session for another address space, and of a library
 * that was removed. */
#define CALLS(X)                                                                                                       \
    X(tn_add_object, add_object(w), IN("first"), 0, TN_EREMOVED)                                                       \
    X(tn_add_archive, add_archive(w), IN("first"), 0, TN_EREMOVED)                                                     \
    X(tn_add_file, tn_add_file(w->library, alone, &err), IN("first"), 0, TN_EREMOVED)                                  \
    X(tn_add_section, add_section(w), IN("first"), 0, TN_EREMOVED)                                                     \
    X(tn_add_lazy_object, add_lazy_object(w), IN("first"), TN_ENOTSUP, TN_EREMOVED)                                    \
    X(tn_define, tn_define(w->library, DATUM, &err), is_ready(w->library, "datum"), 0, TN_EREMOVED)                    \
    X(tn_define_alias, tn_define_alias(w->library, "alias", "own", &err), IN("alias"), 0, TN_EREMOVED)                 \
    X(tn_define_all, define_all(w), IN("first"), 0, TN_EREMOVED)                                                       \
    X(tn_define_all_thread_local, define_thread_local(w), IN("first") & TN_KNOWN_THREAD_LOCAL, 0, TN_EREMOVED)         \
    X(tn_reexport, reexport(w), IN("first"), 0, TN_EREMOVED)                                                           \
    X(tn_add_resolver, tn_add_resolver(w->library, resolve_one, &datum, &err), IN("resolved"), 0, TN_EREMOVED)         \
    X(tn_remove_resolver, tn_remove_resolver(KNOWN, &err), !IN("known"), 0, TN_EREMOVED)                               \
    X(tn_add_shared_library, tn_add_shared_library(w->library, "libc.so.6", &err), IN("fprintf"), 0, TN_EREMOVED)      \
    X(tn_define_lazy, define_lazy(w), IN("first"), TN_ENOTSUP, TN_EREMOVED)                                            \
    X(tn_define_redirectable, tn_define_redirectable(w->library, "first", FUNCTION, &stubs, &err), IN("first"),        \
      TN_ENOTSUP, TN_EREMOVED)                                                                                         \
    X(tn_redirect, tn_redirect(w->library, "stub", &datum, &err), false, TN_EUNDEF, TN_EREMOVED)                       \
    X(tn_library_search, search(w), IN("here"), 0, TN_EREMOVED)                                                        \
    X(tn_library_each_symbol, tn_library_each_symbol(w->library, count_symbol, &w->count, &err), w->count, 0,          \
      TN_EREMOVED)                                                                                                     \
    X(tn_library_clear, tn_library_clear(w->library, &err), !IN("own"), 0, TN_EREMOVED)                                \
    X(tn_library_remove, tn_library_remove(w->library, &err), !tn_library_find(w->session, "library"), 0, TN_EREMOVED) \
    X(tn_library_remove_start, tn_library_remove_start(w->library, removed, &w->count, &err),                          \
      !tn_library_find(w->session, "library"), 0, TN_EREMOVED)                                                         \
    X(tn_library_open, tn_library_open(w->library, 0, &err), tn_library_remove(w->library, NULL) == TN_EINVAL,         \
      TN_ENOTSUP, TN_EREMOVED)                                                                                         \
    X(tn_library_close, close_opened(w), !tn_library_find(w->session, "library"), TN_ENOTSUP, TN_EREMOVED)             \
    X(tn_dl_offer, offer(w), offer(w) == TN_EINVAL, TN_ENOTSUP, 0)                                                     \
    X(tn_dl_library, ask_by_path(w), w->count, TN_ENOTSUP, TN_EREMOVED)                                                \
    X(tn_link, tn_link(w->library, &err), is_ready(w->library, "object"), 0, TN_EREMOVED)                              \
    X(tn_link_roots, tn_link_roots(w->library, (const char *const[]){"object"}, 1, &err),                              \
      is_ready(w->library, "object"), 0, TN_EREMOVED)                                                                  \
    X(tn_lookup, tn_lookup(w->library, "object", &w->address, &err), w->address, 0, TN_EREMOVED)                       \
    X(tn_lookup_all, look_up(w, all), w->address, 0, TN_EREMOVED)                                                      \
    X(tn_lookup_until, look_up(w, until), w->address, 0, TN_EREMOVED)                                                  \
    X(tn_lookup_async, look_up(w, async), w->address, 0, TN_EREMOVED)                                                  \
    X(tn_lookup_start, look_up(w, start), w->address, 0, TN_EREMOVED)                                                  \
    X(tn_run_initializers, run_initializers(w), begun(w), TN_ENOTSUP, TN_EREMOVED)                                     \
    X(tn_add_materializer, promise(w), IN("made"), 0, TN_EREMOVED)                                                     \
    X(tn_add_generator, tn_add_generator(w->library, generate, &w->count, &err), is_asked(w), 0, TN_EREMOVED)          \
    X(tn_remove_generator, tn_remove_generator(w->library, generate, &old_asked, NULL, &err), !is_old_asked(w), 0,     \
      TN_EREMOVED)                                                                                                     \
    X(tn_tracker_create, tn_tracker_create(w->library, (struct tn_tracker **)&w->address, &err), w->address, 0,        \
      TN_EREMOVED)                                                                                                     \
    X(tn_tracker_transfer, tn_tracker_transfer(w->tracker, tn_library_tracker(w->library), &err), is_transferred(w),   \
      0, TN_EREMOVED)                                                                                                  \
    X(tn_tracker_remove, tn_tracker_remove(w->tracker, &err), !IN("tracked"), 0, TN_EREMOVED)                          \
    X(tn_tracker_retire, tn_tracker_retire(w->tracker, &err), !IN("tracked"), 0, TN_EREMOVED)                          \
    X(tn_tracker_retire_start, tn_tracker_retire_start(w->tracker, removed, &w->count, &err), !IN("tracked"), 0,       \
      TN_EREMOVED)                                                                                                     \
    X(tn_define_managed_runtime, tn_define_managed_runtime(w->library, &err), IN("tn__gc_block"), 0, TN_EREMOVED)      \
    X(tn_enable_managed_code, tn_enable_managed_code(w->library, &err), IN("tn__gc_block"), TN_ENOTSUP, TN_EREMOVED)   \
    X(tn_jit_add_module, add_module(w), IN("first"), 0, TN_EREMOVED)                                                   \
    X(tn_jit_replace, replace_module(w), IN("first"), TN_ENOTSUP, TN_EREMOVED)                                         \
    X(tn_jit_link, tn_jit_link(w->jit, w->library, NULL, 0, &err), is_ready(w->library, "object"), 0, TN_EREMOVED)     \
    X(tn_jit_run_initializers, run_jit_initializers(w), begun(w), TN_ENOTSUP, TN_EREMOVED)                             \
    X(tn_jit_at_exit, tn_jit_at_exit(w->jit, leave, NULL, &err), is_left(), 0, 0)                                      \
    X(tn_jit_lookup, look_up_in_jit(w), w->address, 0, 0)                                                              \
    X(tn_jit_each_function, tn_jit_each_function(w->jit, count_function, &w->count, &err), w->count, TN_EINVAL,        \
      TN_EINVAL)                                                                                                       \
    X(tn_jit_request_tier, tn_jit_request_tier(w->jit, "first", 1, &err), false, TN_EINVAL, TN_EINVAL)                 \
    X(tn_add_observer, observe(w), is_seen(w), 0, 0)                                                                   \
    X(tn_observe_functions, tn_observe_functions(w->session, &err), is_symbolized(w), TN_ENOTSUP, 0)                   \
    X(tn_symbolize, symbolize(w), w->count, TN_EUNDEF, TN_EUNDEF)                                                      \
    X(tn_observe_gdb, tn_observe_gdb(w->session, &err), is_shown(w), TN_ENOTSUP, 0)                                    \
    X(tn_observe_perf, tn_observe_perf(w->session, TN_PERF_MAP, "/tmp", &err), has_perf_map(), TN_ENOTSUP, 0)          \
    X(tn_observe_managed_code, tn_observe_managed_code(w->session, &err), is_observed(w), TN_ENOTSUP, 0)               \
    X(tn_session_seal, tn_session_seal(w->session, &err), true, 0, 0) /* there may be nothing to do */                 \
    X(tn_session_run_idle, tn_session_run_idle(w->session, run_idle, &w->count, &err), w->count, TN_ENOTSUP,           \
      TN_ENOTSUP)                                                                                                      \
    X(tn_library_create, tn_library_create(w->session, "new", (struct tn_library **)&w->address, &err),                \
      tn_library_find(w->session, "new"), 0, 0)                                                                        \
    X(tn_library_destroy, tn_library_destroy(w->library, &err), !tn_library_find(w->session, "library"), TN_EINVAL, 0)

#define CALL(name, call, effect, elsewhere, removed)                                                                   \
    static int call_##name(struct world *w)                                                                            \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return call;                                                                                                   \
    }                                                                                                                  \
    static bool effect_##name(struct world *w)                                                                         \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return effect;                                                                                                 \
    }
CALLS(CALL)

#define ROW(name, call, effect, elsewhere, removed)                                                                    \
    {#name, call_##name, effect_##name, {[ELSEWHERE] = elsewhere, [REMOVED] = removed}},
static const struct row {
    const char *name;
    int (*call)(struct world *w);
    bool (*effect)(struct world *w);
    int codes[STATES];
} rows[] = {CALLS(ROW)};

/* ---- the states ---- */

static struct tn_compiler compiler;

static void fill(struct world *w)
{
    static const struct tn_section_symbol symbols[] = {{"object", 0}, {"here", 0}};
    struct tn_section section = {
        .size = sizeof section, .name = "section", .length = 8, .symbols = &symbols[0], .symbol_count = 1};
    const struct tn_definition tracked = {"tracked", &datum, 0};
    check(tn_add_section(w->library, &section, &err), &err);
    section.symbols = &symbols[1];
    check(tn_add_section(w->other, &section, &err), &err);
    check(tn_add_file(w->other, begins, &err), &err);
    check(tn_define(w->library, "own", &datum, &err), &err);
    check(tn_add_generator(w->library, generate, &old_asked, &err), &err);
    old_asked = 0;
    check(tn_add_resolver(w->library, resolve_known, &datum, &err), &err);
    check(tn_tracker_create(w->library, &w->tracker, &err), &err);
    check(tn_define_all(w->library, &tracked, 1, w->tracker, &err), &err);
}

static struct world begin(enum state state)
{
    struct world w = {.count = 0};
    const struct tn_session_options options = {.size = sizeof options, .memory = state == ELSEWHERE ? &memory : NULL};
    struct tn_jit_options jit = toy_options(&compiler, false);
    check(tn_session_create(&options, &w.session, &err), &err);
    check(tn_library_create(w.session, "library", &w.library, &err), &err);
    check(tn_library_create(w.session, "other", &w.other, &err), &err);
    fill(&w);
    jit.session = w.session;
    jit.on_error = NULL;
    check(tn_jit_create(&jit, &w.jit, &err), &err);
    if (state == REMOVED)
        check(tn_library_remove(w.library, &err), &err);
    return w;
}

static void finish(struct world *w)
{
    tn_jit_destroy(w->jit);
    tn_session_destroy(w->session);
}

static void answers_are_true(void **state)
{
    (void)state;
    bool wrong = false;
    compiler = toy_compiler(&toy_calls);
    for (int in = 0; in < STATES; in++)
        for (const struct row *row = rows; row < rows + sizeof rows / sizeof rows[0]; row++) {
            struct world w = begin((enum state)in);
            int code = row->call(&w);
            bool happened = row->effect(&w), is_wanted = in == USUAL || code == row->codes[in];
            bool is_true = code == 0 ? happened : !happened || in == REMOVED; /* then nothing is there any more */
            if (!is_wanted || !is_true) {
                print_error("%s, state %d: %s, and it has %shappened\n", row->name, in, tn_error_name(code),
                            happened ? "" : "not ");
                wrong = true;
            }
            finish(&w);
        }
    assert_false(wrong);
}

/* ---- after errors, and after the JIT ---- */

/* Initializers of modules that could not be compiled are not forgotten. */
static bool is_broken;

static int compile_or_not(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                          struct tn_error *error)
{
    if (is_broken) {
        snprintf(error->text, sizeof error->text, "not now");
        return error->code = TN_ENOMEM;
    }
    return toy_compiler(&toy_calls).compile(module, request, object, error);
}

static void initializers_are_tried_again(void **state)
{
    (void)state;
    const struct tn_jit_module module = toy_module("begins");
    compiler = toy_compiler(&toy_calls);
    compiler.compile = compile_or_not;
    struct world w = begin(USUAL);
    struct tn_tracker *tracker;
    is_broken = true;
    check(tn_tracker_create(w.library, &tracker, &err), &err);
    struct tn_jit_module owned = module;
    owned.owner = tracker;
    check(tn_jit_add_module(w.jit, w.library, &owned, &err), &err);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tn_jit_run_initializers(w.jit, w.library, 0, NULL, NULL, &err), TN_ENOMEM);
    check(tn_tracker_remove(tracker, &err), &err); /* the symbol has failed */
    tn_tracker_destroy(tracker);
    is_broken = false;
    check(tn_jit_run_initializers(w.jit, w.library, 0, NULL, NULL, &err), &err);
    check(tn_jit_add_module(w.jit, w.library, &module, &err), &err);
    check(tn_jit_run_initializers(w.jit, w.library, 0, NULL, NULL, &err), &err);
    assert_int_equal(begun(&w), 42);
    finish(&w);
}

/* In a session that it was given, what it has added goes on, and assumptions can be broken. */
static void a_destroyed_jit_leaves_what_it_added(void **state)
{
    (void)state;
    compiler = toy_compiler(&toy_calls);
    for (int lazy = 0; lazy < 2; lazy++) {
        struct world w = {.count = 0};
        struct tn_jit_options options = toy_options(&compiler, lazy);
        struct tn_jit_module module = toy_module("program"), newer = toy_module("program 5");
        struct tn_assumption *assumption;
        check(tn_session_create(NULL, &w.session, &err), &err);
        options.session = w.session;
        options.on_error = NULL;
        check(tn_jit_create(&options, &w.jit, &err), &err);
        w.library = tn_jit_library(w.jit);
        check(lazy ? tn_jit_add_module(w.jit, NULL, &module, &err) : tn_jit_replace(w.jit, NULL, &module, &err), &err);
        check(tn_assumption_create(w.session, &assumption, &err), &err);
        newer.assumptions = &assumption;
        newer.assumption_count = 1;
        check(tn_jit_replace(w.jit, NULL, &newer, &err), &err);
        tn_jit_destroy(w.jit);
        check(tn_lookup(w.library, "first", &w.address, &err), &err);
        assert_int_equal(call(w.address, 1), 47);
        check(tn_assumption_break(assumption, &err), &err);
        assert_int_equal(call(w.address, 1), 42);
        tn_assumption_destroy(assumption);
        tn_session_destroy(w.session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_true),
                                       cmocka_unit_test(initializers_are_tried_again),
                                       cmocka_unit_test(a_destroyed_jit_leaves_what_it_added)};
    return system("ar rcs " DATA "/answers.a " DATA "/alone.o") || cmocka_run_group_tests(tests, NULL, NULL);
}
