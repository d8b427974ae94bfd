/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Taking resolvers and generators away from a library. */

#include "link/session/contents.h"

/* NULL: it is not there. */
static struct tn__supplier *take(struct tn__suppliers *list, const struct tn__supplier *wanted,
                                 bool generates) TN__LOCKED
{
    struct tn__supplier **at = &list->first, *found;
    while ((found = *at) && (found->context != wanted->context ||
                             (generates ? found->generate != wanted->generate : found->resolve != wanted->resolve)))
        at = &found->next;
    if (!found)
        return NULL;
    *at = found->next;
    if (list->end == &found->next)
        list->end = at;
    found->next = NULL;
    return found;
}

static int not_there(const struct tn_library *library, const char *what, struct tn_error *err)
{
    return tn__fail(err, TN_EUNDEF, "library %s has no such %s", library->name, what);
}

/* What resolvers were found to know is looked for again. */
static void forget_answers(struct tn_library *library) TN__LOCKED
{
    for (size_t i = 0; library->symtab.slots && i <= library->symtab.mask; i++) {
        struct tn__entry *entry = library->symtab.slots[i];
        if (entry && entry->kind == TN__ENTRY_HOST)
            tn__entry_forget(library, entry);
    }
}

int tn_remove_resolver(struct tn_library *library, tn_resolver *function, void *context, struct tn_error *err)
{
    if (!library || !function)
        return tn__fail(err, TN_EINVAL, "no library or no resolver given");
    struct tn_session *session = library->session;
    struct tn__supplier *resolver = NULL;
    tn__session_lock(session);
    while (session->building) /* links may be using the addresses */
        tn__session_wait(session);
    int code = tn__library_check(library, err);
    if (!code)
        resolver = take(&library->resolvers, &(struct tn__supplier){.resolve = function, .context = context}, false);
    if (resolver)
        forget_answers(library);
    else if (!code)
        code = not_there(library, "resolver", err);
    tn__session_unlock(session);
    tn__suppliers_free(session->allocator, resolver);
    return code;
}

int tn_remove_generator(struct tn_library *library, tn_generate *function, void *context,
                        void (*destroy)(void *context), struct tn_error *err)
{
    if (!library || !function)
        return tn__fail(err, TN_EINVAL, "no library or no generator given");
    struct tn_session *session = library->session;
    struct tn__supplier *generator = NULL, *unused = NULL;
    tn__session_lock(session);
    int code = tn__library_check(library, err);
    if (!code)
        generator = take(&library->generators, &(struct tn__supplier){.generate = function, .context = context}, true);
    if (generator) {
        generator->close = destroy;
        __atomic_store_n(&generator->removed, true, __ATOMIC_RELAXED);
        unused = generator->users ? NULL : generator;
    } else if (!code)
        code = not_there(library, "generator", err);
    tn__session_unlock(session);
    tn__suppliers_free(session->allocator, unused);
    return code;
}
