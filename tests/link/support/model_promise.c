/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Materializers, whose actions are planned when they are promised. */

#include "model_state.h"

/* True if a pending lookup needs it. */
static bool is_needed(struct model *m, const struct item *item)
{
    int index = item_number(item);
    if (m->active && model_close_over(m, m->active)->seen[index])
        return true;
    for (int i = 0; i < PENDING; i++)
        if (m->pending[i].waits && model_close_over(m, &m->pending[i])->seen[index])
            return true;
    return false;
}

/* The promise is fulfilled by an object, which replaces it if it is still there. */
static void become_object(struct item *item)
{
    model_note(item->model, "item %d is an object now, needs '%s'", item_number(item),
               item->callee < 0 ? "" : model_names[item->callee]);
    item->kind = OBJECT;
    item->order = ++item->model->orders;
}

static void become_failed(struct item *item)
{
    model_note(item->model, "item %d has failed", item_number(item));
    item->state = FAILED;
}

static int stage(struct item *item, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn_input input = model_object_of(item);
    int code = tn_responsibility_add_object(responsibility, &input, err);
    assert_ok(code, err);
    return code;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err);

static int hand_on(struct item *item, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const char *name = model_names[item->name];
    if (item->plan == DELEGATES) {
        struct tn_responsibility *part;
        assert_ok(tn_responsibility_delegate(responsibility, &name, 1, &part, err), err);
        item->plan = LATER;
        item->kept = part;
        return 0; /* nothing left to define */
    }
    const struct tn_promised symbol = {name, 0};
    const struct tn_materializer other = {
        .size = sizeof other, .name = "replaced", .context = item, .symbols = &symbol, .count = 1, .materialize = make};
    item->plan = SUCCEEDS;
    item->state = NEW;
    assert_ok(tn_responsibility_replace(responsibility, &other, err), err);
    return 0;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct item *item = context;
    struct model *m = item->model;
    model_note(m, "item %d is called", item_number(item));
    REQUIRE(m, item->live && item->kind == PROMISE && item->state == NEW);
    REQUIRE(m, is_needed(m, item));
    static const char *const plans[] = {"succeeds", "fails", "later", "later fails", "delegates", "replaces"};
    model_note(m, "item %d is made: %s", item_number(item), plans[item->plan]);
    item->state = RUNNING;
    switch (item->plan) {
    case FAILS:
        become_failed(item);
        snprintf(err->text, sizeof err->text, "planned");
        return TN_EIO;
    case LATER:
    case LATER_FAILS:
        item->kept = responsibility;
        return TN_LATER;
    case DELEGATES:
    case REPLACES:
        return hand_on(item, responsibility, err);
    default:
        become_object(item);
        return stage(item, responsibility, err);
    }
}

void model_add_promise(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = model_new_item(m, PROMISE, library, name, tracker);
    item->plan = (enum plan)model_roll(m, REPLACES + 1);
    item->hidden = false; /* the object decides this */
    const struct tn_promised symbol = {model_names[name], item->strength == WEAK ? TN_SYMBOL_WEAK : 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "planned",
                                                 .context = item,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make,
                                                 .owner = model_tracker_of(m, item)};
    enum outcome what = model_settle(m, item);
    model_check_outcome(m, what, tn_add_materializer(m->libraries[library], &materializer, &err), &err);
}

void model_end_one(struct model *m)
{
    struct tn_error err, why = {TN_EIO, "planned for later"};
    for (int i = 0; i < m->item_count; i++) {
        struct item *item = &m->items[i];
        struct tn_responsibility *kept = item->kept;
        if (!kept || model_roll(m, 2))
            continue;
        item->kept = NULL;
        bool gone = !item->live;
        if (item->plan == LATER_FAILS) {
            if (!gone)
                become_failed(item);
            tn_responsibility_fail(kept, &why);
            return;
        }
        stage(item, kept, &err);
        if (!gone)
            become_object(item);
        int code = tn_responsibility_ready(kept, &err);
        REQUIRE(m, code == (gone ? TN_EREMOVED : 0));
        return;
    }
}
