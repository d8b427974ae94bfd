/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* os.h for Linux: glibc and musl, x86-64 and others. See mmap(2), memfd_create(2), fcntl(2) F_ADD_SEALS, madvise(2). */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

/* Newer than the headers of Debian 12, or missing from musl's. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

_Static_assert((int)TN__PROT_R == PROT_READ && (int)TN__PROT_RW == (PROT_READ | PROT_WRITE) &&
                   (int)TN__PROT_RX == (PROT_READ | PROT_EXEC),
               "enum tn__prot is passed to the system as it is");

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- address space ---- */

size_t tn__os_page_size(void)
{
    static size_t known; /* several threads may store it, all the same value */
    size_t size = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!size) {
        size = getauxval(AT_PAGESZ); /* musl's sysconf would be 1 KB of a program */
        __atomic_store_n(&known, size, __ATOMIC_RELAXED);
    }
    return size;
}

int tn__os_reserve(uint64_t hint, size_t size, bool hint_required, uint64_t *address)
{
    bool ignore_hint = false;
    int fault = tn__os_fault(false, &ignore_hint);
    if (fault)
        return fault;
    if (ignore_hint && hint_required)
        return EEXIST;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (hint_required ? MAP_FIXED_NOREPLACE : 0);
    void *p = mmap(pointer(ignore_hint ? 0 : hint), size, PROT_NONE, flags, -1, 0);
    if (p == MAP_FAILED)
        return errno;
    *address = (uintptr_t)p;
    if (hint_required && *address != hint) { /* kernels before 4.17 treat MAP_FIXED_NOREPLACE as a hint */
        munmap(p, size);
        return EEXIST;
    }
    return 0;
}

uint64_t tn__os_heap_end(void)
{
    void *end = sbrk(0);
    return end == (void *)-1 ? 0 : (uintptr_t)end;
}

static int map_fixed(uint64_t address, size_t size, int prot, int flags, int fd, uint64_t offset)
{
    int fault = tn__os_fault(prot & PROT_EXEC, NULL);
    if (fault)
        return fault;
    void *p = mmap(pointer(address), size, prot, MAP_FIXED | flags, fd, (off_t)offset);
    return p == MAP_FAILED ? errno : 0;
}

int tn__os_commit(uint64_t address, size_t size, enum tn__prot prot)
{
    return map_fixed(address, size, (int)prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int tn__os_decommit(uint64_t address, size_t size)
{
    /* Exempt from the fault plan: releasing memory must work on every error path. */
    void *p = mmap(pointer(address), size, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}

int tn__os_zero_private(uint64_t address, size_t size)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    return madvise(pointer(address), size, MADV_DONTNEED) ? errno : 0;
}

int tn__os_protect(uint64_t address, size_t size, enum tn__prot prot)
{
    int fault = tn__os_fault(prot == TN__PROT_RX, NULL);
    if (fault)
        return fault;
    return mprotect(pointer(address), size, (int)prot) ? errno : 0;
}

void tn__os_release(uint64_t address, size_t size)
{
    munmap(pointer(address), size);
}

void tn__os_prefer_huge(uint64_t address, size_t size)
{
    int saved = errno;
    madvise(pointer(address), size, MADV_HUGEPAGE);
    errno = saved;
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

void tn__os_make_huge(uint64_t address, size_t size)
{
    int saved = errno;
    tn__os_prefer_huge(address, size);
    madvise(pointer(address), size, MADV_COLLAPSE);
    errno = saved;
}

void tn__os_prefault(uint64_t address, size_t size)
{
    int saved = errno;
    madvise(pointer(address), size, MADV_POPULATE_WRITE);
    errno = saved;
}

void tn__os_prefault_block(const void *block, size_t size)
{
    int saved = errno;
    uint64_t page = tn__os_page_size(), start = (uintptr_t)block & -page, end = (uintptr_t)block + size,
             last = (end - 1) & -page;
    unsigned char there = 0;
    if (mincore(pointer(last), page, &there) != 0 || !(there & 1))
        tn__os_prefault(start, tn__align_up(end, page) - start);
    errno = saved;
}

int tn__os_random(uint64_t *bits)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    ssize_t got;
    while ((got = getrandom(bits, sizeof *bits, 0)) < 0 && errno == EINTR)
        ;
    return got == (ssize_t)sizeof *bits ? 0 : got < 0 ? errno : EIO;
}

/* ---- memory shared between two views ---- */

/* A file that grows beyond the limit is not only refused: a signal ends the process (SIGXFSZ). Memfds are files
 * here. */
bool tn__os_permits_file(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

int tn__os_memfd(size_t size, int *fd)
{
    int fault = tn__os_fault(true, NULL);
    if (fault)
        return fault;
    if (!tn__os_permits_file(size))
        return EFBIG;
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    *fd = memfd_create("tenon", flags | MFD_EXEC);
    if (*fd < 0 && errno == EINVAL) /* before Linux 6.3 every memfd was executable */
        *fd = memfd_create("tenon", flags);
    if (*fd < 0)
        return errno;
    if (ftruncate(*fd, (off_t)size) == 0)
        return 0;
    int error = errno;
    close(*fd);
    return error;
}

/* There if the program runs under ThreadSanitizer. */
extern void __tsan_init(void) __attribute__((weak));
static const uint64_t TSAN_SPAN = 1ULL << 38;

/* Most of the address space is free, below the stack: the power of two there begins with 34 random bits on x86-64. Some
 * tools and processors leave only lower addresses, others, such as AddressSanitizer, only higher ones: each range in
 * turn has places that are tried. */
static uint64_t random_address(uint64_t bits, unsigned shift)
{
    uint64_t lowest = 4ULL << 30, stack = (uintptr_t)&bits;
    if (__tsan_init) /* it ends the process at most other addresses */
        return (stack - bits % TSAN_SPAN) & -(uint64_t)tn__os_page_size();
    uint64_t span = 1ULL << (63 - __builtin_clzll(stack) - (int)shift);
    return span <= lowest ? 0 : (lowest + bits % (span - lowest)) & -(uint64_t)tn__os_page_size();
}

enum { PLACES = 64, RANGES = 4, RANGE_STEP = 3 };

static void *map_somewhere(int fd, uint64_t offset, size_t size, int *error)
{
    *error = EEXIST;
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t bits;
        int refused = tn__os_random(&bits);
        if (refused) {
            *error = refused;
            return NULL;
        }
        uint64_t at = random_address(bits, i % RANGES * RANGE_STEP);
        if (!at)
            continue;
        int flags = MAP_SHARED | MAP_FIXED_NOREPLACE;
        void *p = mmap(pointer(at), size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
        if (p == pointer(at))
            return p;
        *error = p == MAP_FAILED ? errno : EEXIST;
        if (p != MAP_FAILED)
            munmap(p, size);
        if (*error == EPERM || *error == EACCES)
            break;
    }
    return NULL;
}

int tn__os_map_alias(int fd, uint64_t offset, size_t size, uint8_t **alias)
{
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    void *p = map_somewhere(fd, offset, size, &error);
    if (!p)
        return error;
    if (madvise(p, size, MADV_DONTFORK)) {
        error = errno;
        munmap(p, size);
        return error;
    }
    *alias = p;
    return 0;
}

int tn__os_map_view(int fd, uint64_t offset, uint64_t address, size_t size, enum tn__prot prot, bool copy)
{
    return map_fixed(address, size, (int)prot, copy ? MAP_PRIVATE : MAP_SHARED, fd, offset);
}

int tn__os_move(uint64_t from, size_t size, uint64_t to)
{
    enum { LEAVE_A_MAPPING = 4 /* MREMAP_DONTUNMAP, which is not in all headers */ };
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    /* First to anywhere: a kernel that does not know the flag for files says so after it has unmapped what is at `to`.
     */
    void *moved = mremap(pointer(from), size, size, MREMAP_MAYMOVE | LEAVE_A_MAPPING, NULL);
    if (moved == MAP_FAILED)
        return errno;
    error = tn__os_fault(false, NULL);
    if (!error && mremap(moved, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer(to)) == MAP_FAILED)
        error = errno;
    if (error) {
        uint64_t reserved;
        mremap(moved, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer(from));
        tn__os_reserve(to, size, true, &reserved); /* EEXIST: nothing was unmapped before it failed */
    }
    return error;
}

int tn__os_seal(int fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ? errno : 0;
}

int tn__os_seal_views(int fd)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) ? errno : 0;
}

_Static_assert(sizeof(struct tn__piece) == sizeof(struct iovec) &&
                   offsetof(struct tn__piece, bytes) == offsetof(struct iovec, iov_base) &&
                   offsetof(struct tn__piece, size) == offsetof(struct iovec, iov_len),
               "struct tn__piece is passed to the system as it is");

/* Writes the rest of a piece after a short write. */
static int write_rest(int fd, uint64_t offset, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)offset);
        if (n < 0 && errno != EINTR)
            return errno;
        size_t done = n > 0 ? (size_t)n : 0;
        bytes += done, offset += done, size -= done;
    }
    return 0;
}

int tn__os_write(int fd, uint64_t offset, const struct tn__piece *pieces, size_t count)
{
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    uint64_t end = offset;
    for (size_t i = 0; i < count; i++)
        end += pieces[i].size;
    if (!tn__os_permits_file(end))
        return EFBIG;
    while (count) {
        int batch = count < IOV_MAX ? (int)count : IOV_MAX;
        ssize_t n = pwritev(fd, (const struct iovec *)(const void *)pieces, batch, (off_t)offset);
        if (n < 0 && errno != EINTR)
            return errno;
        size_t done = n > 0 ? (size_t)n : 0;
        offset += done;
        for (; count && done >= pieces->size; pieces++, count--)
            done -= pieces->size;
        if (done) { /* part of a piece was written */
            int error = write_rest(fd, offset, (const char *)pieces->bytes + done, pieces->size - done);
            if (error)
                return error;
            offset += pieces->size - done;
            pieces++, count--;
        }
    }
    return 0;
}

void tn__os_close(int fd)
{
    close(fd);
}

/* ---- the process ---- */

void tn__os_seed(uint64_t numbers[2])
{
    size_t size = 2 * sizeof *numbers;
    if (getrandom(numbers, size, GRND_NONBLOCK) == (ssize_t)size)
        return;
    numbers[0] = tn__os_now_ns() * UINT64_C(0x9e3779b97f4a7c15);
    numbers[1] = (uintptr_t)numbers ^ (uint64_t)(uintptr_t)&tn__os_seed << 17 ^ (uint64_t)getpid() << 40;
}

/* Defined by every ELF linker for the file that holds this object. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden"))); /* the end of the file that this is linked into */

void tn__os_program_range(uint64_t *start, uint64_t *end)
{
    *start = (uintptr_t)__ehdr_start;
    *end = (uintptr_t)_end;
}

bool tn__os_is_part_of_program(void)
{
    uint64_t start, end, headers = getauxval(AT_PHDR);
    tn__os_program_range(&start, &end);
    return start <= headers && headers < end;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t tn__os_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t tn__os_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
