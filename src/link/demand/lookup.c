/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The public calls that look symbols up and link. Each makes a query (query.c), on behalf of the materializer that the
 * calling thread runs, if any. */

#include "link/demand/promise.h"

int tn__wanted_check(const struct tn_library *library, const struct tn_wanted *symbols, size_t count,
                     struct tn_error *err)
{
    if (!library || (count && !symbols))
        return tn__fail(err, TN_EINVAL, "a lookup needs a library and symbols");
    for (size_t i = 0; i < count; i++)
        if (!symbols[i].name || symbols[i].flags & ~(uint64_t)(TN_WANTED_WEAK | TN_WANTED_HIDDEN))
            return tn__fail(err, TN_EINVAL, "symbol %zu of the lookup has no name or unknown flags", i);
    return 0;
}

static int look_up(struct tn_responsibility *from, struct tn_library *library, struct tn_wanted *symbols, size_t count,
                   tn_lookup_done *done, void *context, struct tn_error *err)
{
    int code = tn__wanted_check(library, symbols, count, err);
    if (code)
        return code;
    const struct tn__request request = {.library = library, .symbols = symbols, .count = count};
    if (!from)
        from = tn__promise_current(library->session);
    if (done)
        return tn__query_start(&request, from, done, context, NULL, err);
    code = tn__query_run(&request, from, err);
    return code || from ? code : tn__library_initialize(library, 0, err);
}

int tn__lookup_only(struct tn_library *library, struct tn_wanted *symbols, size_t count, struct tn_error *err)
{
    int code = tn__wanted_check(library, symbols, count, err);
    if (code)
        return code;
    return tn__query_link(&(struct tn__request){.library = library, .symbols = symbols, .count = count}, err);
}

int tn_lookup(struct tn_library *library, const char *name, void **address, struct tn_error *err)
{
    if (!library || !name || !address)
        return tn__fail(err, TN_EINVAL, "a lookup needs a library, a name and a place for the answer");
    struct tn_wanted wanted = {.name = name};
    int code = look_up(NULL, library, &wanted, 1, NULL, NULL, err);
    if (!code)
        *address = wanted.address;
    return code;
}

int tn_lookup_all(struct tn_library *library, struct tn_wanted *symbols, size_t count, struct tn_error *err)
{
    return look_up(NULL, library, symbols, count, NULL, NULL, err);
}

int tn_lookup_async(struct tn_library *library, struct tn_wanted *symbols, size_t count, tn_lookup_done *done,
                    void *context, struct tn_error *err)
{
    if (!done)
        return tn__fail(err, TN_EINVAL, "a lookup that does not wait needs a function to call");
    return look_up(NULL, library, symbols, count, done, context, err);
}

int tn_responsibility_lookup(struct tn_responsibility *responsibility, struct tn_library *library,
                             struct tn_wanted *symbols, size_t count, tn_lookup_done *done, void *context,
                             struct tn_error *err)
{
    if (!responsibility || !library || library->session != responsibility->library->session)
        return tn__fail(err, TN_EINVAL, "no responsibility, or a library of another session given");
    return look_up(responsibility, library, symbols, count, done, context, err);
}

int tn__query_link(const struct tn__request *request, struct tn_error *err)
{
    return tn__query_run(request, tn__promise_current(request->library->session), err);
}

int tn_link(struct tn_library *library, struct tn_error *err)
{
    if (!library)
        return tn__fail(err, TN_EINVAL, "no library given");
    return tn__query_link(&(struct tn__request){.library = library, .everything = true}, err);
}
