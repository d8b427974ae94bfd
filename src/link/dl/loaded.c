/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* dlopen, dlsym, dlclose and dlerror as seen by loaded code (POSIX.1-2017; the Linux manual pages for what is glibc's).
 * A handle is the address of a library. Which library calls is known by where the call returns to. */

#include <dlfcn.h>

#include "base/base.h"
#include "base/os.h"
#include "base/thread.h"
#include "link/dl/dl.h"
#include "link/tls/tls.h"

/* ---- dlerror ---- */

struct message {
    bool is_new;
    struct tn_error error; /* the last one that was not asked for, */
    struct tn_error told;  /* and the one that was */
};

static __thread struct message *message;

static void free_message(void *of_thread)
{
    tn__free(NULL, of_thread);
    message = NULL;
}

static struct tn_error *new_error(void)
{
    static uint64_t key;
    if (!message) {
        message = tn__alloc_zeroed(NULL, 1, sizeof *message);
        if (message && tn__os_at_thread_end(&key, free_message, message))
            free_message(message);
    }
    return message ? &message->error : NULL;
}

/* A call forgets the error of the one before. */
static void forget_error(void)
{
    if (message)
        message->is_new = false;
}

/* Makes an error that tn__fail, or a call that was given new_error(), has described the one that dlerror tells. */
static void *failed(void)
{
    if (message)
        message->is_new = true;
    return NULL;
}

static void *fail(int code, const char *format, const char *what)
{
    tn__fail(new_error(), code, format, what);
    return failed();
}

static char *loaded_dlerror(void)
{
    if (!message || !message->is_new)
        return NULL;
    message->is_new = false;
    message->told = message->error;
    return message->told.text;
}

/* ---- which library ---- */

static int note_library(void *context, struct tn__object *object, struct tn_tracker *const *owner)
{
    (void)object;
    *(struct tn_library **)context = (*owner)->library;
    tn__library_use((*owner)->library);
    return 0;
}

/* Whose code calls, held; NULL: that of no library. */
static struct tn_library *library_of(const void *caller)
{
    struct tn_library *library = NULL;
    tn__keep_with_owner(&caller, 1, note_library, &library);
    return library;
}

/* An open library of this session, held; NULL: it is none. Without a session, of any that offers dlopen. */
static struct tn_library *find_handle(const void *handle, const struct tn_session *of)
{
    struct tn_library *found = NULL;
    tn__sessions_lock();
    for (struct tn_session *session = NULL; !found && (session = tn__sessions_next(session));) {
        if (of && session != of)
            continue;
        tn__session_lock(session);
        for (struct tn_library *library = session->libraries; library && !found; library = library->next)
            if (library == handle && library->opened.count && !library->removed)
                tn__library_use(found = library);
        tn__session_pause(session);
    }
    tn__sessions_unlock();
    return found;
}

static void drop(struct tn_library *library)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    tn__library_release(library);
    tn__session_unlock(session);
}

/* Handles are those of the caller's session, if that is known. */
static struct tn_library *library_of_handle(const void *handle, const void *caller)
{
    struct tn_library *from = library_of(caller), *found = find_handle(handle, from ? from->session : NULL);
    if (from)
        drop(from);
    return found;
}

/* ---- the usual case ---- */

/* Nearly always a path is asked for that is open, and a symbol that is linked: that takes one look at the session whose
 * code calls. `look` answers NULL if more has to be done. */
struct quick {
    void *(*look)(struct tn_session *session, const struct quick *asked); /* under the lock */
    const char *name;                                                     /* of a file, or of a symbol */
    const void *handle;
    uint64_t flags;
};

static void *ask_quickly(const struct quick *asked, const void *caller)
{
    void *answer = NULL;
    bool found = false;
    tn__sessions_lock();
    for (struct tn_session *session = NULL; !found && (session = tn__sessions_next(session));) {
        struct tn__object *object = NULL;
        if (!session->dl || tn__session_is_elsewhere(session))
            continue;
        tn__session_lock(session);
        found = tn__session_find_object(session, (uintptr_t)caller, &object) && object;
        if (found)
            answer = asked->look(session, asked);
        tn__session_pause(session);
    }
    tn__sessions_unlock();
    return answer;
}

static void *look_for_path(struct tn_session *session, const struct quick *asked) TN__LOCKED
{
    return tn__dl_open_path_again(session, asked->name, asked->flags);
}

static void *look_for_symbol(struct tn_session *session, const struct quick *asked) TN__LOCKED
{
    const struct tn_library *library = session->libraries;
    while (library && library != asked->handle)
        library = library->next;
    if (!library || !library->opened.count || library->removed || session->initializers.unfinished)
        return NULL;
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, asked->name);
    bool is_linked = entry && entry->kind == TN__ENTRY_LINKED && !entry->hidden && !entry->thread_local;
    return is_linked ? (void *)(uintptr_t)entry->address : NULL;
}

/* ---- dlopen ---- */

static uint64_t flags_of(int mode)
{
    return (mode & RTLD_NODELETE ? TN_DL_KEEP : 0) | (mode & RTLD_GLOBAL ? TN_DL_GLOBAL : 0);
}

static struct tn_library *open_path(struct tn_library *from, const char *path, int mode, struct tn_error *err)
{
    struct tn_library *library = tn__dl_claim_path(from, path, !(mode & RTLD_NOLOAD), err);
    return library && !tn__library_bring_up(library, flags_of(mode), err) ? library : NULL;
}

static const struct tn_dl_options *offered_by(const struct tn_session *session)
{
    return &tn__container_of(session->dl, struct tn__dl, hooks)->offered;
}

static struct tn_library *open_program(struct tn_library *from, struct tn_error *err)
{
    struct tn_library *program = offered_by(from->session)->program;
    if (!program)
        tn__fail(err, TN_EUNDEF, "there is no library of the program");
    return program && !tn_library_open(program, 0, err) ? program : NULL;
}

static void *loaded_dlopen(const char *path, int mode)
{
    forget_error();
    const int known = RTLD_LAZY | RTLD_NOW | RTLD_GLOBAL | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE;
    if (mode & ~known || !(mode & (RTLD_LAZY | RTLD_NOW)))
        return fail(TN_EINVAL, "%s: dlopen needs RTLD_LAZY or RTLD_NOW, and knows no RTLD_DEEPBIND",
                    path ? path : "the program");
    const struct quick asked = {.look = look_for_path, .name = path, .flags = flags_of(mode)};
    void *open = path ? ask_quickly(&asked, TN__CALLER) : NULL;
    if (open)
        return open;
    struct tn_library *from = library_of(TN__CALLER);
    if (!from)
        return fail(TN_EINVAL, "%s: dlopen was not called by loaded code", path ? path : "the program");
    struct tn_library *library = path ? open_path(from, path, mode, new_error()) : open_program(from, new_error());
    drop(from);
    return library ? library : failed();
}

/* ---- dlsym ---- */

/* The libraries that are asked, in this order, each held. */
struct scope {
    struct tn_library **libraries;
    size_t count;
};

/* Under the lock: linked by `order.next`. */
static struct tn_library *list_scope(struct tn_library *library, const void *handle) TN__LOCKED
{
    struct tn_session *session = library->session;
    struct tn_library *program = offered_by(session)->program, *first = NULL;
    uint64_t number = ++session->visits;
    if (handle == RTLD_DEFAULT && program)
        tn__dl_append_scope(program, number, &first);
    for (uint64_t last = 0; handle == RTLD_DEFAULT && last != UINT64_MAX;) {
        struct tn_library *next = tn__dl_next_global(session, last);
        last = next ? next->opened.global : UINT64_MAX;
        if (next)
            tn__dl_append_library(next, number, &first);
    }
    tn__dl_append_scope(library, number, &first);
    return first;
}

static bool make_scope(struct scope *scope, struct tn_library *library, const void *handle)
{
    size_t count = 0;
    tn__session_lock(library->session);
    struct tn_library *first = list_scope(library, handle);
    for (const struct tn_library *at = first; at; at = at->order.next)
        count++;
    scope->libraries = tn__alloc(NULL, count * sizeof(struct tn_library *));
    for (; scope->libraries && first; first = first->order.next)
        tn__library_use(scope->libraries[scope->count++] = first);
    tn__session_unlock(library->session);
    return scope->libraries;
}

static void free_scope(struct scope *scope)
{
    for (size_t i = 0; i < scope->count; i++)
        drop(scope->libraries[i]);
    tn__free(NULL, scope->libraries);
}

/* Of a thread-local variable, that of the calling thread. */
static int find_address(struct tn_library *library, const char *name, void **address, struct tn_error *err)
{
    struct tn_known known = {.name = name};
    int code = tn_lookup(library, name, address, err);
    if (!code)
        code = tn_lookup_flags(library, &known, 1, err);
    if (!code && known.flags & TN_KNOWN_THREAD_LOCAL) {
        uint64_t place = (uintptr_t)*address;
        *address = tn__tls_at(place);
        if (tn__tls_is_nowhere(place, *address))
            return tn__no_memory(err, name);
    }
    return code;
}

/* 0 and NULL: the library does not know it. */
static int look_up(struct tn_library *library, const char *name, void **address, struct tn_error *err)
{
    struct tn_known known = {.name = name};
    *address = NULL;
    int code = tn_lookup_flags(library, &known, 1, err);
    return code || !known.flags || known.flags & TN_KNOWN_HIDDEN ? code : find_address(library, name, address, err);
}

/* What the caller's library would find if it did not define it. */
static int find_next(const struct tn_library *library, const char *name, void **address, struct tn_error *err)
{
    tn__session_lock(library->session);
    *address = tn__resolvers_find(library, name);
    tn__session_unlock(library->session);
    return *address ? 0 : tn__fail(err, TN_EUNDEF, "%s: there is no next '%s'", library->name, name);
}

static int find_symbol(struct tn_library *library, const void *handle, const char *name, void **address,
                       struct tn_error *err)
{
    struct scope scope = {0};
    int code = make_scope(&scope, library, handle) ? 0 : tn__no_memory(err, library->name);
    *address = NULL;
    for (size_t i = 0; i < scope.count && !code && !*address; i++)
        if (handle != RTLD_NEXT || scope.libraries[i] != library)
            code = look_up(scope.libraries[i], name, address, err);
    free_scope(&scope);
    if (code || *address)
        return code;
    return handle == RTLD_NEXT ? find_next(library, name, address, err) : find_address(library, name, address, err);
}

static void *loaded_dlsym(void *handle, const char *name)
{
    forget_error();
    bool is_handle = handle != RTLD_DEFAULT && handle != RTLD_NEXT;
    void *linked = is_handle ? ask_quickly(&(struct quick){look_for_symbol, name, handle, 0}, TN__CALLER) : NULL;
    if (linked)
        return linked;
    struct tn_library *library = is_handle ? library_of_handle(handle, TN__CALLER) : library_of(TN__CALLER);
    void *address;
    if (!library)
        return fail(TN_EINVAL,
                    is_handle ? "dlsym of '%s': this is no handle of an open library"
                              : "dlsym of '%s' was not called by loaded code",
                    name);
    int code = find_symbol(library, handle, name, &address, new_error());
    drop(library);
    return code ? failed() : address;
}

/* ---- dlclose ---- */

static int loaded_dlclose(void *handle)
{
    forget_error();
    struct tn_library *library = library_of_handle(handle, TN__CALLER);
    if (!library)
        return fail(TN_EINVAL, "%s: this is no handle of an open library", "dlclose"), -1;
    int code = tn__library_close_one(library, false, new_error());
    drop(library);
    return code ? failed(), -1 : 0;
}

/* ---- the offer ---- */

static void *find_offered(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } offered[] = {
        {"dlopen", (void (*)(void))loaded_dlopen},
        {"dlsym", (void (*)(void))loaded_dlsym},
        {"dlclose", (void (*)(void))loaded_dlclose},
        {"dlerror", (void (*)(void))loaded_dlerror},
    };
    for (size_t i = 0; name[0] == 'd' && i < TN_COUNT(offered); i++)
        if (!strcmp(offered[i].name, name))
            return (void *)(uintptr_t)offered[i].function;
    return NULL;
}

/* Under the lock. */
static int offer(struct tn_session *session, const struct tn_dl_options *options, struct tn_error *err) TN__LOCKED
{
    struct tn__dl *dl = tn__dl_of(session);
    if (!dl)
        return tn__no_memory(err, NULL);
    if (dl->offered.load)
        return tn__fail(err, TN_EINVAL, "the session offers dlopen already");
    dl->offered = *options;
    dl->hooks.find = find_offered;
    return 0;
}

static int check(const struct tn_session *session, const struct tn_dl_options *options, struct tn_error *err)
{
    if (!options->load)
        return tn__fail(err, TN_EINVAL, "dlopen needs a function that loads what it opens");
    if (options->program && options->program->session != session)
        return tn__fail(err, TN_EINVAL, "the program's library belongs to another session");
    return tn__session_check_here(session, "dlopen and its relatives", err);
}

int tn_dl_offer(struct tn_session *session, const struct tn_dl_options *given, struct tn_error *err)
{
    struct tn_dl_options options;
    if (!session)
        return tn__no_argument(err);
    int code = tn__take_options(&options, sizeof options, given, "tn_dl_options", err);
    if (!code)
        code = check(session, &options, err);
    if (code)
        return code;
    tn__session_lock(session);
    code = offer(session, &options, err);
    if (!code && options.program)
        options.program->opened.is_open = options.program->opened.is_kept = true;
    tn__session_unlock(session);
    return code;
}
