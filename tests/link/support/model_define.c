/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Definitions of any strength: which of two wins, and what the session reports. */

#include <stdlib.h>

#include "elf_builder.h"
#include "functions.h"
#include "model_state.h"

/* The outcome of a new definition of this strength. */
static enum outcome outcome(const struct model *m, int library, int name, enum strength strength)
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

struct item *model_new_item(struct model *m, enum kind kind, int library, int name, int tracker)
{
    REQUIRE(m, m->item_count < ITEMS);
    struct item *item = &m->items[m->item_count++];
    *item = (struct item){.model = m, .kind = kind, .live = true, .library = library, .name = name, .tracker = tracker};
    item->strength = model_roll(m, 4) ? STRONG : WEAK;
    item->hidden = model_roll(m, 8) == 0;
    item->value = 1000 + (uint64_t)m->item_count;
    item->callee = model_roll(m, 3) ? -1 : (int)model_roll(m, NAMES);
    static const char *const kinds[] = {"object", "address", "alias", "promise"};
    model_note(m, "item %d: %s%s %s '%s' in library %d, tracker %d, needs '%s'", item_number(item),
               item->hidden ? "hidden " : "", item->strength == WEAK ? "weak" : "strong", kinds[kind],
               model_names[name], library, tracker, item->callee < 0 ? "" : model_names[item->callee]);
    return item;
}

enum outcome model_settle(struct model *m, struct item *item)
{
    enum outcome what = outcome(m, item->library, item->name, item->strength);
    int index = item_number(item), *entry = &m->entry[item->library][item->name];
    if (what == TAKEN && *entry >= 0 && m->items[*entry].kind != OBJECT)
        m->items[*entry].live = false;
    if (what == TAKEN)
        *entry = index;
    if (what == TAKEN || item->kind == OBJECT)
        item->order = ++m->orders;
    static const char *const outcomes[] = {"taken", "gives way", "clashes"};
    model_note(m, "item %d: %s", index, outcomes[what]);
    if (what == CLASHES)
        m->item_count--;
    if (what == YIELDS && item->kind != OBJECT)
        item->live = false;
    return what;
}

struct tn_input model_object_of(const struct item *item)
{
    struct elf *elf = calloc(1, sizeof *elf);
    assert_non_null(elf);
    uint64_t words[2] = {item->value, 0};
    unsigned section = elf_section(elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    elf_symbol(elf, model_names[item->name], item->strength == WEAK ? STB_WEAK : STB_GLOBAL, STT_OBJECT, section, 0,
               sizeof words);
    if (item->callee >= 0) {
        unsigned callee = item->callee == item->name ? 1 : elf_undefined(elf, model_names[item->callee]);
        elf_reloc(elf, section, 8, callee, MACHINE_ADDRESS, 0);
    }
    struct tn_input input = input_of(model_names[item->name], elf_finish(elf));
    input.flags = item->hidden ? TN_INPUT_HIDDEN : 0;
    free(elf);
    return input;
}

struct tn_tracker *model_tracker_of(const struct model *m, const struct item *item)
{
    return m->trackers[item->library][item->tracker];
}

void model_check_outcome(struct model *m, enum outcome what, int code, const struct tn_error *err)
{
    if (code && what != CLASHES)
        print_message("%s\n", err->text);
    if (what == CLASHES)
        REQUIRE(m, code == TN_EDUP);
    else
        REQUIRE(m, code == 0);
}

void model_add_object(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = model_new_item(m, OBJECT, library, name, tracker);
    struct tn_input input = model_object_of(item);
    input.owner = model_tracker_of(m, item);
    enum outcome what = model_settle(m, item);
    int code = tn_add_object(m->libraries[library], &input, &err);
    model_check_outcome(m, what, code, &err);
    if (code)
        input.release(input.context, input.bytes, input.length);
}

void model_add_address(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = model_new_item(m, ADDRESS, library, name, tracker);
    const struct tn_definition definition = {model_names[name], (void *)(uintptr_t)item->value,
                                             (item->strength == WEAK ? TN_SYMBOL_WEAK : 0U) |
                                                 (item->hidden ? TN_SYMBOL_HIDDEN : 0U)};
    struct tn_tracker *owner = model_tracker_of(m, item);
    model_check_outcome(m, model_settle(m, item), tn_define_all(m->libraries[library], &definition, 1, owner, &err),
                        &err);
}

/* True if `item` would become an alias of itself through others. */
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

void model_add_alias(struct model *m, int library, int name, int tracker)
{
    struct tn_error err;
    struct item *item = model_new_item(m, ALIAS, library, name, tracker);
    item->to_library = (int)model_roll(m, LIBRARIES);
    item->to_name = (int)model_roll(m, NAMES);
    const struct tn_reexport symbol = {model_names[name], model_names[item->to_name],
                                       (item->strength == WEAK ? TN_SYMBOL_WEAK : 0U) |
                                           (item->hidden ? TN_SYMBOL_HIDDEN : 0U)};
    struct tn_tracker *owner = model_tracker_of(m, item);
    struct tn_library *source = m->libraries[item->to_library];
    enum outcome what = outcome(m, library, name, item->strength);
    model_note(m, "item %d: of '%s' in library %d", item_number(item), model_names[item->to_name], item->to_library);
    bool gone = m->removed[item->to_library], circle = what == TAKEN && closes_circle(m, item);
    if (gone || circle)
        m->item_count--;
    else
        model_settle(m, item);
    int code = tn_reexport(m->libraries[library], &symbol, 1, source, owner, &err);
    if (gone)
        REQUIRE(m, code == TN_EREMOVED);
    else if (circle)
        REQUIRE(m, code == TN_EINVAL);
    else
        model_check_outcome(m, what, code, &err);
}
