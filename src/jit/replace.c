/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are replaced while threads call them. Each module is a version, in a library of its own that searches
 * the client's. There, a redirectable stub for each function leads to the newest version that defines it. A version to
 * which no stub leads is retired.
 *
 * A version that rests on assumptions lies on top of what the function had before: other versions, below them one that
 * rests on nothing, or the lazy function of a module that was added. When an assumption is broken, the versions that
 * rest on it are taken out, and the stub leads to the next one below. */

#include "base/fork.h"
#include "jit/assumption.h"
#include "jit/jit.h"
#include "link/core/library.h"
#include "link/core/session.h"
#include "link/redirect/cell.h"
#include "link/session/contents.h"

/* A function that some version has defined. It stays as long as the JIT. */
struct tn__jit_name {
    struct tn__tree node;      /* by hash and library */
    struct tn__jit_name *same; /* another one with that number */
    uint64_t library;
    struct tn__jit_lead *leads; /* newest first: the version of its stub */
    char text[];
};

/* A function of a version. All that has others below it rests on assumptions. */
struct tn__jit_lead {
    struct tn__jit_lead *below;
    struct tn__jit_name *name;
    struct tn__jit_version *version;
    const void *address;
    bool is_listed; /* in its name's list */
};

struct function {
    const char *name;
    uint64_t flags; /* TN_KNOWN_... */
    void *address;
    struct tn__jit_name *entry;
    bool is_led, is_first; /* its stub leads to it unless the client redirects it, and led to no version before */
};

struct replacing {
    struct tn_jit *jit;
    struct tn_library *library;
    const char *module; /* its name */
    struct tn__jit_version *version;
    struct tn__resting *rests; /* NULL: on nothing */
    struct tn__arena arena;
    struct function *symbols; /* of the version; then its functions only */
    size_t count, room;
    struct tn_tracker *stubs; /* owns new ones, until all is well */
    bool was_seen;            /* threads may have called the version, or may have the address of a new stub */
    bool is_stuck;            /* and these stubs could not be removed */
    struct tn_error *err;
};

/* ---- the lock ---- */

/* One for all JITs: held while stubs are redirected, not while anything is compiled or waited for. */
static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_REPLACED);

static void take_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_REPLACED, &hooks);
    tn__mutex_lock(&lock);
}

static void give_lock(void)
{
    tn__mutex_unlock(&lock);
}

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

static int open_version(struct replacing *r)
{
    struct tn__jit_version *version = tn__alloc_zeroed(NULL, 1, sizeof *version);
    if (!version)
        return tn__no_memory(r->err, r->module);
    int code = tn_library_create(r->library->session, r->module, &version->library, r->err);
    if (code != TN_OK) {
        tn__free(NULL, version);
        return code;
    }
    version->is_busy = true;
    take_lock();
    version->next = r->jit->versions;
    r->jit->versions = version;
    give_lock();
    r->version = version;
    return search_as(version->library, r->library, r->err);
}

/* One that no stub leads to. With `waits`, threads may be running it, or be in the first call of one of its functions,
 * which needs the version's names: these stay until no thread can be in such a call. If memory is out, it stays, for a
 * later call. */
static bool remove_version(struct tn_jit *jit, struct tn__jit_version *version, bool waits)
{
    /* Not the wait of tn_tracker_retire: that one takes the names before it waits, and has to wait after that, for what
     * a first call that ends meanwhile stores. So a replacement takes the time of two, if threads are attached. */
    if (waits)
        tn__session_quiesce(version->library->session);
    int code = waits ? tn_tracker_retire(tn_library_tracker(version->library), NULL) : TN_OK;
    if (code == TN_OK)
        code = tn_library_remove(version->library, NULL);
    if (code == TN_OK) {
        tn__jit_untag(jit, version->library, &version->tag);
        tn__jit_forget_initializers(jit, version->library);
        tn_library_destroy(version->library, NULL);
    }
    take_lock();
    version->is_busy = false;
    if (code == TN_OK) {
        struct tn__jit_version **at = &jit->versions;
        while (*at != version)
            at = &(*at)->next;
        *at = version->next;
    }
    give_lock();
    if (code == TN_OK) {
        tn__free(NULL, version->leads);
        tn__free(NULL, version);
    }
    return code == TN_OK;
}

static struct tn__jit_version *take_unused(struct tn_jit *jit)
{
    take_lock();
    struct tn__jit_version *version = jit->versions;
    while (version && (version->names || version->is_busy))
        version = version->next;
    if (version)
        version->is_busy = true;
    give_lock();
    return version;
}

static void remove_unused(struct tn_jit *jit)
{
    struct tn__jit_version *version;
    do
        version = take_unused(jit);
    while (version && remove_version(jit, version, true));
}

/* ---- what a version defines ---- */

static int note_symbol(void *context, const struct tn_known *symbol)
{
    struct replacing *r = context;
    if (symbol->flags & TN_KNOWN_HIDDEN)
        return TN_OK;
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        struct function *more = tn__arena_array(&r->arena, room, sizeof *more);
        if (!more)
            return tn__no_memory(r->err, r->module);
        if (r->count)
            memcpy(more, r->symbols, r->count * sizeof *more);
        r->symbols = more;
        r->room = room;
    }
    const char *name = tn__arena_text(&r->arena, symbol->name, strlen(symbol->name));
    if (!name)
        return tn__no_memory(r->err, r->module);
    r->symbols[r->count++] = (struct function){.name = name, .flags = symbol->flags};
    return TN_OK;
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
    for (size_t i = 0; i < r->count && code == TN_OK; i++)
        r->symbols[i].address = wanted[i].address;
    return code;
}

/* The functions of a module that was taken apart have stubs, so they are known as functions, and nothing need be
 * compiled. Those of another one are known once they are linked. */
static int find_functions(struct replacing *r)
{
    int code = list_symbols(r);
    size_t functions = code == TN_OK ? keep_functions(r) : 0;
    if (code == TN_OK && !functions) {
        code = look_up(r);
        if (code == TN_OK)
            code = list_symbols(r);
        functions = code == TN_OK ? keep_functions(r) : 0;
    }
    r->count = functions;
    if (code == TN_OK && !functions)
        code = tn__fail(r->err, TN_EINVAL, "%s: shows no function to others", r->module);
    return code == TN_OK ? look_up(r) : code;
}

/* ---- names ---- */

/* NULL: out of memory. */
static struct tn__jit_name *find_name(const struct replacing *r, const char *name)
{
    struct tn_jit *jit = r->jit;
    uint64_t library = tn_library_number(r->library), key = tn__jit_hash(library, name);
    struct tn__tree *node = tn__tree_find(jit->names, key);
    struct tn__jit_name *first = node ? tn__container_of(node, struct tn__jit_name, node) : NULL;
    for (struct tn__jit_name *each = first; each; each = each->same)
        if (each->library == library && strcmp(each->text, name) == 0)
            return each;
    size_t size = strlen(name) + 1;
    struct tn__jit_name *made = tn__arena_alloc(&jit->name_memory, sizeof *made + size);
    if (!made)
        return NULL;
    *made = (struct tn__jit_name){.node.key = key, .library = library};
    memcpy(made->text, name, size);
    if (first) {
        made->same = first->same;
        first->same = made;
    } else
        tn__tree_insert(&jit->names, &made->node);
    return made;
}

/* ---- publishing, under the lock ---- */

/* NULL: it never was a version's. */
static const struct tn__jit_lead *lowest(const struct tn__jit_name *name)
{
    const struct tn__jit_lead *lead = name->leads;
    while (lead && lead->below)
        lead = lead->below;
    return lead;
}

/* Whether the library has a stub that the function may take over: that of versions that rest on nothing, or, for a
 * version that rests on assumptions, that of a lazy function. */
static bool find_stub(const struct replacing *r, const struct function *f)
{
    const struct tn__jit_lead *general = lowest(f->entry);
    bool is_replaced = general && !general->version->rests;
    if (!is_replaced && !r->rests)
        return false;
    tn__session_lock(r->library->session);
    const struct tn__lazy_slot *slot = tn__lazy_find_slot(r->library, f->name);
    bool is_there = slot && ((is_replaced && slot->record->version) || (r->rests && slot->record->target));
    tn__session_unlock(r->library->session);
    return is_there;
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
static int prepare(struct replacing *r, struct function *f)
{
    f->entry = find_name(r, f->name);
    if (!f->entry)
        return tn__no_memory(r->err, r->module);
    int code = find_stub(r, f) ? TN_OK : make_stub(r, f);
    if (code != (r->rests ? TN_EUNDEF : TN_EDUP) || !(f->flags & TN_KNOWN_WEAK))
        return code;
    f->entry = NULL; /* its own, seen by itself only */
    return TN_OK;
}

static int publish(const struct replacing *r, struct function *f)
{
    if (!f->entry)
        return TN_OK;
    int code = tn__lazy_cover(r->library, f->name, f->address, &f->is_first, r->err);
    f->is_led = code == TN_OK;
    return code;
}

/* What prepare could not foresee. */
static void take_back(struct replacing *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->symbols[i].is_led) {
            const struct function *f = &r->symbols[i];
            const struct tn__jit_lead *before = f->is_first ? NULL : f->entry->leads;
            tn__lazy_uncover(r->library, f->name, f->address, before ? before->address : NULL);
        }
}

static void take_out(struct tn__jit_lead *lead)
{
    struct tn__jit_lead **at = &lead->name->leads;
    while (*at != lead)
        at = &(*at)->below;
    *at = lead->below;
    lead->is_listed = false;
    lead->version->names--;
}

static void commit(struct replacing *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct tn__jit_name *name = r->symbols[i].entry;
        struct tn__jit_lead *lead = &r->version->leads[i];
        while (name && (!r->rests || r->symbols[i].is_first) && name->leads)
            take_out(name->leads); /* with is_first, those of a stub that the client has removed */
        if (!name)
            continue;
        *lead = (struct tn__jit_lead){name->leads, name, r->version, r->symbols[i].address, true};
        name->leads = lead;
        r->version->names++;
    }
    r->version->count = r->count;
    r->version->is_busy = false;
}

static int publish_all(struct replacing *r)
{
    int code = tn_tracker_create(r->library, &r->stubs, r->err);
    if (!(r->version->leads = tn__alloc_zeroed(NULL, r->count + 1, sizeof *r->version->leads)) && code == TN_OK)
        code = tn__no_memory(r->err, r->module);
    r->was_seen = true;
    take_lock();
    if (code == TN_OK && tn__is_broken(r->rests))
        code = tn__fail(r->err, TN_ECANCELLED, "%s rests on an assumption that was broken", r->module);
    for (size_t i = 0; i < r->count && code == TN_OK; i++)
        code = prepare(r, &r->symbols[i]);
    for (size_t i = 0; i < r->count && code == TN_OK; i++)
        code = publish(r, &r->symbols[i]);
    if (code == TN_OK)
        code = tn_tracker_transfer(r->stubs, tn_library_tracker(r->library), r->err);
    if (code == TN_OK)
        commit(r);
    else
        take_back(r);
    give_lock();
    if (code != TN_OK && r->stubs)
        r->is_stuck = tn_tracker_retire(r->stubs, NULL) == TN_ENOMEM;
    tn_tracker_destroy(r->stubs);
    return code;
}

/* ---- assumptions that are broken ---- */

static void lead_down(const struct tn__jit_version *version, struct tn_library *library)
{
    for (struct tn__jit_lead *lead = version->leads; lead < version->leads + version->count; lead++) {
        if (!lead->is_listed)
            continue;
        take_out(lead);
        const struct tn__jit_lead *next = lead->name->leads;
        tn__lazy_uncover(library, lead->name->text, lead->address, next ? next->address : NULL);
    }
}

/* A version that is not published yet sees that it is too late. The stubs of others are led to what is below, unless a
 * newer version is on top, or the client's redirection. */
static void fall(struct tn__resting *rests)
{
    take_lock();
    for (struct tn__jit_version *version = rests->jit->versions; version; version = version->next)
        if (version->rests == rests)
            lead_down(version, rests->shown);
    give_lock();
}

static int note_assumptions(struct replacing *r, const struct tn_jit_module *module)
{
    int code = tn__jit_rest(r->jit, r->version->library, r->library, module, fall, &r->rests, r->err);
    take_lock();
    r->version->rests = r->rests;
    give_lock();
    return code;
}

/* ---- all of it ---- */

static int add(struct replacing *r, struct tn_jit_module *module)
{
    int code = open_version(r);
    if (code == TN_OK)
        code = note_assumptions(r, module);
    if (code == TN_OK)
        code = tn__jit_add(r->jit, r->version->library, r->library, module, r->rests, &r->version->tag, r->err);
    if (code == TN_OK)
        code = find_functions(r);
    if (code == TN_OK)
        code = tn__jit_link_initializers(r->jit, r->version->library, r->err);
    if (code == TN_OK)
        code = tn__library_run_initializers(r->version->library, r->err);
    return code == TN_OK ? publish_all(r) : code;
}

int tn_jit_replace(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *given,
                   struct tn_error *err)
{
    struct tn_jit_module module;
    if (!jit)
        return tn__fail(err, TN_EINVAL, "no JIT given");
    int code = tn__take_options(&module, sizeof module, given, "struct tn_jit_module", err);
    if (code != TN_OK)
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
    if (code == TN_OK)
        remove_unused(jit);
    else if (r.version && !r.is_stuck)
        remove_version(jit, r.version, r.was_seen);
    tn__arena_free(&r.arena);
    return code;
}
