/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals and transfers. */

#include "model_state.h"

/* Definitions of unlinked objects that had yielded take the places that are free now: the strongest first, then the
 * earliest. */
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
            model_note(m, "item %d is fallen back on", i);
        }
    }
}

/* Removes what the tracker owns or, for -1, the whole library. */
static void forget(struct model *m, int library, int tracker)
{
    model_note(m, "library %d, tracker %d: removed", library, tracker);
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

void model_remove_tracker(struct model *m, int library, int tracker)
{
    struct tn_error err;
    forget(m, library, tracker);
    struct tn_tracker *removed = m->trackers[library][tracker];
    assert_ok(model_roll(m, 2) ? tn_tracker_remove(removed, &err) : tn_tracker_retire(removed, &err), &err);
}

void model_clear_library(struct model *m, int library)
{
    struct tn_error err;
    forget(m, library, -1);
    assert_ok(tn_library_clear(m->libraries[library], &err), &err);
}

void model_remove_library(struct model *m, int library)
{
    struct tn_error err;
    forget(m, library, -1);
    model_note(m, "library %d ends", library);
    m->removed[library] = true;
    for (int i = 0; i < m->item_count; i++) { /* references to it are undefined now */
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

void model_transfer(struct model *m, int library, int from, int to)
{
    struct tn_error err;
    for (int i = 0; i < m->item_count; i++)
        if (m->items[i].live && m->items[i].library == library && m->items[i].tracker == from)
            m->items[i].tracker = to;
    struct tn_tracker **trackers = m->trackers[library];
    model_note(m, "library %d, tracker %d: given to %d", library, from, to);
    if (model_roll(m, 2) && from && !to) {
        tn_tracker_destroy(trackers[from]);
        assert_ok(tn_tracker_create(m->libraries[library], &trackers[from], &err), &err);
    } else
        assert_ok(tn_tracker_transfer(trackers[from], trackers[to], &err), &err);
}
