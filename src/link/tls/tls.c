/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <elf.h>
#include <errno.h>

#include "base/kept_errno.h"
#include "base/os.h"
#include "base/thread.h"
#include "link/tls/tls.h"

/* Objects linked into the reserve are numbered; the number of the newest is part of the reserve itself, so every thread
 * knows which of them its block was made with. */
uint64_t tn__tls_newest;

const struct tn__tls_dynamic *tn__tls_dynamic;
uint64_t tn__tls_dynamic_newest;
__thread struct tn__tls_own tn__tls_own __attribute__((tls_model("initial-exec")));

/* All guarded by the threads' lock. */
static struct {
    bool looked, found;
    bool read_only;               /* the image has to be opened for writing */
    struct tn__tls_header *image; /* the reserve's part of the initialisation image */
    struct tn__tls_area *area;
    uint64_t edge;    /* from where ranges are counted, as a distance from the beginning of the reserve; */
    bool upwards;     /* in which direction */
    uint8_t *initial; /* bytes_of(initial, range): the initial values */
    struct tn__range_pool pool;
    struct tn__ranges space;
    struct tn__tls_block *blocks;
} tls;

static uint64_t reserve_offset(void)
{
    return (uint64_t)((uint8_t *)tn_tls_reserve - tn__thread_pointer());
}

/* Ranges are counted from the edge, so that what is in use lies next to it: an area need not be larger than that. */
static uint8_t *bytes_of(void *reserve, const struct tn__mem_range *range)
{
    uint64_t distance = tls.upwards ? range->address : -range->address - range->size;
    return (uint8_t *)reserve + (tls.edge + distance);
}

static struct tn__tls_header *reserve_of(const struct tn__thread *thread)
{
    return (struct tn__tls_header *)(thread->thread_pointer + reserve_offset());
}

/* ---- the initialisation image ---- */

/* An array of unknown length: the program headers lie behind the ELF header. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static const Elf64_Phdr *find_segment(uint32_t type)
{
    const Elf64_Ehdr *elf = (const void *)__ehdr_start;
    const Elf64_Phdr *headers = (const void *)(__ehdr_start + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum; i++)
        if (headers[i].p_type == type)
            return &headers[i];
    return NULL;
}

/* The segment's image begins like every thread's block does, so the reserve lies as far into the one as into the other.
 * But only the C library knows where a block begins. The magic number, which nothing else in the image has, shows the
 * place. */
_Static_assert(sizeof(struct tn__tls_header) % TN__RANGE_GRANULE == 0, "ranges are aligned");

static bool find_image(void)
{
    const Elf64_Phdr *segment = find_segment(PT_TLS), *first = find_segment(PT_LOAD);
    const Elf64_Phdr *relro = find_segment(PT_GNU_RELRO);
    if (!segment || !first)
        return false;
    const struct tn__tls_header *mine = (const void *)tn_tls_reserve;
    uint64_t bias = (uintptr_t)__ehdr_start - (first->p_vaddr - first->p_offset);
    uint8_t *image = (uint8_t *)(uintptr_t)(bias + segment->p_vaddr);
    for (uint64_t at = 0; tn__inside(at, tn_tls_reserve_size, segment->p_filesz); at += 8)
        if (tn__get64(image + at) == mine->magic) {
            tls.image = (struct tn__tls_header *)(void *)(image + at);
            tls.read_only =
                relro && segment->p_vaddr >= relro->p_vaddr && segment->p_vaddr + at < relro->p_vaddr + relro->p_memsz;
            return true;
        }
    return false;
}

static int open_image(enum tn__prot prot)
{
    uint64_t page = tn__os_page_size(), start = (uintptr_t)tls.image & -page;
    uint64_t end = tn__align_up((uintptr_t)tls.image + tn_tls_reserve_size, page);
    return tls.read_only ? tn__os_protect(start, end - start, prot) : 0;
}

/* ---- threads ---- */

/* Only its own thread writes into a block, but for publish, which does so under the lock, and for creating threads. */
static void update(struct tn__tls_header *mine)
{
    for (const struct tn__tls_block *block = tls.blocks; block && block->number > mine->newest; block = block->next)
        memcpy(bytes_of(mine, block->range), bytes_of(tls.initial, block->range), block->range->size);
    __atomic_store_n(&mine->newest, tls.image->newest, __ATOMIC_RELEASE);
}

static void on_attach(struct tn__thread *thread)
{
    update(reserve_of(thread));
}

static void update_all(void)
{
    update((struct tn__tls_header *)(void *)tn_tls_reserve);
    for (struct tn__thread *thread = tn__threads_first(); thread; thread = thread->next)
        update(reserve_of(thread));
}

void tn__tls_fill(uint8_t *thread_pointer)
{
    tn__threads_lock();
    for (const struct tn__tls_block *block = tls.area ? tls.blocks : NULL; block; block = block->next)
        memcpy(bytes_of(thread_pointer + reserve_offset(), block->range), bytes_of(tls.initial, block->range),
               block->range->size);
    if (tls.area && tls.image)
        ((struct tn__tls_header *)(void *)(thread_pointer + reserve_offset()))->newest = tls.image->newest;
    tn__threads_unlock();
}

void tn__tls_catch_up(void)
{
    TN__KEEP_ERRNO;
    tn__threads_lock();
    update((struct tn__tls_header *)(void *)tn_tls_reserve);
    tn__threads_unlock();
}

/* ---- ranges ---- */

void tn__tls_use(struct tn__tls_area *area)
{
    tls.area = area;
}

static bool open_ranges(void)
{
    struct tn__tls_area *area = tls.area;
    tls.upwards = area && tn__arch_host->tls_above;
    if (area) {
        area->used = 0;
        tls.edge = area->edge - reserve_offset();
        tls.initial = area->initial_edge - tls.edge;
        return tn__ranges_open(&tls.space, &tls.pool, 0, area->size, NULL);
    }
    size_t size = tn_tls_reserve_size & -(size_t)TN__RANGE_GRANULE;
    tls.edge = tn__align_up(size, TN_TLS_RESERVE_ALIGNMENT);
    tls.initial = (uint8_t *)tls.image;
    return tn__ranges_open(&tls.space, &tls.pool, tls.edge - size, size - sizeof(struct tn__tls_header), NULL);
}

static int find_reserve(struct tn_error *err)
{
    if (!tls.looked) {
        tls.looked = true;
        tls.found = find_image();
    }
    if (!tls.found)
        return tn__fail(err, TN_ENOTSUP,
                        "thread-local storage: the program's TLS segment holds no reserve for loaded "
                        "objects");
    if (!tls.space.class_bits && !tls.space.used && !open_ranges())
        return tn__no_memory(err, NULL);
    tn__threads_on_attach(on_attach);
    return 0;
}

static bool is_in_area(const struct tn__mem_range *range)
{
    uint64_t end = range->address + range->size;
    if (tls.area && end <= tls.area->size)
        tls.area->used = tn__max64(tls.area->used, end);
    return !tls.area || end <= tls.area->size;
}

static int take_variables(size_t size, size_t alignment, struct tn__mem_range **range, struct tn_error *err)
{
    bool no_memory;
    int code = find_reserve(err);
    if (code)
        return code;
    /* Offsets are aligned as addresses are: the reserve itself is aligned to TN_TLS_RESERVE_ALIGNMENT. */
    if (alignment > TN_TLS_RESERVE_ALIGNMENT)
        return tn__fail(err, TN_ENOTSUP, "thread-local storage aligned to %zu bytes; at most %d are supported",
                        alignment, TN_TLS_RESERVE_ALIGNMENT);
    /* Both ends of a range have to be aligned, for both directions; the maximum is for sizes that cannot be rounded
     * up. */
    *range = tn__ranges_take(&tls.space, tn__max64(size, tn__align_up(size, alignment)), alignment, &no_memory);
    if (*range && is_in_area(*range))
        return 0;
    if (no_memory)
        return tn__no_memory(err, NULL);
    if (*range)
        tn__ranges_give(&tls.space, *range);
    return tn__fail(err, TN_ENOMEM,
                    "%zu bytes of thread-local storage do not fit the reserve of %zu, of which %zu are in use; %s",
                    size, tls.area ? tls.area->size : tn_tls_reserve_size, (size_t)tls.space.used,
                    tls.area ? tls.area->advice : "define a larger one in the program with TN_TLS_RESERVE");
}

uint64_t tn__tls_distance(const struct tn__mem_range *range)
{
    return (uint64_t)(bytes_of((void *)tn_tls_reserve, range) - tn__thread_pointer());
}

int tn__tls_take(size_t size, size_t alignment, bool may_be_dynamic, struct tn__mem_range **range, uint64_t *place,
                 struct tn_error *err)
{
    tn__threads_lock();
    int code = take_variables(size, alignment, range, err);
    if (!code)
        *place = tn__tls_distance(*range);
    else if (may_be_dynamic)
        code = tn__tls_dynamic->take(size, alignment, range, place, err);
    tn__threads_unlock();
    return code;
}

static int fill_variables(struct tn__mem_range *range, const uint8_t *initial, size_t size, struct tn_error *err)
{
    struct tn__tls_block *block = tn__alloc(NULL, sizeof *block);
    if (!block)
        return tn__no_memory(err, NULL);
    int error = open_image(TN__PROT_RW);
    if (error) {
        tn__free(NULL, block);
        return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EPERM, "the program's TLS image cannot be written: %s",
                        strerror(error));
    }
    tn__tls_look();
    *block = (struct tn__tls_block){.next = tls.blocks, .range = range, .number = tls.image->newest + 1};
    tls.blocks = block;
    memcpy(bytes_of(tls.initial, range), initial, size);
    memset(bytes_of(tls.initial, range) + size, 0, range->size - size);
    tls.image->newest = block->number;
    open_image(TN__PROT_R); /* what was permitted before is permitted again; if not, it only stays writable */
    update_all();
    __atomic_store_n(&tn__tls_newest, block->number, __ATOMIC_RELEASE);
    return 0;
}

int tn__tls_publish(struct tn__mem_range *range, const uint8_t *initial, size_t size, struct tn_error *err)
{
    tn__threads_lock();
    int code = tn__tls_is_dynamic(range->address) ? tn__tls_dynamic->publish(range, initial, size, err)
                                                  : fill_variables(range, initial, size, err);
    tn__threads_unlock();
    return code;
}

void tn__tls_drop_block(struct tn__tls_block **newest, const struct tn__mem_range *range)
{
    for (struct tn__tls_block **at = newest; *at; at = &(*at)->next)
        if ((*at)->range == range) {
            struct tn__tls_block *block = *at;
            *at = block->next;
            tn__free(NULL, block);
            break;
        }
}

static void give_variables(struct tn__mem_range *range)
{
    tn__tls_drop_block(&tls.blocks, range);
    tn__ranges_give(&tls.space, range);
    if (!tls.space.used) { /* nothing of the process stays allocated when nothing is loaded */
        tn__arena_free(&tls.pool.descriptors);
        tls.pool = (struct tn__range_pool){0};
        tls.space = (struct tn__ranges){0};
    }
}

void tn__tls_give(struct tn__mem_range *range)
{
    tn__threads_lock();
    if (tn__tls_is_dynamic(range->address))
        tn__tls_dynamic->give(range);
    else
        give_variables(range);
    tn__threads_unlock();
}

/* ---- what loaded code reads and calls ---- */

/* Arguments of __tls_get_addr (Drepper, "ELF Handling For Thread-Local Storage", 3.4), or a TLS descriptor. */
void tn__tls_fill_slot(uint8_t *at, enum tn__slot kind, uint64_t place, uint64_t descriptor, uint16_t bias)
{
    tn__put64(at, kind == TN__SLOT_TLS_DESC ? descriptor : TN__TLS_MODULE);
    tn__put64(at + 8, kind == TN__SLOT_TLS_BASE ? 0 : kind == TN__SLOT_TLS_INDEX ? place - bias : place);
}

void *tn__tls_at(uint64_t place)
{
    if (tn__tls_is_dynamic(place))
        return tn__tls_dynamic->find(place);
    tn__tls_refresh();
    return tn__thread_pointer() + place;
}

void *tn__tls_get_addr(const uint64_t index[2])
{
    return tn__tls_at((index[0] - TN__TLS_MODULE) + index[1] + tn__arch_host->tls_index_bias);
}
