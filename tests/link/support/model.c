/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The model knows items (definitions of any kind) and, for each name of each library, which item it stands for. A lookup
 * follows references from there: what is linked needs nothing more; what fails or is nowhere must be the reason of an error;
 * what is to be made must be made before an answer. What materializers do is planned when they are promised, so the model
 * learns from their calls only that they were called, and checks that somebody needed them.
 *
 * A name that a library found elsewhere may stay bound there although a library before that one defines it later ("addresses found
 * earlier stay"). The model takes note of all places where it may have been found; a lookup for which they differ is not
 * checked, and the next step begins with a new session. */

#include <stdlib.h>

#include "elf_builder.h"
#include "functions.h"
#include "model.h"

enum { LIBRARIES = 4, NAMES = 7, TRACKERS = 3, ITEMS = 4096, PENDING = 64, DEPTH = 64 };

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
    int on[256], on_count; /* what it was seen to wait for */
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
    int entry[LIBRARIES][NAMES];      /* which item a name stands for; -1: none */
    unsigned found[LIBRARIES][NAMES]; /* bits of the libraries where it may have been found */
    struct pending pending[PENDING];
    struct pending *active; /* the blocking lookup */
};

static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f", "g"};

static unsigned roll(struct model *m, unsigned below)
{
    m->random = m->random * 1664525 + 1013904223;
    return (m->random >> 8) % below;
}

#define REQUIRE(m, condition)                                                                                          \
    do                                                                                                                 \
        if (!(condition) && !(m)->ambiguous)                                                                           \
            fail_msg("seed %u, step %d: %s", (m)->seed, (m)->step, #condition);                                        \
    while (0)

/* ---- what names stand for ---- */

static bool offers(const struct model *m, int library, int from, uint64_t flags)
{
    int item = m->entry[library][from];
    return item >= 0 && !m->removed[library] && (!m->items[item].hidden || flags & TN_SEARCH_HIDDEN);
}

/* The library whose definition a reference of `library` to a name gets; -1: none. */
static int find(struct model *m, int library, int name)
{
    if (m->entry[library][name] >= 0)
        return library;
    int first = -1;
    unsigned offered = 0;
    for (int i = 0; i < m->search_count[library]; i++) {
        int other = m->search[library][i];
        if (other == library || !offers(m, other, name, m->search_flags[library][i]))
            continue;
        offered |= 1U << other;
        if (first < 0)
            first = other;
    }
    if (first >= 0)
        m->found[library][name] |= 1U << first;
    unsigned candidates = m->found[library][name] & offered;
    if (candidates & (candidates - 1))
        m->ambiguous = true;
    return first;
}

/* What following references from a lookup comes to. */
struct closure {
    bool undefined, failed, running, fresh; /* fresh: something is to be made first */
    int reached[ITEMS], count;
    bool seen[ITEMS];
};

static int resolve(struct model *m, int library, int name)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        int at = m->removed[library] ? -1 : find(m, library, name);
        if (at < 0)
            return -1;
        int item = m->entry[at][name];
        if (m->items[item].kind != ALIAS)
            return item;
        library = m->items[item].to_library;
        name = m->items[item].to_name;
    }
    m->ambiguous = true; /* in a circle, through the search order: whether that is passed over is not said anywhere */
    return -1;
}

static void reach(struct model *m, struct closure *c, int library, int name)
{
    int item = resolve(m, library, name);
    if (item < 0)
        c->undefined = true;
    else if (!c->seen[item]) {
        c->seen[item] = true;
        c->reached[c->count++] = item;
    }
}

static void follow(struct model *m, struct closure *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct item *item = &m->items[c->reached[i]];
        if (item->kind == PROMISE) {
            c->failed |= item->state == FAILED;
            c->running |= item->state == RUNNING;
            c->fresh |= item->state == NEW;
        } else if (item->kind == OBJECT && !item->linked && item->callee >= 0)
            reach(m, c, item->library, item->callee);
    }
}

static struct closure *close_over(struct model *m, const struct pending *lookup)
{
    static struct closure c;
    memset(&c, 0, sizeof c);
    for (int i = 0; i < lookup->count; i++) {
        int own = m->entry[lookup->library][lookup->names[i]];
        if (own >= 0 && m->items[own].hidden)
            c.undefined = true; /* to a lookup from outside */
        else
            reach(m, &c, lookup->library, lookup->names[i]);
    }
    follow(m, &c);
    return &c;
}

/* ---- definitions ---- */

enum { TAKEN, YIELDS, CLASHES };

/* What becomes of a new definition of this strength. */
static int outcome(const struct model *m, int library, int name, enum strength strength)
{
    int old = m->entry[library][name];
    if (old < 0)
        return TAKEN;
    const struct item *item = &m->items[old];
    if (item->strength == STRONG)
        return strength == STRONG ? CLASHES : YIELDS;
    if (strength == WEAK)
        return YIELDS;
    return item->linked || (item->kind == PROMISE && item->state != NEW) ? CLASHES : TAKEN;
}

static struct item *new_item(struct model *m, enum kind kind, int library, int name, int tracker)
{
    REQUIRE(m, m->item_count < ITEMS);
    struct item *item = &m->items[m->item_count++];
    *item = (struct item){.model = m, .kind = kind, .live = true, .library = library, .name = name, .tracker = tracker};
    item->strength = roll(m, 4) ? STRONG : WEAK;
    item->hidden = roll(m, 8) == 0;
    item->value = 1000 + (uint64_t)m->item_count;
    item->callee = roll(m, 3) ? -1 : (int)roll(m, NAMES);
    return item;
}

/* Enters it or not, as the session has to do, too. */
static int settle(struct model *m, struct item *item)
{
    int what = outcome(m, item->library, item->name, item->strength);
    int index = (int)(item - m->items), *entry = &m->entry[item->library][item->name];
    if (what == TAKEN && *entry >= 0 && m->items[*entry].kind != OBJECT)
        m->items[*entry].live = false;
    if (what == TAKEN)
        *entry = index;
    if (what == TAKEN || item->kind == OBJECT)
        item->order = ++m->orders;
    if (what == CLASHES)
        m->item_count--;
    if (what == YIELDS && item->kind != OBJECT)
        item->live = false;
    return what;
}

static struct tn_input object_of(const struct item *item)
{
    struct elf *elf = calloc(1, sizeof *elf);
    assert_non_null(elf);
    uint64_t words[2] = {item->value, 0};
    unsigned section = elf_section(elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    elf_symbol(elf, names[item->name], item->strength == WEAK ? STB_WEAK : STB_GLOBAL, STT_OBJECT, section, 0,
               sizeof words);
    if (item->callee >= 0) {
        unsigned callee = item->callee == item->name ? 1 : elf_undefined(elf, names[item->callee]);
        elf_reloc(elf, section, 8, callee, R_X86_64_64, 0);
    }
    struct tn_input input = input_of(names[item->name], elf_finish(elf));
    input.flags = item->hidden ? TN_INPUT_HIDDEN : 0;
    free(elf);
    return input;
}

static struct tn_tracker *tracker_of(const struct model *m, const struct item *item)
{
    return m->trackers[item->library][item->tracker];
}

static void check_outcome(struct model *m, int what, int code, const struct tn_error *err)
{
    if (code && what != CLASHES)
        print_message("%s\n", err->text);
    if (what == CLASHES)
        REQUIRE(m, code == TN_EDUP);
    else
        REQUIRE(m, code == 0);
}

static void add_object(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = new_item(m, OBJECT, library, name, tracker);
    struct tn_input input = object_of(item);
    input.owner = tracker_of(m, item);
    int what = settle(m, item);
    int code = tn_add_object(m->libraries[library], &input, &err);
    check_outcome(m, what, code, &err);
    if (code)
        input.release(input.context, input.bytes, input.length);
}

static void add_address(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = new_item(m, ADDRESS, library, name, tracker);
    const struct tn_definition definition = {names[name], (void *)(uintptr_t)item->value,
                                             (item->strength == WEAK ? TN_SYMBOL_WEAK : 0U) |
                                                 (item->hidden ? TN_SYMBOL_HIDDEN : 0U)};
    struct tn_tracker *owner = tracker_of(m, item);
    check_outcome(m, settle(m, item), tn_define_all(m->libraries[library], &definition, 1, owner, &err), &err);
}

/* True if `item` would be an alias of itself through others. */
static bool closes_circle(const struct model *m, const struct item *item)
{
    int library = item->to_library, name = item->to_name;
    for (;;) {
        if (library == item->library && name == item->name)
            return true;
        int next = m->entry[library][name];
        if (next < 0 || m->items[next].kind != ALIAS)
            return false;
        library = m->items[next].to_library;
        name = m->items[next].to_name;
    }
}

static void add_alias(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = new_item(m, ALIAS, library, name, tracker);
    item->to_library = (int)roll(m, LIBRARIES);
    item->to_name = (int)roll(m, NAMES);
    const struct tn_reexport symbol = {names[name], names[item->to_name],
                                       (item->strength == WEAK ? TN_SYMBOL_WEAK : 0U) |
                                           (item->hidden ? TN_SYMBOL_HIDDEN : 0U)};
    struct tn_tracker *owner = tracker_of(m, item);
    struct tn_library *source = m->libraries[item->to_library];
    int what = outcome(m, library, name, item->strength);
    bool gone = m->removed[item->to_library], circle = what == TAKEN && closes_circle(m, item);
    if (gone || circle)
        m->item_count--;
    else
        settle(m, item);
    int code = tn_reexport(m->libraries[library], &symbol, 1, source, owner, &err);
    if (gone)
        REQUIRE(m, code == TN_EREMOVED);
    else if (circle)
        REQUIRE(m, code == TN_EINVAL);
    else
        check_outcome(m, what, code, &err);
}

/* ---- promises ---- */

/* True if some lookup that goes on needs it. */
static bool is_needed(struct model *m, const struct item *item)
{
    int index = (int)(item - m->items);
    if (m->active && close_over(m, m->active)->seen[index])
        return true;
    for (int i = 0; i < PENDING; i++)
        if (m->pending[i].waits && close_over(m, &m->pending[i])->seen[index])
            return true;
    return false;
}

/* The promise is kept with an object: it takes the place of the promise, if that is still there. */
static void become_object(struct item *item)
{
    item->kind = OBJECT;
    item->order = ++item->model->orders;
}

static void become_failed(struct item *item)
{
    item->state = FAILED;
}

static int stage(struct item *item, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn_input input = object_of(item);
    int code = tn_responsibility_add_object(responsibility, &input, err);
    assert_ok(code, err);
    return code;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err);

static int hand_on(struct item *item, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const char *name = names[item->name];
    if (item->plan == DELEGATES) {
        struct tn_responsibility *part;
        assert_ok(tn_responsibility_delegate(responsibility, &name, 1, &part, err), err);
        item->plan = LATER;
        item->kept = part;
        return 0; /* it owes nothing any more */
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
    REQUIRE(m, item->live && item->kind == PROMISE && item->state == NEW);
    REQUIRE(m, is_needed(m, item));
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

static void add_promise(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = new_item(m, PROMISE, library, name, tracker);
    item->plan = (enum plan)roll(m, REPLACES + 1);
    item->hidden = false; /* what it is kept with says so itself */
    const struct tn_promised symbol = {names[name], item->strength == WEAK ? TN_SYMBOL_WEAK : 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "planned",
                                                 .context = item,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make,
                                                 .owner = tracker_of(m, item)};
    int what = settle(m, item);
    check_outcome(m, what, tn_add_materializer(m->libraries[library], &materializer, &err), &err);
}

static void end_one(struct model *m)
{
    struct tn_error err, why = {TN_EIO, "planned for later"};
    for (int i = 0; i < m->item_count; i++) {
        struct item *item = &m->items[i];
        struct tn_responsibility *kept = item->kept;
        if (!kept || roll(m, 2))
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

/* ---- removals ---- */

/* Definitions of objects that had given way, and are not linked, take the places that are free now: the strongest, then the
 * first. */
static void fall_back(struct model *m, int library)
{
    for (int i = 0; i < m->item_count; i++)
        m->items[i].fallen_back = false;
    for (int i = 0; i < m->item_count; i++) {
        struct item *item = &m->items[i];
        if (!item->live || item->kind != OBJECT || item->linked || item->library != library)
            continue;
        int *entry = &m->entry[library][item->name];
        bool free_now = *entry < 0 || m->items[*entry].fallen_back;
        if (*entry < 0 || (free_now && item->order < m->items[*entry].order)) {
            *entry = i;
            item->fallen_back = true;
        }
    }
}

static void forget(struct model *m, int library, int tracker)
{
    for (int i = 0; i < m->item_count; i++) {
        struct item *item = &m->items[i];
        if (!item->live || item->library != library || (tracker >= 0 && item->tracker != tracker))
            continue;
        item->live = false;
        if (m->entry[library][item->name] == i)
            m->entry[library][item->name] = -1;
    }
    fall_back(m, library);
}

static void remove_library(struct model *m, int library)
{
    struct tn_error err;
    forget(m, library, -1);
    m->removed[library] = true;
    for (int i = 0; i < m->item_count; i++) { /* what led there is undefined */
        struct item *item = &m->items[i];
        if (!item->live || item->kind != ALIAS || item->to_library != library)
            continue;
        item->live = false;
        if (m->entry[item->library][item->name] == i)
            m->entry[item->library][item->name] = -1;
    }
    for (int l = 0; l < LIBRARIES; l++)
        fall_back(m, l);
    assert_ok(tn_library_remove(m->libraries[library], &err), &err);
    void *address;
    REQUIRE(m, tn_lookup(m->libraries[library], "a", &address, &err) == TN_EREMOVED);
}

static void transfer(struct model *m, int library, int from, int to)
{
    struct tn_error err;
    for (int i = 0; i < m->item_count; i++)
        if (m->items[i].live && m->items[i].library == library && m->items[i].tracker == from)
            m->items[i].tracker = to;
    struct tn_tracker **trackers = m->trackers[library];
    if (roll(m, 2) && from && !to) {
        tn_tracker_destroy(trackers[from]);
        assert_ok(tn_tracker_create(m->libraries[library], &trackers[from], &err), &err);
    } else
        assert_ok(tn_tracker_transfer(trackers[from], trackers[to], &err), &err);
}

/* ---- lookups ---- */

static void check_address(struct model *m, const struct pending *lookup, int i)
{
    const struct item *item = &m->items[resolve(m, lookup->library, lookup->names[i])];
    const void *address = lookup->wanted[i].address;
    if (item->kind == ADDRESS)
        REQUIRE(m, (uintptr_t)address == item->value);
    else
        REQUIRE(m, *(const uint64_t *)address == item->value);
}

static void check_answer(struct model *m, const struct pending *lookup, const struct tn_error *err)
{
    int code = err ? err->code : 0;
    const struct closure *c = close_over(m, lookup);
    if (m->ambiguous)
        return;
    m->checked++;
    if (!code) {
        REQUIRE(m, !c->undefined && !c->failed && !c->running && !c->fresh);
        for (int i = 0; i < c->count; i++)
            m->items[c->reached[i]].linked |= m->items[c->reached[i]].kind == OBJECT;
        for (int i = 0; i < lookup->count; i++)
            check_address(m, lookup, i);
    } else if (m->removed[lookup->library])
        REQUIRE(m, code == TN_EREMOVED);
    else if (code == TN_EUNDEF)
        REQUIRE(m, c->undefined);
    else
        REQUIRE(m, code == TN_EIO && c->failed);
}

static void answered(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    struct pending *lookup = context;
    REQUIRE(lookup->model, lookup->waits);
    lookup->waits = false;
    check_answer(lookup->model, lookup, err);
}

static bool is_running(const struct model *m, int item)
{
    return m->items[item].live && m->items[item].kind == PROMISE && m->items[item].state == RUNNING;
}

/* True if what it waited for before is still being made: definitions may have come between meanwhile. */
static bool still_waits(const struct model *m, const struct pending *lookup)
{
    for (int i = 0; i < lookup->on_count; i++)
        if (is_running(m, lookup->on[i]))
            return true;
    return false;
}

/* No lookup waits for nothing. */
static void check_waiting(struct model *m)
{
    for (int l = 0; l < PENDING; l++) {
        struct pending *lookup = &m->pending[l];
        if (!lookup->waits)
            continue;
        const struct closure *c = close_over(m, lookup);
        REQUIRE(m, c->running || still_waits(m, lookup));
        for (int i = 0; i < c->count && lookup->on_count < (int)COUNT(lookup->on); i++)
            if (is_running(m, c->reached[i]))
                lookup->on[lookup->on_count++] = c->reached[i];
    }
}

/* True if it might have to wait for something that is ended later. */
static bool may_wait(struct model *m)
{
    for (int i = 0; i < m->item_count; i++)
        if (m->items[i].live && m->items[i].kind == PROMISE && m->items[i].plan != SUCCEEDS &&
            m->items[i].plan != FAILS)
            return true;
    return false;
}

static struct pending *free_slot(struct model *m)
{
    for (int i = 0; i < PENDING; i++)
        if (!m->pending[i].waits)
            return &m->pending[i];
    return NULL;
}

static void look_up(struct model *m, int library)
{
    struct tn_error err;
    struct pending *lookup = free_slot(m);
    if (!lookup)
        return;
    *lookup = (struct pending){.model = m, .library = library, .count = 1 + (int)roll(m, 2)};
    for (int i = 0; i < lookup->count; i++) {
        lookup->names[i] = (int)roll(m, NAMES);
        lookup->wanted[i].name = names[lookup->names[i]];
    }
    if (may_wait(m) || roll(m, 2)) {
        lookup->waits = true;
        assert_ok(tn_lookup_async(m->libraries[library], lookup->wanted, (size_t)lookup->count, answered, lookup, &err),
                  &err);
        return;
    }
    m->active = lookup;
    int code = tn_lookup_all(m->libraries[library], lookup->wanted, (size_t)lookup->count, &err);
    m->active = NULL;
    check_answer(m, lookup, code ? &err : NULL);
}

/* ---- a session ---- */

static void open_model(struct model *m)
{
    struct tn_error err;
    assert_ok(tn_session_create(NULL, &m->session, &err), &err);
    for (int l = 0; l < LIBRARIES; l++) {
        assert_ok(tn_library_create(m->session, "library", &m->libraries[l], &err), &err);
        m->trackers[l][0] = tn_library_tracker(m->libraries[l]);
        for (int t = 1; t < TRACKERS; t++)
            assert_ok(tn_tracker_create(m->libraries[l], &m->trackers[l][t], &err), &err);
    }
    for (int l = 0; l < LIBRARIES; l++) {
        struct tn_search search[LIBRARIES];
        m->search_count[l] = (int)roll(m, LIBRARIES + 1);
        for (int i = 0; i < m->search_count[l]; i++) {
            m->search[l][i] = (int)roll(m, LIBRARIES);
            m->search_flags[l][i] = roll(m, 4) ? 0 : TN_SEARCH_HIDDEN;
            search[i] = (struct tn_search){m->libraries[m->search[l][i]], m->search_flags[l][i]};
        }
        assert_ok(tn_library_search(m->libraries[l], search, (size_t)m->search_count[l], &err), &err);
    }
    memset(m->entry, 0xff, sizeof m->entry);
}

static void close_model(struct model *m)
{
    for (int i = 0; i < PENDING; i++)
        if (m->pending[i].waits)
            m->ambiguous = true;
    tn_session_destroy(m->session);
}

typedef void operation(struct model *m, int library, int name, int tracker);

static void do_step(struct model *m)
{
    static operation *const adding[] = {add_object, add_object,  add_object, add_address,
                                        add_alias,  add_promise, add_promise};
    struct tn_error err;
    int library = (int)roll(m, LIBRARIES), name = (int)roll(m, NAMES), tracker = (int)roll(m, TRACKERS);
    if (m->removed[library])
        return;
    unsigned what = roll(m, 100);
    if (what < 40)
        adding[roll(m, COUNT(adding))](m, library, name, tracker);
    else if (what < 80)
        look_up(m, library);
    else if (what < 88)
        end_one(m);
    else if (what < 94) {
        forget(m, library, tracker);
        assert_ok(tn_tracker_remove(m->trackers[library][tracker], &err), &err);
    } else if (what < 97)
        transfer(m, library, tracker, (int)roll(m, TRACKERS));
    else if (what < 99) {
        forget(m, library, -1);
        assert_ok(tn_library_clear(m->libraries[library], &err), &err);
    } else if (roll(m, 3) == 0)
        remove_library(m, library);
}

long model_run(unsigned seed, int steps)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    long checked = 0;
    unsigned random = seed;
    for (int step = 0; step < steps;) {
        memset(m, 0, sizeof *m);
        m->seed = seed;
        m->random = random;
        open_model(m);
        for (int i = 0; i < 400 && step < steps && !m->ambiguous; i++) {
            m->step = step++;
            do_step(m);
            if (!m->ambiguous)
                check_waiting(m);
        }
        close_model(m);
        checked += m->checked;
        random = m->random;
    }
    free(m);
    return checked;
}
