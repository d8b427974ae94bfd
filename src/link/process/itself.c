/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded code learns of itself where an ordinary program asks the dynamic linker: dladdr, and dl_iterate_phdr
 * (Linux manual pages). Runtimes of languages look for their own segments in this way. Only loaded code gets these
 * functions, as it gets __cxa_atexit: the host's unwinder has other tables of loaded code, and must not see it twice.
 *
 * A library looks like a shared library of the name that its client gave it, with a segment (PT_LOAD) for each stretch
 * of memory of one kind that its objects lie in, and one (PT_TLS), without initial values, around its thread-local
 * data. */

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/shown_name.h"
#include "base/thread.h"
#include "link/model/late.h"
#include "link/process/process.h"
#include "link/tls/tls.h"

#pragma weak dladdr

/* ---- where libraries lie ---- */

/* In memory of one kind. */
struct piece {
    uint64_t start, end;
    enum tn_zone zone;
    uint32_t library; /* number in the snapshot */
};

struct library {
    const char *name;
    int64_t tls_start, tls_end; /* distances from the thread pointer; 0, 0: it has no thread-local data there */
};

/* Of all libraries of the process, so that no lock is held while it is used. */
struct snapshot {
    struct tn__arena arena; /* for names and headers */
    struct piece *pieces;
    size_t count, capacity;
    struct library *libraries;
    size_t library_count, library_capacity;
    unsigned long long adds, subs;           /* of what was linked and removed so far */
    unsigned long long host_adds, host_subs; /* of the host's libraries */
};

/* `part`: a zone, or TN__PART_TLS. */
typedef bool visit_range(void *context, int part, const struct tn__mem_range *range);

static bool each_range(struct tn_library *library, visit_range *visit, void *context)
{
    bool ok = true;
    for (struct tn_tracker *tracker = NULL; ok && (tracker = tn__library_next_tracker(library, tracker));)
        for (TN_EACH(const struct tn__object, object, &tracker->objects, owned)) {
            for (int part = 0; ok && part < TN__PARTS; part++)
                ok = object->data || !object->ranges[part] || visit(context, part, object->ranges[part]);
            const struct tn__gathering *shared;
            for (const struct tn__gathered *next = object->data ? NULL : object->gathered;
                 ok && (shared = tn__gathered_next(&next));)
                ok = visit(context, shared->zone, shared->range);
        }
    return ok;
}

static bool add_range(void *context, int part, const struct tn__mem_range *range)
{
    struct snapshot *s = context;
    struct library *library = &s->libraries[s->library_count - 1];
    if (part == TN__PART_IMAGE)
        return true; /* it shows its own segments */
    if (part == TN__PART_TLS) {
        if (tn__tls_is_dynamic(range->address))
            return true; /* not beside the others, and perhaps not there yet */
        int64_t start = (int64_t)tn__tls_distance(range), end = start + (int64_t)range->size;
        bool first = library->tls_start == library->tls_end;
        library->tls_start = first || start < library->tls_start ? start : library->tls_start;
        library->tls_end = first || end > library->tls_end ? end : library->tls_end;
        return true;
    }
    if (!tn__grow(NULL, &s->pieces, &s->capacity, s->count + 1, sizeof *s->pieces))
        return false;
    s->pieces[s->count++] = (struct piece){range->address, range->address + range->size, (enum tn_zone)part,
                                           (uint32_t)s->library_count - 1};
    return true;
}

static bool add_libraries(struct snapshot *s, const struct tn_session *session) TN__LOCKED
{
    bool ok = true;
    for (struct tn_library *library = session->libraries; ok && library; library = library->next) {
        ok = tn__grow(NULL, &s->libraries, &s->library_capacity, s->library_count + 1, sizeof *s->libraries);
        if (ok) /* callers keep names as long as the library is there */
            s->libraries[s->library_count++] = (struct library){.name = library->name};
        ok = ok && each_range(library, add_range, s);
    }
    s->adds += session->stats.objects;
    s->subs += session->revision;
    return ok;
}

static int by_address(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_library(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->library != y->library ? (x->library > y->library) - (x->library < y->library) : by_address(a, b);
}

/* Pieces of one library and kind that lie side by side become one. What lies between them is on a page of theirs. */
static void join_pieces(struct snapshot *s)
{
    size_t kept = 0, page = tn__os_page_size();
    qsort(s->pieces, s->count, sizeof *s->pieces, by_address);
    for (size_t i = 0; i < s->count; i++) {
        struct piece *last = kept ? &s->pieces[kept - 1] : NULL, piece = s->pieces[i];
        if (!last || last->library != piece.library || last->zone != piece.zone || last->end + page <= piece.start)
            s->pieces[kept++] = piece;
        else if (last->end < piece.end)
            last->end = piece.end;
    }
    s->count = kept;
    qsort(s->pieces, s->count, sizeof *s->pieces, by_library);
}

static bool take_snapshot(struct snapshot *s)
{
    bool ok = true;
    tn__sessions_lock();
    for (struct tn_session *session = NULL; ok && (session = tn__sessions_next(session));) {
        if (tn__session_is_elsewhere(session))
            continue;
        tn__session_lock(session);
        ok = add_libraries(s, session);
        tn__session_pause(session);
    }
    tn__sessions_unlock();
    if (ok && s->count)
        join_pieces(s);
    return ok;
}

static void free_snapshot(struct snapshot *s)
{
    tn__free(NULL, s->pieces);
    tn__free(NULL, s->libraries);
    tn__arena_free(&s->arena);
}

/* ---- dl_iterate_phdr ---- */

static tn__visit_images *images; /* NULL: there is none */

void tn__itself_watch_images(tn__visit_images *all)
{
    __atomic_store_n(&images, all, __ATOMIC_RELAXED);
}

typedef int visit_info(struct dl_phdr_info *info, size_t size, void *context);

struct iteration {
    visit_info *visit;
    void *context;
    struct snapshot snapshot;
};

/* All counts of one iteration are those of the host and of loaded code together: callers keep what they have found
 * until these change. */
static int visit_host(struct dl_phdr_info *info, size_t size, void *context)
{
    struct iteration *iteration = context;
    struct snapshot *s = &iteration->snapshot;
    struct dl_phdr_info all = *info;
    s->host_adds = info->dlpi_adds;
    s->host_subs = info->dlpi_subs;
    all.dlpi_adds += s->adds;
    all.dlpi_subs += s->subs;
    return iteration->visit(&all, size < sizeof all ? size : sizeof all, iteration->context);
}

static Elf64_Phdr header_of(const struct piece *piece, uint64_t base)
{
    static const Elf64_Word flags[] = {
        [TN_ZONE_CODE] = PF_R | PF_X, [TN_ZONE_RODATA] = PF_R, [TN_ZONE_DATA] = PF_R | PF_W};
    uint64_t size = piece->end - piece->start;
    return (Elf64_Phdr){.p_type = PT_LOAD,
                        .p_flags = flags[piece->zone],
                        .p_vaddr = piece->start - base,
                        .p_paddr = piece->start - base,
                        .p_filesz = size,
                        .p_memsz = size,
                        .p_align = 1};
}

/* The initial values are elsewhere, so that the segment has none. */
static bool describe_tls(const struct library *library, struct dl_phdr_info *info, Elf64_Phdr *header)
{
    uint64_t size = (uint64_t)(library->tls_end - library->tls_start);
    if (!size)
        return false;
    *header = (Elf64_Phdr){.p_type = PT_TLS, .p_flags = PF_R, .p_memsz = size, .p_align = 1};
    info->dlpi_tls_modid = (size_t)library->tls_start + TN__TLS_MODULE; /* tls.h */
    info->dlpi_tls_data = tn__thread_pointer() + library->tls_start;
    return true;
}

/* Visits one library. A list can have UINT16_MAX segments, so a library may need several lists. There is space for one
 * more header. */
static int visit_library(const struct iteration *iteration, const struct piece *pieces, size_t count,
                         Elf64_Phdr *headers)
{
    const struct snapshot *s = &iteration->snapshot;
    const struct library *library = &s->libraries[pieces->library];
    struct dl_phdr_info info = {.dlpi_addr = pieces->start,
                                .dlpi_name = library->name,
                                .dlpi_adds = s->host_adds + s->adds,
                                .dlpi_subs = s->host_subs + s->subs};
    int code = 0;
    size_t all = describe_tls(library, &info, headers);
    for (size_t i = 0; i < count; i++)
        headers[all++] = header_of(&pieces[i], pieces->start);
    for (size_t done = 0; !code && done < all; done += info.dlpi_phnum) {
        info.dlpi_phdr = headers + done;
        info.dlpi_phnum = all - done < UINT16_MAX ? (Elf64_Half)(all - done) : UINT16_MAX;
        code = iteration->visit(&info, sizeof info, iteration->context);
    }
    return code;
}

static int visit_libraries(struct iteration *iteration)
{
    struct snapshot *s = &iteration->snapshot;
    Elf64_Phdr *headers = tn__arena_array(&s->arena, s->count + 1, sizeof *headers);
    int code = headers ? 0 : -1;
    for (size_t start = 0, end; !code && start < s->count; start = end) {
        for (end = start + 1; end < s->count && s->pieces[end].library == s->pieces[start].library; end++)
            ;
        code = visit_library(iteration, s->pieces + start, end - start, headers);
    }
    return code;
}

int tn__dl_iterate_phdr(visit_info *visit, void *context)
{
    struct iteration iteration = {visit, context, {.arena = {0}}};
    int code = take_snapshot(&iteration.snapshot) ? 0 : -1;
    if (!code)
        code = dl_iterate_phdr(visit_host, &iteration);
    if (!code)
        code = visit_libraries(&iteration);
    tn__visit_images *all = __atomic_load_n(&images, __ATOMIC_RELAXED);
    const struct snapshot *s = &iteration.snapshot;
    if (!code && all)
        code = all(visit, context, s->host_adds + s->adds, s->host_subs + s->subs);
    free_snapshot(&iteration.snapshot);
    return code;
}

/* ---- dladdr ---- */

static bool note_base(void *base, int part, const struct tn__mem_range *range)
{
    if (part != TN__PART_TLS && range->address < *(uint64_t *)base)
        *(uint64_t *)base = range->address;
    return true;
}

/* As a dynamic linker does: the symbol that the address is within, among those that other libraries see. */
static const struct tn__entry *symbol_at(const struct tn__object *object, uint64_t address)
{
    const struct tn__entry *best = NULL;
    for (uint32_t i = 0; i < object->entry_count; i++) {
        const struct tn__entry *entry = object->entries[i];
        if (entry->kind != TN__ENTRY_LINKED || entry->object != object || entry->hidden || entry->thread_local ||
            address - entry->address >= (entry->size ? entry->size : 1))
            continue;
        if (!best || best->address < entry->address)
            best = entry;
    }
    return best;
}

static const struct tn__entry *stub_at(const struct tn_library *library, uint64_t address)
{
    for (size_t i = 0; library->symtab.slots && i <= library->symtab.mask; i++) {
        const struct tn__entry *entry = library->symtab.slots[i];
        if (entry && entry->kind == TN__ENTRY_ABSOLUTE && entry->address == address && !entry->hidden)
            return entry;
    }
    return NULL;
}

/* The name that the program knows: what leads to a body of the JIT's is called as the function. NULL: it is local. */
static const char *name_of(const struct tn_library *library, const struct tn__entry *entry)
{
    size_t length = tn__shown_length(entry->name);
    if (!entry->name[length])
        return entry->name;
    for (size_t i = 0; library->symtab.slots && i <= library->symtab.mask; i++) {
        const struct tn__entry *other = library->symtab.slots[i];
        if (other && !strncmp(other->name, entry->name, length) && !other->name[length])
            return other->name;
    }
    return NULL;
}

struct question {
    uint64_t address;
    Dl_info *info;
};

static int answer(void *context, struct tn__object *object, struct tn_tracker *const *owner) TN__LOCKED
{
    const struct question *question = context;
    struct tn_library *library = (*owner)->library;
    uint64_t base = question->address; /* of a library that has stubs only */
    each_range(library, note_base, &base);
    if (object && object->ranges[TN__PART_IMAGE])
        base = object->ranges[TN__PART_IMAGE]->address;
    tn__symtab_enter_late(&library->symtab); /* without memory there is no name */
    const struct tn__entry *entry = object ? symbol_at(object, question->address) : stub_at(library, question->address);
    const char *name = entry ? name_of(library, entry) : NULL;
    *question->info = (Dl_info){.dli_fname = library->name,
                                .dli_fbase = (void *)(uintptr_t)base,
                                .dli_sname = name,
                                .dli_saddr = name ? (void *)(uintptr_t)entry->address : NULL};
    return 0;
}

int tn__dladdr(const void *address, void *info)
{
    struct question question = {(uintptr_t)address, info};
    if (!tn__keep_with_owner(&address, 1, answer, &question))
        return 1;
    return dladdr ? dladdr(address, info) : 0;
}
