/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are replaced while threads call them. Each module is a version, in a library of its own that searches
 * the client's. There, a redirectable stub for each function leads to it: the version lays a claim to the stub's cell
 * (link/redirect/cell.h). A version without claims is retired.
 *
 * A version that rests on assumptions lies on top of what the function had before: other versions, below them one that
 * rests on nothing, or the lazy function of a module that was added. When an assumption is broken, the versions that
 * rest on it take their claims back. */

#include "jit/assumption.h"
#include "jit/jit.h"
#include "link/model/library.h"
#include "link/model/session.h"
#include "link/redirect/cell.h"
#include "link/session/contents.h"

struct function {
    const char *name;
    uint64_t flags; /* TN_KNOWN_... */
    void *address;
    struct tn__claim *claim; /* to its cell, until that has it; NULL: the function is seen by its own version only */
    struct tn__cell *cell;
};

struct replacing {
    struct tn_jit *jit;
    struct tn_library *library;
    const char *module; /* its name */
    struct tn__jit_version *version;
    struct tn__resting *rests; /* NULL: on nothing */
    struct tn__arena arena;
    struct function *symbols; /* all symbols of the version; then its functions only */
    size_t count, space;
    struct tn_tracker *stubs; /* owns new ones, until all is well */
    bool was_seen;            /* threads may have called the version, or may have the address of a new stub */
    bool is_stuck;            /* and these stubs could not be removed */
    struct tn_error *err;
};

/* ---- versions ---- */

/* A library that sees what the client's sees. */
static int search_as(struct tn_library *version, struct tn_library *of, struct tn_error *err)
{
    tn__session_lock(of->session);
    size_t count = of->search_count + 1;
    struct tn_search *order = tn__alloc(NULL, count * sizeof *order);
    if (order) {
        order[0] = (struct tn_search){of, TN_SEARCH_HIDDEN};
        if (count > 1)
            memcpy(order + 1, of->search, (count - 1) * sizeof *order);
    }
    tn__session_unlock(of->session);
    int code = order ? tn_library_search(version, order, count, err) : tn__no_memory(err, version->name);
    tn__free(NULL, order);
    return code;
}

static void free_version(struct tn__jit_version *version)
{
    tn__claims_release(version->claims);
    tn__free(NULL, version);
}

static int open_version(struct replacing *r)
{
    struct tn__jit_version *version = tn__alloc_zeroed(NULL, 1, sizeof *version);
    if (!version || !(version->claims = tn__claims_new())) {
        tn__free(NULL, version);
        return tn__no_memory(r->err, r->module);
    }
    int code = tn_library_create(r->library->session, r->module, &version->library, r->err);
    if (code) {
        free_version(version);
        return code;
    }
    version->is_busy = true;
    tn__jit_lock();
    version->next = r->jit->versions;
    r->jit->versions = version;
    tn__jit_unlock();
    r->version = version;
    return search_as(version->library, r->library, r->err);
}

/* One without claims. With `waits`, threads may be running it, or be in the first call of one of its functions,
 * which needs the version's names: these stay until no thread can be in such a call. If memory is out, it stays, for a
 * later call. */
static bool remove_version(struct tn_jit *jit, struct tn__jit_version *version, bool waits)
{
    /* This is not the wait of tn_tracker_retire, which comes after the names were taken away, because a first call that
     * ends meanwhile may still store an address. So a replacement waits twice if threads are attached. */
    if (waits)
        tn__session_quiesce(version->library->session);
    int code = waits ? tn_tracker_retire(tn_library_tracker(version->library), NULL) : 0;
    if (!code)
        code = tn_library_remove(version->library, NULL);
    if (!code) {
        tn__jit_untag(jit, version->library, &version->tag);
        tn__jit_forget_initializers(jit, version->library);
        tn_library_destroy(version->library, NULL);
    }
    tn__jit_lock();
    version->is_busy = false;
    if (!code) {
        struct tn__jit_version **at = &jit->versions;
        while (*at != version)
            at = &(*at)->next;
        *at = version->next;
    }
    tn__jit_unlock();
    if (!code)
        free_version(version);
    return !code;
}

/* Looks under the session's lock: a stub that is being led elsewhere leads there by then. */
static struct tn__jit_version *take_unused(struct tn_jit *jit, struct tn_session *session)
{
    tn__session_lock(session);
    tn__jit_lock();
    struct tn__jit_version *version = jit->versions;
    while (version && (version->is_busy || !tn__claims_are_gone(version->claims)))
        version = version->next;
    if (version)
        version->is_busy = true;
    tn__jit_unlock();
    tn__session_unlock(session);
    return version;
}

static void remove_unused(struct tn_jit *jit, struct tn_session *session)
{
    struct tn__jit_version *version;
    do
        version = take_unused(jit, session);
    while (version && remove_version(jit, version, true));
}

/* ---- what a version defines ---- */

/* The body of a lazy function, which nothing but its stub names. */
static bool is_body(const struct tn_known *symbol)
{
    return !(symbol->flags & TN_KNOWN_CALLABLE) && strstr(symbol->name, TN__NAME_BODY);
}

static int note_symbol(void *context, const struct tn_known *symbol)
{
    struct replacing *r = context;
    if (symbol->flags & TN_KNOWN_HIDDEN || is_body(symbol))
        return 0;
    if (r->count == r->space) {
        size_t space = r->space ? 2 * r->space : 16;
        struct function *more = tn__arena_array(&r->arena, space, sizeof *more);
        if (!more)
            return tn__no_memory(r->err, r->module);
        if (r->count)
            memcpy(more, r->symbols, r->count * sizeof *more);
        r->symbols = more;
        r->space = space;
    }
    const char *name = tn__arena_text(&r->arena, symbol->name, strlen(symbol->name));
    if (!name)
        return tn__no_memory(r->err, r->module);
    r->symbols[r->count++] = (struct function){.name = name, .flags = symbol->flags};
    return 0;
}

static int list_symbols(struct replacing *r)
{
    r->count = 0;
    return tn_library_each_symbol(r->version->library, note_symbol, r, r->err);
}

/* Leaves functions in the list only. */
static size_t keep_functions(struct replacing *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->symbols[i].flags & TN_KNOWN_CALLABLE)
            r->symbols[kept++] = r->symbols[i];
    return kept;
}

static int look_up(struct replacing *r)
{
    struct tn_wanted *wanted = tn__arena_array(&r->arena, r->count + 1, sizeof *wanted);
    if (!wanted)
        return tn__no_memory(r->err, r->module);
    for (size_t i = 0; i < r->count; i++)
        wanted[i] = (struct tn_wanted){r->symbols[i].name, TN_WANTED_WEAK, NULL};
    int code = tn_lookup_all(r->version->library, wanted, r->count, r->err);
    for (size_t i = 0; i < r->count && !code; i++)
        r->symbols[i].address = wanted[i].address;
    return code;
}

/* Functions are known as such, and those of a module that was taken apart have stubs, so nothing need be compiled; what
 * only an object tells is known once that is linked. */
static int find_functions(struct replacing *r)
{
    int code = list_symbols(r);
    size_t functions = !code ? keep_functions(r) : 0;
    if (!code && !functions) {
        code = look_up(r);
        if (!code)
            code = list_symbols(r);
        functions = !code ? keep_functions(r) : 0;
    }
    r->count = functions;
    if (!code && !functions)
        code = tn__fail(r->err, TN_EINVAL, "%s: shows no function to others", r->module);
    return code ? code : look_up(r);
}

/* ---- publishing ---- */

/* The cell that the function may claim; NULL: there is none. It is a new one, or that of versions of which the lowest
 * rests on nothing, or, for a version that rests on assumptions, a lazy function's. */
static struct tn__cell *find_cell(const struct replacing *r, const char *name) TN__LOCKED
{
    struct tn__cell *cell = tn__cell_find(r->library, name);
    bool may_be_claimed = cell && (cell->facts->batch->owner == r->stubs || tn__cell_has_version(cell) ||
                                   (r->rests && cell->facts->looks_up));
    return may_be_claimed ? cell : NULL;
}

static bool is_there(const struct replacing *r, const char *name)
{
    tn__session_lock(r->library->session);
    bool found = find_cell(r, name);
    tn__session_unlock(r->library->session);
    return found;
}

/* A stub that the client has removed is made anew, except for a version that rests on assumptions: that needs something
 * that it can fall back to. */
static int make_stub(const struct replacing *r, const struct function *f)
{
    const struct tn_stub_options options = {
        .size = sizeof options, .owner = r->stubs, .on_failure = r->jit->on_failure};
    return r->rests ? tn__fail(r->err, TN_EUNDEF, "'%s' is no lazy function of library %s", f->name, r->library->name)
                    : tn_define_redirectable(r->library, f->name, f->address, &options, r->err);
}

/* Nothing that is there already is changed. */
static int prepare(const struct replacing *r, struct function *f)
{
    int code = is_there(r, f->name) ? 0 : make_stub(r, f);
    if (code == (r->rests ? TN_EUNDEF : TN_EDUP) && f->flags & TN_KNOWN_WEAK)
        return 0; /* its own, seen by itself only */
    if (code)
        return code;
    f->claim = tn__claim_new(r->library->session, r->rests ? TN__CLAIM_RESTING : TN__CLAIM_VERSION,
                             (uintptr_t)f->address, r->version->claims);
    return f->claim ? 0 : tn__no_memory(r->err, f->name);
}

/* Checks what may have changed since `prepare`. */
static int check(const struct replacing *r) TN__LOCKED
{
    int code = tn__library_check(r->library, r->err);
    if (!code && tn__is_broken(r->rests))
        code = tn__fail(r->err, TN_ECANCELLED, "%s rests on an assumption that was broken", r->module);
    for (struct function *f = r->symbols; f < r->symbols + r->count && !code; f++) {
        f->cell = f->claim ? find_cell(r, f->name) : NULL;
        if (f->claim && !f->cell)
            code = tn__fail(r->err, TN_EUNDEF, "'%s' is not redirectable in library %s", f->name, r->library->name);
        else if (f->claim)
            code = tn__cell_check(f->cell, (uintptr_t)f->address, r->err);
    }
    return code;
}

/* The same; cannot fail. */
static void publish(struct replacing *r) TN__LOCKED
{
    for (struct function *f = r->symbols; f < r->symbols + r->count; f++)
        if (f->claim) {
            tn__cell_claim(f->cell, f->claim);
            f->claim = NULL;
        }
    tn__tracker_transfer(r->stubs, &r->library->own);
    tn__jit_lock();
    r->version->is_busy = false;
    tn__jit_unlock();
}

static int publish_all(struct replacing *r)
{
    struct tn_session *session = r->library->session;
    int code = tn_tracker_create(r->library, &r->stubs, r->err);
    r->was_seen = true;
    for (size_t i = 0; i < r->count && !code; i++)
        code = prepare(r, &r->symbols[i]);
    tn__session_lock(session);
    if (!code)
        code = check(r);
    if (!code)
        publish(r);
    tn__session_unlock(session);
    for (size_t i = 0; i < r->count; i++)
        tn__claim_free(session, r->symbols[i].claim);
    if (code && r->stubs)
        r->is_stuck = tn_tracker_retire(r->stubs, NULL) == TN_ENOMEM;
    tn_tracker_destroy(r->stubs);
    return code;
}

/* ---- assumptions that are broken ---- */

/* A version that is not published yet sees that it is too late. The stubs of others are led to what is below, unless a
 * newer version is on top, or the client's redirection. */
static void fall(struct tn__resting *rests)
{
    struct tn_session *session = rests->shown->session;
    tn__session_lock(session);
    tn__jit_lock();
    for (struct tn__jit_version *version = rests->jit->versions; version; version = version->next)
        if (version->rests == rests)
            tn__claims_drop(version->claims);
    tn__jit_unlock();
    tn__session_unlock(session);
}

static int note_assumptions(struct replacing *r, const struct tn_jit_module *module)
{
    int code = tn__jit_rest(r->jit, r->version->library, r->library, module, fall, &r->rests, r->err);
    tn__jit_lock();
    r->version->rests = r->rests;
    tn__jit_unlock();
    return code;
}

/* ---- all of it ---- */

static int add(struct replacing *r, struct tn_jit_module *module)
{
    int code = open_version(r);
    if (!code)
        code = note_assumptions(r, module);
    if (!code)
        code = tn__jit_add(r->jit, r->version->library, r->library, module, r->rests, &r->version->tag, r->err);
    if (!code)
        code = find_functions(r);
    if (!code)
        code = tn__jit_link_initializers(r->jit, r->version->library, r->err);
    if (!code)
        code = tn__library_run_initializers(r->version->library, r->err);
    return code ? code : publish_all(r);
}

int tn_jit_replace(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *given,
                   struct tn_error *err)
{
    struct tn_jit_module module;
    if (!jit)
        return tn__fail(err, TN_EINVAL, "no JIT given");
    int code = tn__take_options(&module, sizeof module, given, "struct tn_jit_module", err);
    if (code)
        return code;
    if (module.owner || module.instance_count || module.responsibility)
        return tn__fail(err, TN_EINVAL,
                        "tn_jit_replace: a module that is replaced has no owner, no instances and no responsibility");
    struct replacing r = {.jit = jit,
                          .library = library ? library : jit->library,
                          .module = module.name ? module.name : "<memory>",
                          .err = err};
    code = add(&r, &module);
    tn__resting_end(r.rests, code);
    if (!code)
        remove_unused(jit, r.library->session);
    else if (r.version && !r.is_stuck)
        remove_version(jit, r.version, r.was_seen);
    tn__arena_free(&r.arena);
    return code;
}
