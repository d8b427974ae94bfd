/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions: their definition, the first call of a lazy one, and later redirection.
 *
 * Slots are written under the session's lock only, and never so that stubs form a cycle. */

#include <stdatomic.h>

#include "base/kept_errno.h"
#include "base/shown_name.h"
#include "link/redirect/cell.h"
#include "link/session/contents.h"

/* ---- where stubs lead ---- */

static uint64_t target_of(const struct tn__lazy_slot *slot)
{
    return atomic_load_explicit(&slot->target, memory_order_relaxed);
}

static void set_target(struct tn__lazy_slot *slot, uint64_t target)
{
    atomic_store_explicit(&slot->target, target, memory_order_release);
}

/* True if a call of `address` would reach this slot, possibly through other stubs. These form no cycle so far. */
static bool leads_to(const struct tn__lazy_pool *pool, uint64_t address, const struct tn__lazy_slot *slot)
{
    for (;;) {
        const struct tn__lazy_slot *next = tn__lazy_slot_at(pool, address);
        if (!next || next == slot)
            return next != NULL;
        address = target_of(next);
    }
}

static bool has_function(const struct tn__lazy_slot *slot)
{
    return target_of(slot) != (uintptr_t)tn__lazy_machine.removed;
}

/* Where the stub leads if the client does not say: to the newest version, or to the entry. */
static uint64_t below_client(const struct tn__lazy_pool *pool, const struct tn__lazy_record *record)
{
    return record->version ? record->version : pool->entry;
}

static bool holds(const struct tn__places *places, uint64_t address)
{
    size_t below = TN_COUNT_UP_TO(places->items, places->count, address, address);
    return below && address - places->items[below - 1].address < places->items[below - 1].size;
}

static bool is_hidden(const struct tn__lazy_slot *slot)
{
    return has_function(slot) && slot->record->batch->hidden;
}

/* Whether a stub with this target leads to code at one of the places, or to a stub that goes as well. */
static bool leads_there(const struct tn__lazy_pool *pool, uint64_t target, const struct tn__places *places)
{
    const struct tn__lazy_slot *next = tn__lazy_slot_at(pool, target);
    return next ? is_hidden(next) : holds(places, target);
}

/* Every address that is stored in a slot goes through here, and is noted if it is on its way out: whoever calls the
 * stub from now on may not be waited for yet. */
static void note_target(const struct tn_session *session, uint64_t target)
{
    for (TN_EACH(struct tn__retirement, r, &session->retirements, of_session))
        r->is_led_to |= leads_there(tn__lazy_pool_of(session), target, &r->places);
}

int tn__lazy_lead(const struct tn__lazy_pool *pool, struct tn__lazy_slot *slot, uint64_t address, struct tn_error *err)
{
    if (leads_to(pool, address, slot))
        return tn__fail(err, TN_EINVAL, "'%s' would lead to itself", slot->record->entry->name);
    note_target(slot->record->batch->library->session, address);
    set_target(slot, address);
    return 0;
}

int tn__lazy_reset(const struct tn__lazy_pool *pool, struct tn__lazy_slot *slot, struct tn_error *err)
{
    int code = tn__lazy_lead(pool, slot, below_client(pool, slot->record), err);
    slot->record->is_clients &= code != 0;
    return code;
}

/* ---- calls that wait for their function ---- */

/* Under the lock, after a lookup that answered `code`: makes the stub lead to what was found, unless another thread has
 * done so. *address is where the call continues. */
static int settle(struct tn__lazy_slot *slot, const struct tn__lazy_batch *batch, int code, uint64_t *address,
                  struct tn_error *err)
{
    const struct tn__lazy_pool *pool = tn__lazy_pool_of(batch->library->session);
    if (batch->removed) /* its stub may have another function by now; this call still has the one it was meant for */
        return code;
    if (target_of(slot) == pool->entry)
        return code ? code : tn__lazy_lead(pool, slot, *address, err);
    *address = target_of(slot);
    return 0;
}

/* Under the lock. The names of a removed library may be gone before its stubs. */
static const char *name_of(const struct tn__lazy_record *record)
{
    const char *own = record->batch->hidden ? "a removed function" : record->entry->name;
    return record->target ? record->target : own;
}

/* Its libraries may be gone afterwards. */
static void free_batch(struct tn__lazy_batch *batch)
{
    struct tn_library *library = batch->library, *targets = batch->targets;
    for (size_t i = 0; i < batch->count; i++)
        if (tn__lazy_has_later_target(&batch->records[i]))
            tn__free(library->session->allocator, (void *)batch->records[i].target);
    tn__free(library->session->allocator, batch);
    tn__library_release(library);
    if (targets)
        tn__library_release(targets);
}

static int look_up(const struct tn__lazy_batch *batch, const char *target, uint64_t *address, struct tn_error *err)
{
    struct tn_wanted wanted = {target, batch->of_object ? TN_WANTED_HIDDEN : 0, NULL};
    int code =
        target ? tn_lookup_all(batch->targets, &wanted, 1, err) : tn__fail(err, TN_EUNDEF, "it leads nowhere yet");
    if (!code) /* by a thread that makes something, too, because it is going to run the function */
        code = tn__library_initialize(batch->targets, 0, err);
    if (!code)
        *address = (uintptr_t)wanted.address;
    return code;
}

static uint64_t resolve(struct tn__lazy_slot *slot)
{
    const struct tn__lazy_record *record = slot->record;
    struct tn__lazy_batch *batch = record->batch;
    struct tn_session *session = batch->library->session;
    struct tn_error err;
    uint64_t on_failure = batch->on_failure;
    tn__session_lock(session);
    uint64_t address = target_of(slot);
    bool wanting = address == tn__lazy_pool_of(session)->entry;
    const char *target = record->target;
    batch->calls += wanting;
    tn__session_unlock(session);
    if (!wanting)
        return address;
    int code = look_up(batch, target, &address, &err);
    tn__session_lock(session);
    while (record->target != target) { /* there is another body by now, and this one is being retired */
        target = record->target;
        tn__session_unlock(session);
        code = look_up(batch, target, &address, &err);
        tn__session_lock(session);
    }
    code = settle(slot, batch, code, &address, &err);
    if (code)
        tn__append(&err, ", for a call of '%.*s'", (int)tn__shown_length(name_of(record)), name_of(record));
    if (!--batch->calls && batch->removed) {
        tn__list_remove(&batch->owned);
        free_batch(batch);
    }
    tn__session_unlock(session);
    if (!code)
        return address;
    tn__session_report(session, &err);
    return on_failure;
}

uint64_t tn__lazy_resolve(struct tn__lazy_frame *frame)
{
    /* The stub's load acquires, on every machine; this one lets ThreadSanitizer see that. */
    (void)atomic_load_explicit(&frame->slot->target, memory_order_acquire);
    const struct tn__lazy_record *record = frame->slot->record;
    TN__KEEP_ERRNO; /* the function that was called may want to know */
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* the caller does not expect its thread to end here */
    frame->managed_registers = record->managed_registers;
    frame->managed_stack = record->managed_stack;
    const struct tn__lazy_watch *watch = __atomic_load_n(&tn__lazy_watch, __ATOMIC_ACQUIRE);
    bool watched = watch && watch->begin(frame); /* without a lock, because the collector may run then */
    uint64_t address = resolve(frame->slot);
    if (watched)
        watch->end(frame);
    pthread_setcancelstate(cancel, NULL);
    return address;
}

/* ---- definitions ---- */

/* Last to first, so that adjacent stubs are adjacent again when they are reused. */
static void return_stubs(struct tn__lazy_pool *pool, struct tn__lazy_batch *batch)
{
    for (size_t i = batch->count; i--;)
        if (batch->records[i].stub)
            tn__lazy_give(pool, batch->records[i].stub);
}

static void forget_batch(struct tn__lazy_pool *pool, struct tn__lazy_batch *batch)
{
    tn__lazy_tell_removed(batch->library, batch->records, batch->count);
    for (size_t i = 0; !batch->hidden && i < batch->count; i++)
        if (tn__lazy_is_defined(&batch->records[i]))
            tn__entry_forget(batch->library, batch->records[i].entry);
    return_stubs(pool, batch);
    batch->removed = true;
    tn__list_remove(&batch->owned);
    if (batch->calls)
        tn__list_append(&batch->library->session->removed_stubs, &batch->owned);
    else
        free_batch(batch);
}

static void forget_stubs(struct tn_tracker *owner)
{
    while (!tn__list_is_empty(&owner->lazy))
        forget_batch(tn__lazy_pool_of(owner->library->session),
                     tn__container_of(owner->lazy.next, struct tn__lazy_batch, owned));
}

/* Resets the slot if it leads to one of the places. A hidden stub is left as it is: it works as long as its target is
 * there. So is a stub with nothing below and without a function for failures: only the client knows another target. */
static bool lead_slot_away(const struct tn__lazy_pool *pool, struct tn__lazy_slot *slot,
                           const struct tn__places *places)
{
    if (!has_function(slot) || slot->record->batch->hidden || !leads_there(pool, target_of(slot), places))
        return false;
    if (slot->record->version == target_of(slot))
        slot->record->version = 0;
    if (!slot->record->version && !slot->record->batch->on_failure)
        return false;
    tn__lazy_reset(pool, slot, NULL);
    return true;
}

struct tn__lazy_slot *tn__lazy_slot_of(const struct tn__lazy_pool *pool, const struct tn__entry *entry)
{
    struct tn__lazy_slot *slot = entry->kind == TN__ENTRY_ABSOLUTE ? tn__lazy_slot_at(pool, entry->address) : NULL;
    bool used = slot && target_of(slot) != (uintptr_t)tn__lazy_machine.removed;
    return used && slot->record->entry == entry ? slot : NULL;
}

static bool is_stub(const struct tn_session *session, const struct tn__entry *entry)
{
    return tn__lazy_slot_of(tn__lazy_pool_of(session), entry);
}

static struct tn_tracker *const *owner_of(const struct tn_session *session, uint64_t address)
{
    struct tn__lazy_slot *slot = tn__lazy_slot_at(tn__lazy_pool_of(session), address);
    return slot && has_function(slot) ? &slot->record->batch->owner : NULL;
}

static bool lead_away(struct tn_session *session, const struct tn__places *places)
{
    return tn__lazy_each(tn__lazy_pool_of(session), lead_slot_away, places);
}

static const void *best_entry(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, tn__lazy_machine.look);
    size_t best = tn__lazy_machine.way_count - 1;
    while (!tn__lazy_machine.ways[best].size)
        best--;
    return tn__lazy_machine.ways[best].entry;
}

static int open_pool(struct tn_session *session, struct tn_error *err)
{
    if (session->lazy)
        return 0;
    if (!tn__lazy_machine.way_count)
        return tn__fail(err, TN_ENOTSUP, "lazy stubs are not supported on %s yet", tn__arch_host->name);
    struct tn__lazy_pool *pool = tn__arena_array(&session->arena, 1, sizeof *pool);
    if (!pool)
        return tn__no_memory(err, NULL);
    pool->hooks = (struct tn__lazy_hooks){forget_stubs, lead_away, is_stub, owner_of};
    pool->entry = (uintptr_t)best_entry();
    session->lazy = &pool->hooks;
    return 0;
}

int tn__lazy_find_entries(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, struct tn_error *err)
{
    int code = tn__libraries_check(batch->library, batch->targets, err);
    for (size_t i = 0; !code && i < batch->count; i++) {
        batch->records[i].entry = tn__symtab_intern(&batch->library->symtab, symbols[i].name);
        if (!batch->records[i].entry)
            code = tn__fail(err, TN_ENOMEM, "'%s': out of memory", symbols[i].name);
    }
    return code;
}

/* Takes the names that are free, all or none; those it has taken are marked with a stub of 1. */
static int take_names(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, struct tn__journal *journal,
                      struct tn_error *err)
{
    int code = 0;
    for (size_t i = 0; !code && i < batch->count; i++) {
        bool taken;
        code = tn__entry_define(batch->records[i].entry, symbols[i].flags, journal, &taken, err);
        batch->records[i].stub = !code && taken;
    }
    if (code)
        tn__journal_undo(journal);
    return code;
}

/* Observers may refuse; then all is as before. */
static int take_stubs(struct tn__lazy_batch *batch, uint64_t target, struct tn__journal *journal, struct tn_error *err)
{
    struct tn__lazy_pool *pool = tn__lazy_pool_of(batch->library->session);
    note_target(batch->library->session, target);
    for (size_t i = 0; i < batch->count; i++) {
        struct tn__lazy_record *record = &batch->records[i];
        if (record->stub)
            record->stub = record->entry->address = tn__lazy_take(pool, record, target ? target : pool->entry);
    }
    int code = tn__lazy_tell_defined(batch->library, batch->records, batch->count, err);
    if (code) {
        return_stubs(pool, batch);
        tn__journal_undo(journal);
    }
    return code;
}

int tn__lazy_define(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                    struct tn_tracker *owner, struct tn_error *err)
{
    struct tn_session *session = batch->library->session;
    struct tn__journal journal = {.arena.from = session->allocator};
    int code = tn__lazy_find_entries(batch, symbols, err);
    if (!code)
        code = tn__entries_wait(batch->library, batch->targets, &batch->records[0].entry, sizeof batch->records[0],
                                batch->count, err);
    if (!code)
        code = open_pool(session, err);
    if (!code)
        code = tn__lazy_reserve(session, batch->count, err);
    if (!code)
        code = take_names(batch, symbols, &journal, err);
    if (!code)
        code = take_stubs(batch, target, &journal, err);
    if (!code) {
        batch->owner = owner;
        tn__list_append(&owner->lazy, &batch->owned);
        tn__library_use(batch->library);
        if (batch->targets)
            tn__library_use(batch->targets);
        tn__promises_discard(session, &journal);
    }
    tn__journal_free(&journal);
    return code;
}

/* Enters the batch or frees it. */
static int define_batch(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                        struct tn_tracker *owner, struct tn_error *err)
{
    struct tn_session *session = batch->library->session;
    tn__session_lock(session);
    int code = tn__lazy_define(batch, symbols, target, owner ? owner : &batch->library->own, err);
    tn__session_unlock(session);
    if (code)
        tn__free(session->allocator, batch);
    return code;
}

/* ---- public ---- */

int tn__lazy_take_options(const struct tn_library *library, const struct tn_stub_options *given, bool may_fail,
                          struct tn_stub_options *options, struct tn_error *err)
{
    int code = tn__take_options(options, sizeof *options, given, "struct tn_stub_options", err);
    if (code)
        return code;
    if (options->owner && options->owner->library != library)
        return tn__fail(err, TN_EINVAL, "the tracker belongs to another library");
    if (may_fail && !options->on_failure)
        return tn__fail(err, TN_EINVAL, "no function to call when there is none");
    return tn__session_check_here(library->session, "stubs", err);
}

static int check_symbol(const struct tn_library *library, const struct tn_library *targets,
                        const struct tn_lazy_symbol *symbol, struct tn_error *err)
{
    if (!symbol->name || !*symbol->name || (symbol->target && !*symbol->target))
        return tn__fail(err, TN_EINVAL, "a lazy function without a name");
    if (targets == library && (!symbol->target || !strcmp(symbol->name, symbol->target)))
        return tn__fail(err, TN_EINVAL, "'%s' would lead to itself", symbol->name);
    if (symbol->flags & ~(uint64_t)(TN_SYMBOL_WEAK | TN_SYMBOL_HIDDEN))
        return tn__fail(err, TN_EINVAL, "'%s': unknown flags %#llx", symbol->name, (unsigned long long)symbol->flags);
    if (symbol->managed_registers & ~tn__lazy_machine.managed_registers)
        return tn__fail(err, TN_EINVAL, "'%s': unknown managed registers %#x", symbol->name, symbol->managed_registers);
    return 0;
}

/* With room for the names of targets after the records. NULL: out of memory. */
static struct tn__lazy_batch *new_batch(struct tn_library *library, const struct tn_stub_options *options, size_t count,
                                        size_t text)
{
    size_t fixed = sizeof(struct tn__lazy_batch) + text, each = sizeof(struct tn__lazy_record);
    if (count > (SIZE_MAX - fixed) / each)
        return NULL;
    struct tn__lazy_batch *batch = tn__alloc_zeroed(library->session->allocator, 1, fixed + count * each);
    if (!batch)
        return NULL;
    batch->library = library;
    batch->on_failure = (uintptr_t)options->on_failure;
    batch->count = count;
    batch->size = fixed + count * each;
    for (size_t i = 0; i < count; i++)
        batch->records[i].batch = batch;
    return batch;
}

static const char *target_name(const struct tn_lazy_symbol *symbol)
{
    return symbol->target ? symbol->target : symbol->name;
}

static char *copy_symbol(struct tn__lazy_record *record, const struct tn_lazy_symbol *symbol, char *text)
{
    size_t size = strlen(target_name(symbol)) + 1;
    record->target = memcpy(text, target_name(symbol), size);
    record->managed_registers = (uint16_t)symbol->managed_registers;
    record->managed_stack = symbol->managed_stack;
    return text + size;
}

struct tn__lazy_batch *tn__lazy_new_batch(struct tn_library *library, const struct tn_lazy_symbol *symbols,
                                          size_t count, struct tn_library *targets,
                                          const struct tn_stub_options *options)
{
    size_t text = 0;
    for (size_t i = 0; i < count; i++)
        text += strlen(target_name(&symbols[i])) + 1;
    struct tn__lazy_batch *batch = new_batch(library, options, count, text);
    if (!batch)
        return NULL;
    batch->targets = targets;
    char *at = (char *)&batch->records[count];
    for (size_t i = 0; i < count; i++)
        at = copy_symbol(&batch->records[i], &symbols[i], at);
    return batch;
}

int tn_define_lazy(struct tn_library *library, const struct tn_lazy_symbol *symbols, size_t count,
                   struct tn_library *targets, const struct tn_stub_options *given, struct tn_error *err)
{
    struct tn_stub_options options;
    if (!library || !targets || (count && !symbols))
        return tn__fail(err, TN_EINVAL, "lazy functions need a library and one with what they lead to");
    if (targets->session != library->session)
        return tn__fail(err, TN_EINVAL, "library %s is of another session", targets->name);
    int code = tn__lazy_take_options(library, given, true, &options, err);
    for (size_t i = 0; !code && i < count; i++)
        code = check_symbol(library, targets, &symbols[i], err);
    if (code || !count)
        return code;
    struct tn__lazy_batch *batch = tn__lazy_new_batch(library, symbols, count, targets, &options);
    return batch ? define_batch(batch, symbols, 0, options.owner, err) : tn__no_memory(err, NULL);
}

int tn_define_redirectable(struct tn_library *library, const char *name, const void *address,
                           const struct tn_stub_options *given, struct tn_error *err)
{
    struct tn_stub_options options;
    if (!library || !name || !*name)
        return tn__fail(err, TN_EINVAL, "a redirectable function needs a library and a name");
    int code = tn__lazy_take_options(library, given, !address, &options, err);
    if (code)
        return code;
    struct tn__lazy_batch *batch = new_batch(library, &options, 1, 0);
    if (!batch)
        return tn__no_memory(err, NULL);
    return define_batch(batch, &(struct tn_lazy_symbol){.name = name}, (uintptr_t)address, options.owner, err);
}

static int redirect(struct tn_library *library, const char *name, uint64_t address, struct tn_error *err)
{
    const struct tn__lazy_pool *pool = library->session->lazy ? tn__lazy_pool_of(library->session) : NULL;
    struct tn__entry *entry = tn__symtab_find(&library->symtab, name);
    entry = entry ? tn__entry_target(entry) : NULL;
    if (!entry || entry->kind == TN__ENTRY_UNDEFINED)
        return tn__fail(err, TN_EUNDEF, "'%s' is not defined in library %s", name, library->name);
    struct tn__lazy_slot *slot = pool ? tn__lazy_slot_of(pool, entry) : NULL;
    if (!slot)
        return tn__fail(err, TN_EINVAL, "'%s' is not redirectable", name);
    struct tn__lazy_record *record = slot->record;
    if (!address && !record->version && !record->batch->on_failure)
        return tn__fail(err, TN_EINVAL, "'%s' has no function to call when there is none", name);
    int code = address ? tn__lazy_lead(pool, slot, address, err) : tn__lazy_reset(pool, slot, err);
    record->is_clients |= address && !code;
    return code;
}

int tn_redirect(struct tn_library *library, const char *name, const void *address, struct tn_error *err)
{
    if (!library || !name)
        return tn__fail(err, TN_EINVAL, "no library or no name given");
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = redirect(library, name, (uintptr_t)address, err);
    tn__session_unlock(library->session);
    return code;
}
