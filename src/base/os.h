/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The contract with the operating system. Everything that the system can refuse is requested here, which is also where
 * faults are injected. Addresses and lengths are multiples of tn__os_page_size() unless stated otherwise. Functions
 * that can fail return 0 or an errno value. */

#ifndef TENON_OS_H
#define TENON_OS_H

#include <pthread.h>

#include "base.h"

#pragma GCC visibility push(hidden)

/* ---- fault injection ---- */

/* Every heap allocation, and every request below that can fail, except those that give memory back, first asks the
 * fault plan of tn__os_set_faults; the command takes one from the environment variable TENON_TEST_MEM. It is a list of
 * space-separated words, each consumed by one request in order:
 *     .     grant        h     ignore the address hint        F     fail with ENOMEM        P     refuse with EACCES
 *     N     fail with ENOSPC                                I     fail with EIO
 *     M     fail with EMFILE                                B     fail with EPIPE
 *     i     be interrupted once, and begin again
 *     s     writes take only half of what is left at once
 *     a<N>  not a request: let the Nth heap allocation from now on fail (counted from 1), once
 *     x     not a request: from now on refuse every executable mapping with EACCES
 *     m     not a request: from now on refuse tn__os_fence_threads with EPERM
 * A word followed by * (F*) applies to all further requests. Returns 0, or EINVAL for an unknown word. NULL clears the
 * plan. Not thread-safe: tests set the plan before they start. */
int tn__os_set_faults(const char *plan);
bool tn__os_alloc_fault(void); /* true if this heap allocation has to fail */

/* ---- address space ---- */

enum tn__prot { TN__PROT_NONE = 0, TN__PROT_R = 1, TN__PROT_RW = 3, TN__PROT_RX = 5 };

size_t tn__os_page_size(void);

/* Reserves inaccessible address space at `hint` if that is free; otherwise anywhere, or, with hint_required, fails with
 * EEXIST. */
int tn__os_reserve(uint64_t hint, size_t size, bool hint_required, uint64_t *address);

/* Where the heap that brk(2) extends ends now; it begins behind the program, at a random distance. 0: unknown. */
uint64_t tn__os_heap_end(void);

/* Replaces reserved space with fresh, zeroed private memory. */
int tn__os_commit(uint64_t address, size_t size, enum tn__prot prot);
/* Turns it back into reserved space; the contents are lost. */
int tn__os_decommit(uint64_t address, size_t size);
/* Makes private memory zero again, by giving its pages back. */
int tn__os_zero_private(uint64_t address, size_t size);
int tn__os_protect(uint64_t address, size_t size, enum tn__prot prot);
void tn__os_release(uint64_t address, size_t size);

/* The system should use large pages there: from now on; and at once, also for what has small ones. It may ignore it. */
void tn__os_prefer_huge(uint64_t address, size_t size);
void tn__os_make_huge(uint64_t address, size_t size);
/* Allocates memory at once instead of by one page fault each; failures are ignored. */
void tn__os_prefault(uint64_t address, size_t size);
/* The same for a block of the heap, which need not consist of whole pages; does nothing if it was in use before. */
void tn__os_prefault_block(const void *block, size_t size);

/* 64 bits that cannot be guessed. */
int tn__os_random(uint64_t *bits);

/* ---- memory shared between two views ---- */

/* Creates an anonymous file that may be mapped executable; close *fd with tn__os_close. EFBIG: RLIMIT_FSIZE is
 * lower. */
int tn__os_memfd(size_t size, int *fd);
bool tn__os_permits_file(uint64_t size); /* false: it would be EFBIG */
/* Maps a writable view at a random address; it is not inherited by forked children. */
int tn__os_map_alias(int fd, uint64_t offset, size_t size, uint8_t **alias);
/* Maps a view over reserved space. With `copy` the mapping is private: later writes to the file need not be visible. */
int tn__os_map_view(int fd, uint64_t offset, uint64_t address, size_t size, enum tn__prot prot, bool copy);
/* Moves the pages of a private mapping over reserved space at `to`. At `from`, the file is mapped anew, without what
 * was written there. After an error, both are as they were: EINVAL (Linux before 5.13, more than one mapping), ENOMEM,
 * and those of filters of system calls. */
int tn__os_move(uint64_t from, size_t size, uint64_t to);
/* Forbids all further writes to the file; fails if a writable view exists. */
int tn__os_seal(int fd);
/* Leaves the file to the writable views that exist: from now on it cannot be written otherwise, and views mapped from
 * now on can never become writable. EINVAL: Linux before 5.1. */
int tn__os_seal_views(int fd);
/* Writes the pieces consecutively, starting at `offset`. */
struct tn__piece {
    const void *bytes;
    size_t size;
};
int tn__os_write(int fd, uint64_t offset, const struct tn__piece *pieces, size_t count); /* EFBIG: as above */
void tn__os_close(int fd);
/* Gives a descriptor that stays open a high number: programs count on the lowest that is free, and may have closed the
 * standard ones. Where only few are allowed, it may keep its own, if that is no standard one. Closes it on an error. */
int tn__os_raise(int *fd);

/* ---- log files (os_linux_log.c) ---- */

/* Creates a file for appending, which only this user can read and write. One of the same name is replaced if it is this
 * user's own, and else EEXIST. */
int tn__os_create_log(const char *path, int *fd);
/* A folder that only this user can enter, made if there is none. EACCES: something else is in its place. */
int tn__os_own_folder(char *path, size_t size);
int tn__os_append(int fd, const void *bytes, size_t size); /* EFBIG: RLIMIT_FSIZE is lower */
/* Maps the first page executable, so that the file appears among the mappings of the process; this is how perf finds
 * it. */
int tn__os_map_marker(int fd, uint64_t *address);

/* ---- the process ---- */

/* Numbers that files cannot have been made for, to seed hash tables with. Exempt from the fault plan: where the system
 * gives no random ones, they come from addresses and the time. */
void tn__os_seed(uint64_t numbers[2]);

uint32_t tn__os_process_id(void);
uint32_t tn__os_thread_id(void);

/* Starts a thread of the library. It receives no signals, which are for the client's threads, except those of its own
 * faults: their handlers run, so that the client's crash reports include it. False: the system has none. */
bool tn__os_start_thread(pthread_t *thread, void *(*run)(void *context), void *context);

/* Threads of the library are known by their name, as the system shows it: TN__OWN_THREAD_NAME. */
bool tn__os_is_own_thread(uint32_t thread);
#define TN__OWN_THREAD_NAME "tenon"

/* Calls `visit` with the number of each thread of this process, until it returns false. Returns an error number, as of
 * systems without /proc. */
int tn__os_each_thread(bool (*visit)(void *context, uint32_t thread), void *context);

/* Sleeps until tn__os_wake is called for the word, at most `ns` nanoseconds (UINT64_MAX: without a limit), and not at
 * all if the word does not have this value. May return early. */
void tn__os_wait(const uint32_t *word, uint32_t value, uint64_t ns);
void tn__os_wake(const uint32_t *word);

/* The number of the system call in which a thread of this process is blocked; -1: none, or not known. */
int tn__os_system_call(uint32_t thread);

/* Reads a word that another thread may be changing or unmapping. False: it cannot be read. */
bool tn__os_peek(uint64_t address, uint64_t *word);

/* An access to memory that is not there, or not for that: the address, the thread's stack and frame pointers, and the
 * instruction. */
struct tn__os_access {
    uint64_t address, stack, frame, code;
};
/* Fills in all but the address from the context that a signal handler is given (host_*.c). */
void tn__os_read_registers(const void *context, struct tn__os_access *access);
/* From now on calls `watch` for each of these, in a signal handler on the thread's signal stack if it has one; then the
 * program goes on as it would have before: with its own handler, or not at all. Once. */
int tn__os_watch_accesses(void (*watch)(const struct tn__os_access *access));
/* Gives the calling thread a signal stack with `room` for handlers' frames, unless it has one already: then *address is
 * 0, as after an error. */
int tn__os_give_signal_stack(size_t room, uint64_t *address, size_t *size);
void tn__os_take_signal_stack(void); /* does not release it */

/* Signals of the calling thread wait, but for those that an instruction causes; and are delivered, as its mask was
 * before. False: that was so already. */
bool tn__os_defer_signals(void);
bool tn__os_deliver_signals(void);

/* Calls `function` with the value, which is not NULL, when the calling thread ends: in a round of destructors of
 * thread-specific data, and in further rounds if it asks for them. *key, which is 0 at first, identifies the function;
 * a later call for it replaces the value. EAGAIN: the process has no key left; ENOMEM. The next call tries again. */
int tn__os_at_thread_end(uint64_t *key, void (*function)(void *value), void *value);

/* The calling thread's stack (os_linux_stack.c): where it ends, above its outermost frame (0: unknown), and an upper
 * bound for its size in bytes. */
struct tn__os_stack {
    uint64_t end, size;
};
struct tn__os_stack tn__os_stack(void);

/* In a loop that waits for another thread's store: leaves the core to its other thread, if it has one (host_*.c). */
void tn__os_relax(void);

/* Makes newly written code visible to instruction fetch on all cores (host_*.c). Any alignment. */
void tn__os_flush_code(uint64_t address, size_t size);

/* The first address of this program's own image, and the first one after it. */
void tn__os_program_range(uint64_t *start, uint64_t *end);
/* False if that is a shared library, which may be closed before the process ends. */
bool tn__os_is_part_of_program(void);

uint64_t tn__os_now_ns(void);
uint64_t tn__os_thread_ns(void); /* processor time of the calling thread */

/* ---- reading files (os_linux_file.c) ---- */

/* The bytes of a file, which do not change: a copy of them, or, if the file is large and only root and this user can
 * write it, a mapping. Empty files have size 0 and no bytes, and so has *file after an error. */
struct tn__os_file {
    const void *bytes;
    size_t size;
    bool is_mapped; /* the file's owner can still change or truncate it */
};
int tn__os_map_file(const char *path, struct tn__os_file *file);
int tn__os_copy_open_file(int fd, struct tn__os_file *file); /* never a mapping */
int tn__os_map_open_file(int fd, struct tn__os_file *file);  /* does not close `fd`, which may be closed afterwards */
int tn__os_map_any_open_file(int fd, struct tn__os_file *file); /* the same, and small files are mapped too */
void tn__os_unmap_file(struct tn__os_file *file);

/* Opens a file to be read or mapped piece by piece; close *fd with tn__os_close. */
int tn__os_open(const char *path, int *fd);
/* The same file once more; the offset is shared. */
int tn__os_open_again(int fd, int *again);
/* The identity of an open file: a program may close descriptors it does not know, and reuse their numbers for other
 * files. */
struct tn__os_identity {
    uint64_t device, inode;
};
struct tn__os_identity tn__os_identify(int fd);
bool tn__os_is(int fd, struct tn__os_identity identity);
/* EISDIR, ENODEV: not a regular file. *is_ours: only root and this user can write it. */
int tn__os_file_status(int fd, uint64_t *size, bool *is_ours);
/* Reads from `offset`; *got is less than `size` only at the end of the file. Any size. */
int tn__os_read_open(int fd, uint64_t offset, void *bytes, size_t size, size_t *got);

/* ---- writing files (os_linux_replace.c) ---- */

/* A file that takes the place of another one when it is complete. */
struct tn__os_replacement {
    char *temporary; /* its name meanwhile */
    int fd;
};
int tn__os_replace_begin(const char *path, struct tn__os_replacement *file);
/* Stores the contents for good, and gives the file its name. After an error, the old one is there. */
int tn__os_replace_end(struct tn__os_replacement *file, const char *path);
void tn__os_replace_drop(struct tn__os_replacement *file); /* removes it */

/* Calls `visit` for each range of addresses that is mapped in this process, by address, until it returns false
 * (ENOMEM). ENOENT: the system does not tell (/proc). */
int tn__os_each_mapping(bool (*visit)(void *context, uint64_t start, uint64_t end), void *context);

/* ---- folders whose files replace each other (os_linux_store.c) ---- */

/* Opens a folder below another one; `make`: makes it if it is not there, for this user only. EPERM: it is a symbolic
 * link or a file, others may write it, or it is not this user's; with `of_root` it may be root's. */
int tn__os_open_folder(int in, const char *path, bool make, bool of_root, int *fd);
enum { TN__OS_HERE = -100 }; /* in place of a folder: where relative paths begin */
/* Opens a regular file of the folder to be read. ELOOP: a symbolic link. */
int tn__os_open_in(int folder, const char *name, int *fd);
/* Opens a new file for appending. EEXIST. */
int tn__os_create_in(int folder, const char *name, int *fd);
int tn__os_rename_in(int folder, const char *from, const char *to);
int tn__os_remove_in(int folder, const char *name);
/* Whether this user may add files, as far as that is known before one is added. */
bool tn__os_may_write_in(int folder);
/* Stores what was written, or which files a folder has, for good. */
int tn__os_sync(int fd);
/* Takes one of the folder's locks, which have numbers of 62 bits. The system gives it back when the last process ends
 * that has *fd open: this one, and children that it has forked. EWOULDBLOCK: it is taken; with `wait`, the call waits
 * until it is not. Anything else: it cannot be locked. */
int tn__os_lock_in(int folder, uint64_t number, bool wait, int *fd);
void tn__os_unlock(int fd);
/* Notes that an open file was used, unless that was noted within the last hour. */
void tn__os_note_use(int fd);
/* Calls `visit` for each regular file, and each folder but those whose names begin with a point, until that returns
 * false. */
struct tn__os_entry {
    const char *name;
    uint64_t size, used; /* seconds since 1970 */
    uint64_t inode;
    bool is_folder;
};
int tn__os_each_in(int folder, bool (*visit)(void *context, const struct tn__os_entry *entry), void *context);

/* ---- sockets between processes of this machine (os_linux_socket.c) ---- */

/* Descriptors are above 2, and not inherited by programs that are started. */
int tn__os_socket_pair(int pair[2]);
int tn__os_connect(const char *path, int *fd);
/* Listens at a path, which is made for this user only, or for any one, and must not be there. */
int tn__os_listen(const char *path, bool any_user, int *fd);
int tn__os_accept(int listening, int *fd);
/* A descriptor that the program was given is not inherited by programs that it starts. EBADF. */
int tn__os_keep_socket(int fd);
/* Ends the connection, also where other processes have the same socket. */
void tn__os_shutdown(int socket);
int tn__os_peer_user(int socket, uint32_t *user); /* who has made the other end, as the system knows it */
uint32_t tn__os_user(void);
/* Sends all of the bytes, with the descriptor `passed` (-1: none). EPIPE: the other end is closed; ETIMEDOUT: the other
 * end did not take them by `until` (tn__os_now_ns; UINT64_MAX: no limit). No signal. */
int tn__os_send(int socket, const void *bytes, size_t size, int passed, uint64_t until);
/* Receives exactly `size` bytes; *got is less, after 0, only at the end. With `passed`, takes a descriptor that comes
 * with them, -1 if none does; any further ones are closed, which is EPROTO, and so is one without `passed`. */
int tn__os_receive(int socket, void *bytes, size_t size, int *passed, uint64_t until, size_t *got);
/* A file in memory with these bytes, which nothing can change any more. EFBIG: as for tn__os_memfd. */
int tn__os_make_sealed(const void *bytes, size_t size, int *fd);
/* Whether the descriptor is a file in memory of exactly this size, which nothing can change any more. */
bool tn__os_is_sealed(int fd, uint64_t size);

/* ---- child processes (os_linux_child.c) ---- */

struct tn__os_child {
    uint32_t id;
    int watch; /* a descriptor that names the process (pidfd), or -1 */
};
enum { TN__OS_CHILD_SOCKET = 3 };
/* Starts a program in a session of its own, whose descriptor TN__OS_CHILD_SOCKET is the socket, with all signals at
 * their defaults. */
int tn__os_spawn(const char *const *command, int socket, struct tn__os_child *child);
/* Forks; the child runs `run` and ends with its result as exit status. It has standard descriptors that lead nowhere,
 * the socket as descriptor TN__OS_CHILD_SOCKET, and no other ones, no handlers of signals, and a session of its own;
 * with `follows`, it is killed when its parent ends. */
int tn__os_fork_child(int socket, bool follows, int (*run)(void *context), void *context, struct tn__os_child *child);
/* How a process has ended; TN__OS_UNKNOWN: another part of the program has waited for it. */
enum tn__os_end { TN__OS_UNKNOWN = 0, TN__OS_EXITED, TN__OS_SIGNALLED };
/* Waits for the end of a child until then, kills it if it has not ended, and waits for that. *number: exit status or
 * signal. */
enum tn__os_end tn__os_end_child(struct tn__os_child *child, uint64_t until, int *number);
/* Closes all descriptors but the standard ones and this one. */
void tn__os_close_others(int fd);
/* Children that end are forgotten at once, for processes that wait for none. */
void tn__os_forget_children(void);
/* Limits of this process: bytes of private memory, and of each file in memory (0: none; a limit that is lower stays).
 * It leaves no core file, and processes of its user cannot look into it. */
int tn__os_limit_memory(uint64_t bytes);
/* A signal (SIGALRM) ends this process after so many ns; 0: never. */
void tn__os_end_after(uint64_t ns);
uint64_t tn__os_peak_memory(void); /* bytes of memory that this process has had at most */

/* ---- sandbox (os_linux_sandbox.c) ---- */

/* From now on this process can only compute, use memory and talk over the descriptors it has: no file, socket,
 * process or program can be opened or started. For good. */
int tn__os_enter_sandbox(void);
/* What the filter tells from machine to machine (host_*.c): the architecture's number, and the first system call that
 * is newer than what a C library of today may rely on. */
extern const struct tn__os_machine {
    uint32_t audit, first_new;
} tn__os_machine;

/* ---- cores (os_linux_cpu.c) ---- */

size_t tn__os_cores(void);        /* of the machine, at least 1; some may be offline */
size_t tn__os_usable_cores(void); /* those that the calling thread may run on, at least 1 */

/* From now on the calling thread runs when others leave it a core: it has the lowest priority of ordinary threads,
 * which cannot be raised again. Where the system refuses that, it is a thread like others. */
void tn__os_give_way(void);

/* Runs `visit` once on each core that the calling thread may run on, and at least once in all. */
void tn__os_visit_cores(void (*visit)(void *context), void *context);

/* Makes every running thread of the process execute a full memory barrier, and the calling thread too: membarrier(2).
 * Old kernels, sandboxes and emulators refuse it. */
int tn__os_fence_threads(void);
/* Makes every running thread of the process fetch its next instruction anew. Does nothing where the system refuses. */
void tn__os_synchronize_cores(void);

/* hwprobe(2) over all cores; only on RISC-V. Keys unknown to the kernel become -1. */
struct tn__os_hwprobe {
    int64_t key;
    uint64_t value;
};
int tn__os_riscv_hwprobe(struct tn__os_hwprobe *keys, size_t count);

/* What this process may use, in bytes; UINT64_MAX: no limit, or none that can be read. */
struct tn__os_memory {
    uint64_t limit;         /* of memory: the machine's, those of control groups */
    uint64_t space;         /* what of that is free */
    uint64_t address_space; /* what RLIMIT_AS leaves */
};
void tn__os_memory(struct tn__os_memory *memory);

/* Reads at most size - 1 bytes from the beginning of a kernel file (/proc, /sys), and adds a NUL. */
int tn__os_read_text(const char *path, char *text, size_t size);

#pragma GCC visibility pop
#endif
