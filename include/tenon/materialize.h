/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers: definitions that are made when somebody needs them.
 *
 * A materializer promises symbols, and makes them when one of them is needed. It may compile, read files, look symbols up, and
 * add to libraries: no lock is held while it runs. What it still owes is its responsibility. Generators are asked for names
 * that nothing defines.
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

#ifdef __cplusplus
}
#endif
#endif
