/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loaded code as a part of the process: all sessions and forks, what loaded code registers with the C library and runs
 * at its end, and what it asks of the dynamic linker. */

#ifndef TENON_PROCESS_H
#define TENON_PROCESS_H

#include "link/demand/promise.h"

#pragma GCC visibility push(hidden)

struct dl_phdr_info;

/* ---- sessions.c ---- */

void tn__sessions_add(struct tn_session *session);
void tn__sessions_remove(struct tn_session *session);
/* Iterate over all sessions of the process, under a lock that is taken before theirs. NULL starts and ends the
 * iteration. */
void tn__sessions_lock(void);
void tn__sessions_unlock(void);
struct tn_session *tn__sessions_next(const struct tn_session *session);
/* tn_quiesce for a removal in this session; no lock may be held. */
void tn__session_quiesce(const struct tn_session *session) TN__UNLOCKED;
/* Code instances of the process; NULL until some are used. */
const struct tn__instances *tn__instances(void);
void tn__instances_announce(const struct tn__instances *instances);

/* ---- finalizers.c ---- */

/* Moves the finalizers of a tracker's objects to `taken`. False when memory is out. */
bool tn__calls_take(const struct tn_tracker *owner, struct tn__calls_list *taken) TN__LOCKED;
/* The same for all of a library. */
struct tn__calls_list tn__calls_take_all(struct tn_library *library) TN__LOCKED;
/* Runs them and frees the list. */
void tn__calls_run(struct tn__calls_list *taken) TN__UNLOCKED;

/* ---- ending.c ---- */

/* Runs what the code of a tracker (NULL: all of the library) runs at its end. `finalizers` were taken before and are
 * left empty; NULL: they are taken from the library when it is their turn. */
void tn__ending_run(struct tn_library *library, struct tn_tracker *owner,
                    struct tn__calls_list *finalizers) TN__UNLOCKED;
/* If one of these functions calls exit, the rest runs within that call. True if it will get the status of exit. */
bool tn__ending_knows_status(void);

/* ---- exits.c ---- */

/* The linked object that an address lies in, or NULL. False when memory is out. */
bool tn__session_find_object(struct tn_session *session, uint64_t address, struct tn__object **object) TN__LOCKED;
/* Calls `keep` for the first of the addresses (NULL: none) that lies in loaded code, with the object that contains it,
 * or NULL for a stub, and with where the current owner is found. `keep` is called under the session's lock, and returns
 * 0, -1, or 1: the next address is tried. Returns 0, or -1: memory is out, or no address is in loaded code. */
typedef int tn__keep(void *context, struct tn__object *object, struct tn_tracker *const *owner);
int tn__keep_with_owner(const void *const *clues, size_t count, tn__keep *keep, void *context);
/* In a function that loaded code calls: where it returns to. */
#define TN__CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* atexit, __cxa_atexit, on_exit and __cxa_thread_atexit as seen by loaded code. Return 0, or -1 if memory is out or no
 * object contains the function or the caller; on_exit also if the status will not be known (ending.c). */
int tn__atexit(void (*function)(void));
int tn__cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
int tn__on_exit(void (*function)(int status, void *argument), void *argument);
int tn__cxa_thread_atexit(void (*function)(void *argument), void *argument, void *handle);
/* Runs the functions registered by the tracker's objects (NULL: by all of the library), newest first. */
void tn__exits_run(struct tn_library *library, struct tn_tracker *owner) TN__UNLOCKED;
/* Moves what was registered to another tracker, or forgets it. */
void tn__exits_give(struct tn_tracker *from, struct tn_tracker *to) TN__LOCKED;
void tn__exits_forget(struct tn_tracker *tracker) TN__LOCKED;

/* ---- callbacks.c ---- */

/* at_quick_exit, pthread_atfork, and what C libraries make of them, as seen by loaded code. Return 0, or -1, or ENOMEM,
 * if memory is out or none of the functions, the handle and the caller is in loaded code. */
int tn__at_quick_exit(void (*function)(void));
int tn__cxa_at_quick_exit(void (*function)(void), void *handle);
int tn__pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int tn__register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle);
/* Forgets those of a tracker (NULL: of all of the library), after waiting for other threads that are running one. */
void tn__callbacks_end(struct tn_library *library, struct tn_tracker *owner) TN__UNLOCKED;
/* Forgets those of a tracker without waiting; moves them to another one; tells whether there are any. */
void tn__callbacks_forget(struct tn_tracker *tracker) TN__LOCKED;
void tn__callbacks_give(struct tn_tracker *from, struct tn_tracker *to) TN__LOCKED;
bool tn__callbacks_of(const struct tn_tracker *tracker) TN__LOCKED;

/* ---- itself.c ---- */

/* dladdr (whose second argument is a Dl_info *) and dl_iterate_phdr as seen by loaded code. The second one also returns
 * -1 if memory is out. */
int tn__dladdr(const void *address, void *info);
/* What shows loaded shared libraries to dl_iterate_phdr, with these counts; the first one is set when there are
 * some. */
typedef int tn__visit_images(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context,
                             unsigned long long adds, unsigned long long subs);
void tn__itself_watch_images(tn__visit_images *images);
int tn__dl_iterate_phdr(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

/* ---- thread_exits.c ---- */

/* Has a function called when the calling thread ends. Returns 0, or -1 when memory is out. */
int tn__object_add_thread_exit(struct tn__object *object, const struct tn__exit *what) TN__LOCKED;
/* Runs what the calling thread would run at its end, as tn__exits_run does. */
void tn__thread_exits_run(struct tn_library *library, const struct tn_tracker *owner);

#pragma GCC visibility pop
#endif
