/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local variables beyond the reserve: of objects whose code asks for the place of each. Every thread has the
 * same layout of them, in address space of its own, which it reserves when it first asks; so the place of a variable
 * is an offset, as in the reserve. Pages are committed as far as objects use them. Objects are numbered, and a thread
 * that asks copies the initial values of those that are newer than its memory. Only its own thread writes there.
 *
 * A link can fail, a thread that asks cannot. If the system has no memory then, the answer is an address in space that
 * is reserved and inaccessible: what needs the variable gets SIGSEGV there, and may handle it, as the fault of a stack
 * that is full; what only takes its address goes on. Variables that the thread has already stay where they are.
 *
 * A thread gives its memory back when it ends, but for what destructors of thread-specific data use in the last of
 * their rounds. In the child of a fork, the memory of other threads stays, as that of their stacks does. */

#include "base/kept_errno.h"
#include "base/os.h"
#include "base/thread.h"
#include "link/tls/tls.h"

/* Within reach of 32 signed bits, which code of the local-dynamic model has for offsets. */
enum { SPACE = 64 << 20, FIRST = TN__RANGE_GRANULE }; /* no offset is 0 */

/* All guarded by the threads' lock. */
static struct {
    uint64_t nowhere; /* inaccessible; 0: no object has dynamic variables */
    struct tn__range_pool pool;
    struct tn__ranges space;
    struct tn__tls_block *blocks;
} dynamic;

/* ---- the memory of a thread ---- */

static void free_own(void)
{
    if (tn__tls_own.start)
        tn__os_release(tn__tls_own.start, SPACE);
    tn__tls_own = (struct tn__tls_own){0};
}

static void at_end(bool last)
{
    if (last)
        free_own();
}

/* The end of what the objects need that are newer than the memory, as an offset. */
static uint64_t end_of_new(void)
{
    uint64_t end = 0;
    for (const struct tn__tls_block *block = dynamic.blocks; block && block->number > tn__tls_own.newest;
         block = block->next)
        end = tn__max64(end, block->range->address - TN__TLS_DYNAMIC + block->range->size);
    return tn__align_up(end, tn__os_page_size());
}

static bool commit(uint64_t end)
{
    struct tn__tls_own *own = &tn__tls_own;
    if (!own->start && tn__os_reserve(0, SPACE, false, &own->start))
        return false;
    if (end > own->committed) {
        if (tn__os_commit(own->start + own->committed, end - own->committed, TN__PROT_RW))
            return false;
        own->committed = end;
    }
    own->bias = own->start - TN__TLS_DYNAMIC;
    return true;
}

/* `zeros`: the offset from which on the memory is fresh. */
static void fill(const struct tn__tls_block *block, uint64_t zeros)
{
    uint64_t offset = block->range->address - TN__TLS_DYNAMIC, size = block->range->size;
    uint8_t *at = (void *)(uintptr_t)(tn__tls_own.start + offset);
    memcpy(at, block->initial, block->size);
    if (offset + block->size < zeros)
        memset(at + block->size, 0, tn__min64(size, zeros - offset) - block->size);
}

/* True if the thread has the variable, whatever newer ones lack. */
static bool has(uint64_t place)
{
    for (const struct tn__tls_block *block = dynamic.blocks; block; block = block->next)
        if (place - block->range->address < block->range->size)
            return block->number <= tn__tls_own.newest;
    return false;
}

/* False: the system has no memory. */
static bool catch_up(void)
{
    uint64_t zeros = tn__tls_own.committed;
    if (!commit(end_of_new()))
        return false;
    for (const struct tn__tls_block *block = dynamic.blocks; block && block->number > tn__tls_own.newest;
         block = block->next)
        fill(block, zeros);
    tn__tls_own.newest = tn__tls_dynamic_newest;
    return true;
}

static __attribute__((noinline)) void *find_new(uint64_t place)
{
    TN__KEEP_ERRNO;
    tn__thread_at_end(TN__END_VARIABLES, at_end); /* if the system cannot tell, the memory stays */
    tn__threads_lock();
    uint64_t base = catch_up() || has(place) ? tn__tls_own.start : dynamic.nowhere;
    tn__threads_unlock();
    return (void *)(uintptr_t)(base + (place - TN__TLS_DYNAMIC));
}

static void *find(uint64_t place)
{
    bool is_new = tn__tls_own.newest != __atomic_load_n(&tn__tls_dynamic_newest, __ATOMIC_ACQUIRE);
    if (__builtin_expect(is_new, 0))
        return find_new(place);
    return (void *)(uintptr_t)(place + tn__tls_own.bias);
}

static void *peek(uint64_t place)
{
    tn__threads_lock();
    uint64_t address = has(place) ? place + tn__tls_own.bias : 0;
    tn__threads_unlock();
    return (void *)(uintptr_t)address;
}

static bool is_nowhere(const void *address)
{
    return (uintptr_t)address - dynamic.nowhere < SPACE;
}

/* ---- objects ---- */

static int open_space(struct tn_error *err)
{
    if (dynamic.nowhere)
        return 0;
    if (tn__os_reserve(0, SPACE, false, &dynamic.nowhere)) {
        dynamic.nowhere = 0;
        return tn__no_memory(err, NULL);
    }
    return tn__ranges_open(&dynamic.space, &dynamic.pool, TN__TLS_DYNAMIC + FIRST, SPACE - FIRST, NULL)
               ? 0
               : tn__no_memory(err, NULL);
}

static void close_space(void)
{
    tn__arena_free(&dynamic.pool.descriptors);
    tn__os_release(dynamic.nowhere, SPACE);
    memset(&dynamic, 0, sizeof dynamic);
    free_own(); /* that of other threads stays until they end */
}

static int take_in_space(size_t size, size_t alignment, struct tn__mem_range **range, struct tn_error *err)
{
    bool no_memory;
    if (alignment > tn__os_page_size())
        return tn__fail(err, TN_ENOTSUP, "thread-local storage aligned to %zu bytes; at most a page is supported",
                        alignment);
    *range = tn__ranges_take(&dynamic.space, size, alignment, &no_memory);
    if (*range)
        return 0;
    if (no_memory)
        return tn__no_memory(err, NULL);
    return tn__fail(err, TN_ENOMEM,
                    "%zu bytes of thread-local storage fit neither the reserve of %zu nor the %d bytes beyond it, of "
                    "which %zu are in use; define a larger reserve in the program with TN_TLS_RESERVE",
                    size, tn_tls_reserve_size, SPACE, (size_t)dynamic.space.used);
}

static int take(size_t size, size_t alignment, struct tn__mem_range **range, uint64_t *place, struct tn_error *err)
{
    int code = open_space(err);
    if (!code)
        code = take_in_space(size, alignment, range, err);
    if (!code)
        *place = (*range)->address;
    else if (dynamic.nowhere && !dynamic.space.used)
        close_space();
    return code;
}

static int publish(struct tn__mem_range *range, const uint8_t *initial, size_t size, struct tn_error *err)
{
    struct tn__tls_block *block = tn__alloc(NULL, sizeof *block + size);
    if (!block)
        return tn__no_memory(err, NULL);
    tn__tls_look();
    *block = (struct tn__tls_block){
        .next = dynamic.blocks, .range = range, .number = tn__tls_dynamic_newest + 1, .size = size};
    memcpy(block->initial, initial, size);
    dynamic.blocks = block;
    __atomic_store_n(&tn__tls_dynamic_newest, block->number, __ATOMIC_RELEASE);
    return 0;
}

static void give(struct tn__mem_range *range)
{
    tn__tls_drop_block(&dynamic.blocks, range);
    tn__ranges_give(&dynamic.space, range);
    if (!dynamic.space.used)
        close_space();
}

void tn__tls_offer_dynamic(void)
{
    static struct tn__tls_dynamic functions = {NULL, take, publish, give, find, peek, is_nowhere};
    tn__threads_lock();
    if (!tn__tls_dynamic) {
        functions.descriptor = tn__tls_dynamic_descriptor;
        tn__tls_dynamic = &functions;
    }
    tn__threads_unlock();
}
