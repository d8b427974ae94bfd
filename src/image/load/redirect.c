/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of open images that lead elsewhere (doc/REDIRECT.md). The entry of a replaceable function jumps through the
 * word of its cell unless that is zero. A word that was stored to never becomes zero again: on x86-64, entries read it
 * twice. Nothing but words is written, and no lock is held meanwhile: threads may call the functions all the time. The
 * images are in a list, for those that look for circles. */

#include "base/fork.h"
#include "base/onward.h"
#include "image/load/image.h"

static uint64_t *word_of(const struct tn_image *image, uint32_t cell)
{
    uint8_t *cells = tn__image_place(&image->view, image->view.cells_at);
    return (uint64_t *)(void *)(cells + TN__IMAGE_CELL * (size_t)cell);
}

static uint64_t entry_of(const struct tn_image *image, uint32_t cell)
{
    return (uintptr_t)tn__image_place(&image->view, image->view.cells_at + 1 + cell);
}

/* ---- images that have led a function elsewhere ---- */

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_ENTRIES);
static struct tn__list all = {&all, &all};

static void lock_all(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_ENTRIES, &hooks);
    tn__mutex_lock(&lock);
}

/* 0, too, for an entry that goes on to its version. */
static uint64_t lead_on_from(uint64_t address)
{
    uint64_t to = 0;
    lock_all();
    for (TN_EACH(const struct tn_image, image, &all, redirected)) {
        uint32_t count = image->view.tables[TN__IMAGE_CELL_TABLE].count;
        for (uint32_t cell = 0; cell < count && !to; cell++)
            if (entry_of(image, cell) == address)
                to = __atomic_load_n(word_of(image, cell), __ATOMIC_SEQ_CST);
    }
    tn__mutex_unlock(&lock);
    return to;
}

static void lead_one_away(const struct tn_image *image, uint32_t function, uint64_t start, uint64_t size)
{
    uint32_t cell = tn__image_cell(&image->view, function);
    if (cell == TN__IMAGE_NO_CELL || entry_of(image, cell) - start < size)
        return;
    uint64_t *word = word_of(image, cell), to = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (to - start < size) /* unless the client says otherwise meanwhile */
        __atomic_compare_exchange_n(word, &to, (uintptr_t)tn__image_own_target(image, function), false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static void lead_all_away(uint64_t start, uint64_t size)
{
    lock_all();
    for (TN_EACH(const struct tn_image, image, &all, redirected))
        for (size_t i = 0; i < tn_image_function_count(image); i++)
            lead_one_away(image, (uint32_t)i, start, size);
    tn__mutex_unlock(&lock);
}

static void leave(struct tn_image *image)
{
    lock_all();
    tn__list_remove(&image->redirected);
    tn__mutex_unlock(&lock);
}

static void enter(struct tn_image *image)
{
    static const struct tn__onward entries = {lead_on_from, lead_all_away};
    lock_all();
    if (!image->leave_redirected)
        tn__list_append(&all, &image->redirected);
    image->leave_redirected = leave;
    tn__mutex_unlock(&lock);
    __atomic_store_n(&tn__onward_entries, &entries, __ATOMIC_RELEASE);
}

/* ---- redirecting ---- */

/* Whether a call that goes on at the address comes to the entry, perhaps through others, of any image, and stubs. */
static bool leads_to(uint64_t address, uint64_t entry)
{
    struct tn__onward_walk walk = {0};
    while (address && address != entry && !tn__onward_again(&walk, address)) {
        const struct tn__onward *stubs = tn__onward_by(&tn__onward_stubs);
        uint64_t next = lead_on_from(address);
        address = next ? next : stubs ? stubs->from(address) : 0;
    }
    return address == entry;
}

/* Of two threads that close a circle together, at least one sees it after its store, and takes that back: stubs are
 * checked and led under their session's lock. */
static bool lead(const struct tn_image *image, uint32_t cell, uint64_t address)
{
    uint64_t *word = word_of(image, cell), stored = address, entry = entry_of(image, cell);
    if (leads_to(address, entry))
        return false;
    uint64_t before = __atomic_exchange_n(word, address, __ATOMIC_SEQ_CST);
    return !leads_to(address, entry) ||
           !__atomic_compare_exchange_n(word, &stored, before, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int tn_image_redirect(struct tn_image *image, const char *name, const void *address, struct tn_error *err)
{
    if (!image || !name)
        return tn__no_argument(err);
    const struct tn__image_view *view = &image->view;
    uint32_t function = tn__image_find_function(image, name);
    if (function == UINT32_MAX)
        return tn__fail(err, TN_EUNDEF, "'%s' is not a public function of image %s", name, tn__image_name(view));
    uint32_t cell = tn__image_cell(view, function);
    if (cell == TN__IMAGE_NO_CELL)
        return tn__fail(err, TN_ENOTSUP, "'%s' of image %s was built with direct calls; --replaceable", name,
                        tn__image_name(view));
    enter(image);
    uint64_t to = address ? (uintptr_t)address : (uintptr_t)tn__image_own_target(image, function);
    return lead(image, cell, to) ? 0 : tn__fail(err, TN_EINVAL, "'%s' would lead to itself", name);
}
