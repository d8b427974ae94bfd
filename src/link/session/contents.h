/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What clients put into sessions and take out again: libraries, trackers, inputs, definitions, and what loaded code has
 * run at its end. */

#ifndef TENON_CONTENTS_H
#define TENON_CONTENTS_H

#include "link/demand/promise.h"

#pragma GCC visibility push(hidden)

struct dl_phdr_info;

/* process.c */
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

/* library.c */
/* True for names that every library has from the beginning. */
bool tn__is_own_name(const char *name);
/* True for the entry of such a name, unless a client or an object has defined it. */
bool tn__entry_is_own(const struct tn__entry *entry);
/* Waits until no object of the library is part of a link. */
void tn__library_wait_for_links(struct tn_library *library) TN__LOCKED;
/* Removes its other names, when all objects are gone or hidden. */
void tn__library_forget_names(struct tn_library *library) TN__LOCKED;
/* The last step of removing a library: nothing in the session leads there any more. *resolvers is for
 * tn__suppliers_free, without the lock. */
void tn__library_close(struct tn_library *library, struct tn__supplier **resolvers) TN__LOCKED;
/* Removes the contents of a library at the end of its session. */
void tn__library_empty(struct tn_library *library) TN__LOCKED;
void tn__library_free(struct tn_library *library) TN__UNLOCKED;

/* tracker.c */
void tn__tracker_init(struct tn_tracker *tracker, struct tn_library *library);
/* A new tracker of the library; NULL when memory is out. The second one is for code that is being removed: the client
 * does not know it, and no other removal takes what it owns. */
struct tn_tracker *tn__tracker_make(struct tn_library *library);
struct tn_tracker *tn__tracker_make_hidden(struct tn_library *library);
/* Frees one that owns nothing. */
void tn__tracker_free(struct tn_tracker *tracker);
/* True if an object of it is part of a link. */
bool tn__tracker_is_busy(const struct tn_tracker *tracker) TN__LOCKED;
/* Waits until none is. Releases the lock meanwhile, but not after the last look. */
void tn__tracker_wait(struct tn_tracker *tracker) TN__LOCKED;
/* tn_tracker_remove. `instead` may be NULL: it is called under the lock, which has not been given up since the names of
 * the tracker were removed. */
int tn__tracker_remove(struct tn_tracker *tracker, void (*instead)(void *context), void *context, struct tn_error *err);
/* tn_tracker_transfer between two trackers of one library. */
void tn__tracker_transfer(struct tn_tracker *from, struct tn_tracker *to) TN__LOCKED;
/* Moves its objects, what these have registered to run at exit, and stubs to another tracker. */
void tn__tracker_give(struct tn_tracker *from, struct tn_tracker *to) TN__LOCKED;
void tn__tracker_empty(struct tn_tracker *tracker) TN__LOCKED;

/* input.c */
/* Copies and checks an input given by the client. */
int tn__library_take_input(const struct tn_library *library, const struct tn_input *given, struct tn_input *input,
                           struct tn_error *err);
/* tn_add_object and tn_add_archive. */
int tn__library_add_object(struct tn_library *library, const struct tn_input *input, struct tn__input_bytes source,
                           struct tn_error *err);
int tn__library_add_archive(struct tn_library *library, const struct tn_input *input, struct tn__input_bytes source,
                            struct tn_error *err);
/* Enters what was read, once no link uses the names that it defines. Takes the lock. */
int tn__library_enter(struct tn_library *library, struct tn__object_data *data, struct tn_error *err) TN__UNLOCKED;

/* responsibility.c: what a thread adds to the library of a responsibility takes the place of the symbols that are owed,
 * between begin and end. */
struct tn__handover {
    struct tn_responsibility *promise; /* NULL: there is none */
    struct tn__owed *owed;
    size_t count;
};
/* The responsibility of this library that the calling thread has, because it runs its materializer; NULL: none, or it
 * has ended. */
struct tn_responsibility *tn__responsibility_current(const struct tn_library *library);
/* TN_EINVAL (it has ended, or is another library's), TN_EREMOVED, TN_ENOMEM; then there is nothing to end. */
int tn__handover_begin(struct tn__handover *handover, struct tn_responsibility *promise,
                       const struct tn_library *library, struct tn_error *err);
/* Gives what `from` owns to the responsibility's owner, as that of what fulfils it. TN_EREMOVED: that is gone. */
int tn__handover_give(const struct tn__handover *handover, struct tn_tracker *from, struct tn_error *err);
/* Removes what was added, which belongs to the tracker: at no time in between is a symbol neither its nor owed. As
 * tn_tracker_remove. */
int tn__handover_undo(const struct tn__handover *handover, struct tn_tracker *added, struct tn_error *err);
/* `fails`: what was added has been removed, and the symbols are owed as before. */
void tn__handover_end(struct tn__handover *handover, bool fails);

/* responsibility.c: tn_responsibility_add_object. *refused, false before, tells whether the client refused it. */
int tn__responsibility_add_object(struct tn_responsibility *promise, const struct tn_input *given, bool *refused,
                                  struct tn_error *err);

/* True if something asked for this promised symbol, and only the promise can define it. */
bool tn__responsibility_needs(struct tn_responsibility *promise, const char *symbol);
/* By the holder of the responsibility: true if a staged object defines this name. */
bool tn__responsibility_has_staged(const struct tn_responsibility *promise, const char *name);

/* retire.c: removing code that threads may be running, of one tracker or of a library as a whole. The steps are called
 * in this order; between them it may be anything that a removal has hidden. */
struct tn__retirement {
    struct tn_library *library;
    struct tn_tracker *tracker; /* the client's, or `going` once that is gone; NULL: the whole library */
    struct tn__list of_tracker; /* in its list, */
    struct tn__list of_session; /* and in the session's */
    bool waits;                 /* the caller does all of it, and this is in its frame */
    pthread_t caller;
    struct tn__withdrawal round;
    bool is_led_to;           /* a stub was led to the code since the last look, even if it leads elsewhere by now */
    struct tn_tracker *going; /* owns the code meanwhile */
    struct tn__places places;
    struct tn__calls_list finalizers;
};
/* Leaves the lists. */
static inline void tn__retirement_leave(struct tn__retirement *r) TN__LOCKED
{
    tn__list_remove(&r->of_tracker);
    tn__list_remove(&r->of_session);
}
/* Takes all names away. Releases the lock while links need some of them. TN_EREMOVED, TN_ENOMEM: nothing has
 * changed. */
int tn__retirement_begin(struct tn__retirement *r, struct tn_error *err) TN__LOCKED;
/* tracker.c. Leads away what still leads to the code. True if threads may have its address: then they have to be
 * quiescent before the next look. False: they had been before this one, and none has it any more. */
bool tn__retirement_look(struct tn__retirement *r) TN__LOCKED;
/* Looks until that is false; the lock is given up while it waits. Without the first step the names stay, and only code
 * instances are led away. */
void tn__retirement_wait(struct tn__retirement *r) TN__LOCKED;
/* Runs what the code runs at its end. */
void tn__retirement_finalize(struct tn__retirement *r) TN__UNLOCKED;
/* Frees the code, unless threads need it until they end. *resolvers is for tn__suppliers_free, without the lock. */
void tn__retirement_end(struct tn__retirement *r, struct tn__supplier **resolvers) TN__LOCKED;

/* reclaim.c: tn_tracker_retire_start of a new tracker, for what `take` puts there. `give_back` undoes that if the
 * removal cannot begin. Both are called under the lock. */
struct tn__taking {
    int (*take)(void *context, struct tn_tracker *tracker, struct tn_error *err);
    void (*give_back)(void *context);
    void *context;
};
int tn__tracker_retire_these(struct tn_tracker *tracker, const struct tn__taking *taking, tn_removed *done,
                             void *context, struct tn_error *err);

/* define.c, inject.c */
/* Makes a name that no link uses an absolute symbol, whose address the caller fills in. *taken is false if it is weak
 * and there is another definition. TN_EDUP, TN_ENOMEM. */
int tn__entry_define(struct tn__entry *entry, uint64_t flags, struct tn__journal *journal, bool *taken,
                     struct tn_error *err) TN__LOCKED;
/* Creates an object of absolute symbols, with references to the symbols they need (inject.c). */
int tn__inject_addresses(const struct tn_library *library, const char *name, const struct tn_definition *definitions,
                         size_t count, const char *const *needs, size_t need_count, struct tn__object_data *data,
                         struct tn_error *err);

/* init.c */
/* Moves the finalizers of a tracker's objects to `taken`. False when memory is out. */
bool tn__calls_take(const struct tn_tracker *owner, struct tn__calls_list *taken) TN__LOCKED;
/* The same for all of a library. */
struct tn__calls_list tn__calls_take_all(struct tn_library *library) TN__LOCKED;
/* Runs them and frees the list. */
void tn__calls_run(struct tn__calls_list *taken) TN__UNLOCKED;

/* ending.c: runs what the code of a tracker (NULL: all of the library) runs at its end. `finalizers`
 * were taken before and are left empty; NULL: they are taken from the library when it is their turn. */
void tn__ending_run(struct tn_library *library, struct tn_tracker *owner,
                    struct tn__calls_list *finalizers) TN__UNLOCKED;
/* If one of these functions calls exit, the rest runs within that call. True if it will get the status of exit. */
bool tn__ending_knows_status(void);

/* exits.c: atexit, __cxa_atexit, on_exit and __cxa_thread_atexit as seen by loaded code. Return 0, or -1 if memory is
 * out or no object contains the function or the caller. on_exit also if the status will not be known (ending.c). */
int tn__atexit(void (*function)(void));
int tn__cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
int tn__on_exit(void (*function)(int status, void *argument), void *argument);
int tn__cxa_thread_atexit(void (*function)(void *argument), void *argument, void *handle);
/* Runs the functions registered by the tracker's objects (NULL: by all of the library), newest first. */
void tn__exits_run(struct tn_library *library, struct tn_tracker *owner) TN__UNLOCKED;
/* callbacks.c: at_quick_exit, pthread_atfork, and what C libraries make of them, as seen by loaded code. Return 0, or
 * -1, or ENOMEM, if memory is out or none of the functions, the handle and the caller is in loaded code. */
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

/* itself.c: dladdr (whose second argument is a Dl_info *) and dl_iterate_phdr as seen by loaded code. The second one
 * also returns -1 if memory is out. */
int tn__dladdr(const void *address, void *info);
int tn__dl_iterate_phdr(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

/* The linked object that an address lies in, or NULL. False when memory is out. */
bool tn__session_find_object(struct tn_session *session, uint64_t address, struct tn__object **object) TN__LOCKED;
/* Calls `keep` for the first of the addresses (NULL: none) that lies in loaded code, with the object that contains it,
 * or NULL for a stub, and with where the current owner is found. `keep` is called under the session's lock, and returns
 * 0, -1, or 1: the next address is tried. Returns 0, or -1: memory is out, or no address is in loaded code. */
typedef int tn__keep(void *context, struct tn__object *object, struct tn_tracker *const *owner);
int tn__keep_with_owner(const void *const *clues, size_t count, tn__keep *keep, void *context);
/* In a function that loaded code calls: where it returns to. */
#define TN__CALLER __builtin_extract_return_addr(__builtin_return_address(0))
/* Moves what was registered to another tracker, or forgets it. */
void tn__exits_give(struct tn_tracker *from, struct tn_tracker *to) TN__LOCKED;
void tn__exits_forget(struct tn_tracker *tracker) TN__LOCKED;

/* thread_exits.c */
/* Has a function called when the calling thread ends. Returns 0, or -1 when memory is out. */
int tn__object_add_thread_exit(struct tn__object *object, const struct tn__exit *what) TN__LOCKED;
/* Runs what the calling thread would run at its end, as tn__exits_run does. */
void tn__thread_exits_run(struct tn_library *library, const struct tn_tracker *owner);

/* linger.c */
void tn__session_init_thread_exits(struct tn_session *session);
/* Moves what a tracker owns to `going` and removes its names and promises, and objects that are not linked. */
void tn__tracker_hide(struct tn_tracker *tracker, struct tn_tracker *going) TN__LOCKED;
/* True if the code of a hidden tracker has to stay until threads have ended; it is freed after that, and `going` with
 * it. */
bool tn__tracker_linger(struct tn_tracker *going) TN__LOCKED;
/* Removes what one tracker, or NULL: any tracker of the library, owns; the code stays if it has to. TN_ENOMEM: nothing
 * has changed. */
int tn__library_dispose(struct tn_library *library, struct tn_tracker *only, struct tn_error *err) TN__LOCKED;
/* Iterates over what a removal of one tracker, or of the library (`only` is NULL), has to look at: not over trackers
 * that are hidden, unless the session ends. NULL starts and ends the iteration. */
struct tn_tracker *tn__library_next_owner(struct tn_library *library, struct tn_tracker *only,
                                          const struct tn_tracker *previous);
/* Frees what stayed for threads that a fork has left behind. */
void tn__session_sweep_lost(struct tn_session *session) TN__LOCKED;
void tn__session_count_lingering(const struct tn_session *session, struct tn_stats *stats) TN__LOCKED;

#pragma GCC visibility pop
#endif
