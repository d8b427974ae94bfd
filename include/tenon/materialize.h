/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers: definitions made on demand.
 *
 * A materializer promises symbols, and makes them when one of them is needed. It may compile, read files, look up
 * symbols and add to libraries: no lock is held while it runs. The symbols that it still has to provide are its
 * responsibility. Generators are asked for names that nothing defines.
 *
 *     static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
 *     {
 *         struct tn_input object = compile(context);
 *         return tn_responsibility_add_object(responsibility, &object, err);
 *     }
 *
 *     struct tn_promised symbol = {"f", 0};
 *     struct tn_materializer f = {.size = sizeof f, .name = "f.source", .context = source,
 *                                 .symbols = &symbol, .count = 1, .materialize = make};
 *     tn_add_materializer(library, &f, &err); */

#ifndef TENON_API_MATERIALIZE_H
#define TENON_API_MATERIALIZE_H

#include "tenon/base.h"
#include "tenon/define.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;
struct tn_tracker;

struct tn_responsibility; /* opaque: the symbols that a materializer still has to provide */

struct tn_promised {
    const char *name; /* copied */
    uint64_t flags;   /* TN_SYMBOL_... */
};

enum { TN_LATER = 1 };

struct tn_materializer {
    size_t size;      /* sizeof(struct tn_materializer) */
    const char *name; /* for error messages; copied */
    void *context;
    const struct tn_promised *symbols; /* copied */
    size_t count;
    /* Called by any thread when a symbol is needed; once, unless it is cancelled. Stages what it makes with the
     * functions below and returns one of:
     *   0              every promised symbol has been staged;
     *   an error       a code of enum tn_code, with `err`, never NULL, filled in: the symbols fail, and what needs
     *                  them;
     *   TN_ECANCELLED  after tn_responsibility_is_cancelled has returned true: nothing fails, and the materializer is
     *                  called again when a symbol is needed after all;
     *   TN_LATER       it keeps the responsibility and ends it with tn_responsibility_ready or tn_responsibility_fail,
     *                  from any thread, possibly before it returns.
     * Once ended, the responsibility must not be used any more. In the child of a fork it is called again for whatever
     * had not ended and is needed there. */
    int (*materialize)(void *context, struct tn_responsibility *responsibility, struct tn_error *err);
    /* One of its weak symbols was overridden before it was needed. May be NULL. Called without a lock. */
    void (*discard)(void *context, const char *symbol);
    /* Called last, when the materializer has ended or was removed. May be NULL. */
    void (*destroy)(void *context);
    struct tn_tracker *owner; /* of the promise and of what fulfils it; NULL: the library */
};

/* Promises the materializer's symbols. A weak one gives way to existing definitions (`discard` is called for it), and
 * to stronger ones until it is needed. TN_EDUP, TN_EINVAL, TN_EREMOVED, TN_ENOMEM; after an error `destroy` is not
 * called. */
TN_API int tn_add_materializer(struct tn_library *library, const struct tn_materializer *materializer,
                               struct tn_error *err);

/* The functions below may be used on one responsibility by one thread at a time. Whatever is staged is entered in the
 * library all at once, when the responsibility is ready. */

TN_API struct tn_library *tn_responsibility_library(const struct tn_responsibility *responsibility);

/* True if something has asked for this symbol. */
TN_API int tn_responsibility_is_wanted(const struct tn_responsibility *responsibility, const char *symbol);

/* True if every lookup that waited for these symbols, itself or through others, was cancelled or has failed. Then the
 * materializer may stop and return TN_ECANCELLED, or end the responsibility with that; or go on, for later lookups. A
 * lookup that begins meanwhile makes it false again. Any thread; takes the session's lock. */
TN_API int tn_responsibility_is_cancelled(struct tn_responsibility *responsibility);

/* Stages an object. `input->owner` is ignored. Errors as for tn_add_object. */
TN_API int tn_responsibility_add_object(struct tn_responsibility *responsibility, const struct tn_input *input,
                                        struct tn_error *err);

/* Stages absolute symbols that depend on others: they are handed out only once the `need_count` symbols named in
 * `needs`, which the library must define or find, are in place. TN_EINVAL, TN_ENOMEM. */
TN_API int tn_responsibility_define(struct tn_responsibility *responsibility, const struct tn_definition *definitions,
                                    size_t count, const char *const *needs, size_t need_count, struct tn_error *err);

/* delegate: moves some of the symbols to a new responsibility, which has to be ended separately. replace: gives the
 * symbols of `materializer`, all of which must still be owed, back to be made by it when they are needed. TN_EINVAL,
 * TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_responsibility_delegate(struct tn_responsibility *responsibility, const char *const *symbols,
                                      size_t count, struct tn_responsibility **out, struct tn_error *err);
TN_API int tn_responsibility_replace(struct tn_responsibility *responsibility,
                                     const struct tn_materializer *materializer, struct tn_error *err);

/* Ends the responsibility and enters what was staged. On an error the symbols have failed. Errors as for tn_add_object;
 * TN_EUNDEF (something promised is missing), TN_EREMOVED (the tracker was removed meanwhile). */
TN_API int tn_responsibility_ready(struct tn_responsibility *responsibility, struct tn_error *err);
/* The same, but on an error the responsibility goes on, without what was staged so far. For what may be of no use, such
 * as an object of an earlier run: the materializer stages something else then, or fails. */
TN_API int tn_responsibility_try(struct tn_responsibility *responsibility, struct tn_error *err);
/* Ends the responsibility: its symbols have failed for this reason. */
TN_API void tn_responsibility_fail(struct tn_responsibility *responsibility, const struct tn_error *why);

/* Called with names that are needed and that nothing in `library` defines; may add definitions for them. Called without
 * a lock. If it returns an error, whatever needs the names fails. It may also take the responsibility for the names
 * (tn_generator_keep) and return TN_LATER. */
typedef int tn_generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                        struct tn_error *err);

/* Generators are asked in the order they were added, after the resolvers. TN_EINVAL, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_generator(struct tn_library *library, tn_generate *generate, void *context, struct tn_error *err);

/* For a generator of this library, on the thread that runs it: the responsibility for the names that it is asked for.
 * If it then returns TN_LATER, it ends the responsibility itself, from any thread and possibly before it returns, with
 * tn_responsibility_ready or tn_responsibility_fail; until then the names, in the array that it got, stay where they
 * are, and lookups wait. It may add definitions to the library as usual, or stage them; names that have none at the end
 * go to the next generator. NULL: the thread runs no generator of this library. */
TN_API struct tn_responsibility *tn_generator_keep(const struct tn_library *library);

/* The first generator with this function and context is not asked any more, except by calls that have begun. When the
 * last of these has returned, and the responsibilities that it keeps have ended, `destroy`, which may be NULL, is
 * called with the context, without a lock. That may be before this function returns, or later on any thread, also where
 * the session ends. What was generated stays. TN_EINVAL, TN_EUNDEF (there is none), TN_EREMOVED. */
TN_API int tn_remove_generator(struct tn_library *library, tn_generate *generate, void *context,
                               void (*destroy)(void *context), struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
