/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local storage of loaded objects.
 *
 * Stock compilers use the local-exec and initial-exec models even under -fPIC, so a loaded variable needs a fixed
 * distance from the thread pointer in every thread. Such space exists only in the program's own TLS segment: a block
 * of it is reserved there (tls_reserve.c) and handed out to objects. The initial values are written into the segment's
 * initialisation image, from which the C library fills the block of every thread it creates, into the block of the
 * calling thread, and into those of the threads that are attached. Any other thread that is older than the object gets
 * them when it asks for the place of a variable, in the general-, the local-dynamic model and by descriptor: the
 * number of the newest object is kept in each block. Works alike in glibc and musl, dynamic and static.
 *
 * An object whose code asks for the place of every variable does not need the fixed distance. If the reserve is full,
 * its variables are dynamic: they lie in memory that each thread gets when it first asks (tls_dynamic.c). The *place*
 * of a variable is its distance from the thread pointer, or a number that is none: TN__TLS_DYNAMIC and an offset. */

#ifndef TENON_TLS_H
#define TENON_TLS_H

#include "base/thread.h"
#include "link/arch/reloc.h"
#include "link/memory/ranges.h"

#pragma GCC visibility push(hidden)

/* Takes a part of the reserve; *place is its distance from the thread pointer. If there is no space, and
 * `may_be_dynamic`, which was offered then, takes memory beyond it. TN_ENOMEM (the text names the reserve's size),
 * TN_ENOTSUP (no reserve can be found in this program). */
int tn__tls_take(size_t size, size_t alignment, bool may_be_dynamic, struct tn__mem_range **range, uint64_t *place,
                 struct tn_error *err);

/* Sets the initial values in all present and future threads: `size` bytes, and zeros up to the size of the range.
 * TN_ENOMEM, TN_EPERM (the system refuses to make the image writable). */
int tn__tls_publish(struct tn__mem_range *range, const uint8_t *initial, size_t size, struct tn_error *err);

void tn__tls_give(struct tn__mem_range *range);

/* Fills in the two words of a GOT slot for a variable at this place. `descriptor` is the address of the function that a
 * TLS descriptor calls; `bias` what __tls_get_addr adds. */
void tn__tls_fill_slot(uint8_t *at, enum tn__slot kind, uint64_t place, uint64_t descriptor, uint16_t bias);

/* TN_ENOTSUP if the process has a thread that is not attached: it does not get initial values of `object`, whose code
 * does not ask for its variables. */
int tn__tls_check_threads(const char *object, struct tn_error *err);

/* ---- a larger reserve ---- */

/* Space beside the program's TLS segment, of a program that adds some to the block of every thread: it is used instead
 * of the reserve. It lies on the side where the system's blocks grow: below the segment, or above it where thread-local
 * data lies above the thread pointer (tls_above of struct tn__arch). What is in use is next to the segment. */
struct tn__tls_area {
    uint64_t edge;         /* distance from the thread pointer, of the end that is next to the segment; aligned to
                            * TN_TLS_RESERVE_ALIGNMENT */
    uint8_t *initial_edge; /* the same end of `size` bytes for the initial values, zero at first */
    size_t size;           /* every thread that uses loaded variables has this much; may be lowered to `used` or more */
    size_t used;           /* set by tn__tls_take: how much has ever been in use, counted from the edge */
    const char *advice;    /* what to do if this is not enough, for messages */
};

/* Before the first object is linked, and while no thread is attached. */
void tn__tls_use(struct tn__tls_area *area);

/* Sets the initial values in the area of a thread that is being created; the program calls it for each. */
void tn__tls_fill(uint8_t *thread_pointer);

/* What the reserve begins with, in each thread's block and in the initialisation image. */
struct tn__tls_header {
    uint64_t magic;
    uint64_t newest; /* the number of the newest object whose initial values the block has */
};

extern uint64_t tn__tls_newest; /* the number of the newest object of all */

/* Copies the initial values that the calling thread's block lacks. Keeps errno. */
void tn__tls_catch_up(void);

/* Called when loaded code asks for the place of a variable. A link of another thread may write both numbers meanwhile;
 * of what this thread may use already, its block has the values. */
static inline void tn__tls_refresh(void)
{
    const struct tn__tls_header *mine = (const void *)tn_tls_reserve;
    if (__builtin_expect(
            __atomic_load_n(&mine->newest, __ATOMIC_RELAXED) != __atomic_load_n(&tn__tls_newest, __ATOMIC_ACQUIRE), 0))
        tn__tls_catch_up();
}

/* ---- initial values (tls.c, tls_dynamic.c) ---- */

/* Those of an object, in a list with the newest first. */
struct tn__tls_block {
    struct tn__tls_block *next;
    struct tn__mem_range *range; /* where each thread has them */
    uint64_t number;             /* of the object */
    size_t size;                 /* of `initial`: of dynamic ones; others are in the initialisation image */
    uint8_t initial[];           /* zeros follow */
};

/* Frees the block of this range, if there is one. */
void tn__tls_drop_block(struct tn__tls_block **newest, const struct tn__mem_range *range);

/* ---- dynamic variables ---- */

#define TN__TLS_DYNAMIC (UINT64_C(1) << 62)

static inline bool tn__tls_is_dynamic(uint64_t place)
{
    return place >> 62 == 1; /* distances are small numbers, of either sign */
}

/* The memory of a thread for dynamic variables. Descriptors read it (host_*.c). */
struct tn__tls_own {
    uint64_t bias;   /* what makes addresses of places */
    uint64_t newest; /* the number of the newest object whose initial values the memory has */
    uint64_t start, committed;
};
extern __thread struct tn__tls_own tn__tls_own __attribute__((tls_model("initial-exec")));
extern uint64_t tn__tls_dynamic_newest; /* the number of the newest object of all; 0: there was none */

/* What tls_dynamic.c does, in programs that contain it. `take`, `publish` and `give` are called under the threads'
 * lock, which `find` and `peek` take. */
struct tn__tls_dynamic {
    const void *descriptor; /* tn__tls_dynamic_descriptor */
    int (*take)(size_t size, size_t alignment, struct tn__mem_range **range, uint64_t *place, struct tn_error *err);
    int (*publish)(struct tn__mem_range *range, const uint8_t *initial, size_t size, struct tn_error *err);
    void (*give)(struct tn__mem_range *range);
    void *(*find)(uint64_t place);
    void *(*peek)(uint64_t place);
    bool (*is_nowhere)(const void *address);
};
extern const struct tn__tls_dynamic *tn__tls_dynamic; /* NULL: variables beyond the reserve are refused */

/* From now on, objects may have dynamic variables (tls_dynamic.c). */
void tn__tls_offer_dynamic(void);

/* The part of tn__tls_descriptor for dynamic variables (host_*.c); NULL: it does not know them. */
extern const void *const tn__tls_dynamic_descriptor;

/* The address of a variable of the calling thread. If the system has no memory for a dynamic one, it is an address that
 * cannot be accessed, and the next call tries again. Keeps errno. */
void *tn__tls_at(uint64_t place);

/* True of what tn__tls_at answers when there is no memory. */
static inline bool tn__tls_is_nowhere(uint64_t place, const void *address)
{
    return tn__tls_is_dynamic(place) && tn__tls_dynamic->is_nowhere(address);
}

/* The same address; NULL: the thread has no memory for that dynamic variable so far. */
static inline void *tn__tls_peek(uint64_t place)
{
    return tn__tls_is_dynamic(place) ? tn__tls_dynamic->peek(place) : tn__thread_pointer() + place;
}

/* The distance of a range of the reserve from the thread pointer. */
uint64_t tn__tls_distance(const struct tn__mem_range *range);

/* The module number in GOT slots. */
enum { TN__TLS_MODULE = 1 };

/* Called by loaded code instead of the C library's __tls_get_addr; index[1], with the machine's bias added, is a place.
 * With a larger module number, the place counts from one that is as much farther: so any place can have a number
 * (process/itself.c). */
void *tn__tls_get_addr(const uint64_t index[2]);

/* Has host_*.c look which registers of this processor the functions below have to keep while they catch up. Before
 * anything is published, under a lock. */
void tn__tls_look(void);

/* Called by TLS descriptors of loaded code, with a calling convention of its own, so it is in a file per host,
 * host_*.c. */
extern const char tn__tls_descriptor[];

/* Called through descriptors of thread-local variables in Mach-O objects, likewise. */
extern const char tn__tlv_get_address[];

#pragma GCC visibility pop
#endif
