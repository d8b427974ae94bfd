/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The model has items (definitions of any kind) and knows, for each name of each library, which item it is bound to. A
 * lookup follows references from there: linked items need nothing more; failed or missing items must be the reason of
 * an error; items still to be made must be made before there is a result. The actions of materializers are planned when
 * they are promised, so the model learns from their calls only that they were called, and checks that something needed
 * them.
 *
 * A name that a library found elsewhere may stay bound there although a library earlier in the search order defines
 * it later ("addresses found earlier stay"). The model records all places where it may have been found; a lookup for
 * which they differ is not checked, and the next step begins with a new session. */

#ifndef TENON_TESTS_LINK_MODEL_STATE_H
#define TENON_TESTS_LINK_MODEL_STATE_H

#include "support.h"

enum { LIBRARIES = 4, NAMES = 7, TRACKERS = 3, ITEMS = 4096, PENDING = 64 };

enum kind { OBJECT, ADDRESS, ALIAS, PROMISE };
enum strength { NONE, WEAK, STRONG };
enum plan { SUCCEEDS, FAILS, LATER, LATER_FAILS, DELEGATES, REPLACES };
enum promise_state { NEW, RUNNING, FAILED };

struct model;

struct item {
    struct model *model;
    enum kind kind;
    enum strength strength;
    bool live, hidden, linked, fallen_back;
    int library, name, tracker, order;
    uint64_t value;          /* OBJECT: at its address; ADDRESS: the address */
    int callee;              /* OBJECT: a name; -1: none */
    int to_library, to_name; /* ALIAS */
    enum plan plan;          /* PROMISE */
    enum promise_state state;
    struct tn_responsibility *kept;
};

struct pending {
    struct model *model;
    bool waits;
    int library, count, names[2];
    struct tn_wanted wanted[2];
    int on[256], on_count; /* the items that it waited for */
};

struct model {
    unsigned seed, random;
    int step;
    long checked;
    bool ambiguous;
    struct tn_session *session;
    struct tn_library *libraries[LIBRARIES];
    bool removed[LIBRARIES];
    struct tn_tracker *trackers[LIBRARIES][TRACKERS];
    int search[LIBRARIES][LIBRARIES], search_count[LIBRARIES];
    uint64_t search_flags[LIBRARIES][LIBRARIES];
    struct item items[ITEMS];
    int item_count, orders;
    int entry[LIBRARIES][NAMES];      /* the item of each name; -1: none */
    unsigned found[LIBRARIES][NAMES]; /* bit set of libraries where it may have been found */
    struct pending pending[PENDING];
    struct pending *active; /* the blocking lookup */
    FILE *log;              /* printed if the session fails */
    char *logged;
    size_t log_size;
};

extern const char *const model_names[NAMES];

unsigned model_roll(struct model *m, unsigned below);
void model_note(struct model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void model_fail(const struct model *m, const char *condition);

static inline int item_number(const struct item *item)
{
    return (int)(item - item->model->items);
}

#define REQUIRE(m, condition)                                                                                          \
    do                                                                                                                 \
        if (!(condition) && !(m)->ambiguous)                                                                           \
            model_fail(m, #condition);                                                                                 \
    while (0)

/* ---- model_find.c ---- */

/* The result of following references from a lookup. */
struct closure {
    bool undefined, failed, running, fresh; /* fresh: something still has to be made */
    int reached[ITEMS], count;
    bool seen[ITEMS];
};

/* The item that a reference of `library` to a name is bound to, through aliases; -1: none. */
int model_resolve(struct model *m, int library, int name);
/* Valid until the next call. */
struct closure *model_close_over(struct model *m, const struct pending *lookup);

/* ---- model_define.c ---- */

struct item *model_new_item(struct model *m, enum kind kind, int library, int name, int tracker);
/* Adds the item if the session has to accept it, and checks what the session reports. */
enum outcome { TAKEN, YIELDS, CLASHES };
enum outcome model_settle(struct model *m, struct item *item);
void model_check_outcome(struct model *m, enum outcome what, int code, const struct tn_error *err);
struct tn_input model_object_of(const struct item *item);
struct tn_tracker *model_tracker_of(const struct model *m, const struct item *item);

typedef void model_operation(struct model *m, int library, int name, int tracker);
model_operation model_add_object, model_add_address, model_add_alias;

/* ---- model_promise.c ---- */

model_operation model_add_promise;
/* Ends one that its materializer has deferred. */
void model_end_one(struct model *m);

/* ---- model_remove.c ---- */

void model_remove_tracker(struct model *m, int library, int tracker);
void model_clear_library(struct model *m, int library);
void model_remove_library(struct model *m, int library);
void model_transfer(struct model *m, int library, int from, int to);

/* ---- model_lookup.c ---- */

void model_look_up(struct model *m, int library);
/* Checks that no lookup waits for nothing. */
void model_check_waiting(struct model *m);

#endif
