/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The contract with the operating system. Everything that can be refused is asked for here, so that faults can be injected
 * here as well. Addresses and lengths are multiples of tn__os_page_size() unless said otherwise; functions that can fail
 * answer 0 or an errno value and never touch errno's owner otherwise. */

#ifndef TENON_OS_H
#define TENON_OS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* ---- fault injection ---- */

/* Every request below, and every heap allocation, first asks the fault plan. The plan comes from the environment variable
 * TENON_TEST_MEM (read when the first session is created) or from tn__os_set_faults. It is a list of space-separated
 * words, each consumed by one memory request in order:
 *     .     grant        h     ignore the address hint        F     fail with ENOMEM        P     refuse with EACCES
 *     a<N>  not a request: let the Nth heap allocation from now on fail (counted from 1), once
 *     x     not a request: from now on refuse every executable mapping with EACCES
 * A word with * behind it (F*) stays for all further requests. Returns 0, or EINVAL for an unknown word.
 * Not thread-safe: for tests that set the stage before they act. NULL clears the plan. */
int tn__os_set_faults(const char *plan);
bool tn__os_alloc_fault(void); /* true if this heap allocation has to fail */
void tn__os_read_fault_environment(void);

/* ---- address space ---- */

enum tn__prot { TN__PROT_NONE = 0, TN__PROT_R = 1, TN__PROT_RW = 3, TN__PROT_RX = 5 };

size_t tn__os_page_size(void);

/* Reserves inaccessible address space at `hint` if that is free, else (hint_required false) anywhere. */
int tn__os_reserve(uint64_t hint, size_t size, bool hint_required, uint64_t *address);

/* Replaces reserved space by fresh zeroed private memory. */
int tn__os_commit(uint64_t address, size_t size, enum tn__prot prot);
/* Turns it back into reserved space; its contents are gone. */
int tn__os_decommit(uint64_t address, size_t size);
int tn__os_protect(uint64_t address, size_t size, enum tn__prot prot);
void tn__os_release(uint64_t address, size_t size);

/* Backs memory with pages now instead of one fault each. Hints: failure is ignored. The first makes new pages, the
 * second maps pages that a shared file has already. */
void tn__os_prefault(uint64_t address, size_t size);
void tn__os_prefault_shared(uint64_t address, size_t size);

/* ---- memory shared between two views ---- */

/* An anonymous file that may be mapped executable; *fd is closed by tn__os_close. */
int tn__os_memfd(size_t size, int *fd);
/* Which file it is: a program may close descriptors that it does not know, and open others under their numbers. */
struct tn__os_identity {
    uint64_t device, inode;
};
struct tn__os_identity tn__os_identify(int fd);
bool tn__os_is(int fd, struct tn__os_identity identity);
/* A writable view anywhere; it does not survive into a forked child. */
int tn__os_map_alias(int fd, uint64_t offset, size_t size, uint8_t **alias);
/* A view over reserved space. `copy` maps privately: later writes to the file need not be seen. */
int tn__os_map_view(int fd, uint64_t offset, uint64_t address, size_t size, enum tn__prot prot, bool copy);
/* Forbids every further write to the file; no writable view may exist. */
int tn__os_seal(int fd);
/* Writes the pieces one after the other from `offset` on. */
struct tn__piece {
    const void *bytes;
    size_t size;
};
int tn__os_write(int fd, uint64_t offset, const struct tn__piece *pieces, size_t count);
void tn__os_close(int fd);

/* ---- files that are written (os_linux_log.c) ---- */

/* Makes a file, or empties one of this user's, to be written from its end on. A link in its place is not followed. */
int tn__os_create_log(const char *path, int *fd);
int tn__os_append(int fd, const void *bytes, size_t size);
/* Maps the first page so that it shows among the executable mappings of the process: how perf learns of such a file. */
int tn__os_map_marker(int fd, uint64_t *address);

/* ---- the process ---- */

uint32_t tn__os_process_id(void);
uint32_t tn__os_thread_id(void);

/* How far the calling thread's stack may grow at most, in bytes (os_linux_stack.c). */
uint64_t tn__os_stack_size(void);

/* Makes code that was written visible to instruction fetch on all cores. Any alignment. */
void tn__os_flush_code(uint64_t address, size_t size);

/* Changes in parent and child whenever the process forks. */
uint64_t tn__os_fork_generation(void);

/* First and last+1 address of this program's own image. */
void tn__os_program_range(uint64_t *start, uint64_t *end);

uint64_t tn__os_now_ns(void);

/* A file mapped read-only and private; an empty file has size 0 and no mapping. EISDIR, ENOENT ... as the system says. */
struct tn__os_file {
    const void *bytes;
    size_t size;
};
int tn__os_map_file(const char *path, struct tn__os_file *file);
int tn__os_map_open_file(int fd, struct tn__os_file *file); /* `fd` stays open and may be closed then */
void tn__os_unmap_file(struct tn__os_file *file);

/* A file to be read and mapped piece by piece; *fd is closed by tn__os_close. */
int tn__os_open(const char *path, int *fd);
int tn__os_file_size(int fd, uint64_t *size); /* EISDIR, ENODEV: it is no file */
/* Reads from `offset` on; *got is less than `size` only where the file ends. Any size. */
int tn__os_read_open(int fd, uint64_t offset, void *bytes, size_t size, size_t *got);

/* ---- cores (os_linux_cpu.c) ---- */

size_t tn__os_cores(void); /* of the machine, at least 1; some may be switched off */

/* Calls `visit` on each core that the calling thread may run on, one after the other, at least once. */
void tn__os_visit_cores(void (*visit)(void *context), void *context);

/* hwprobe(2) over all cores; only on RISC-V. A key that the kernel does not know becomes -1. */
struct tn__os_hwprobe {
    int64_t key;
    uint64_t value;
};
int tn__os_riscv_hwprobe(struct tn__os_hwprobe *keys, size_t count);

/* Reads the beginning of a file of the kernel's, size - 1 bytes at most, and ends it with a NUL. */
int tn__os_read_text(const char *path, char *text, size_t size);

#pragma GCC visibility pop
#endif
