/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What clients put into sessions and take out again: libraries, trackers, inputs, definitions. */

#ifndef TENON_CONTENTS_H
#define TENON_CONTENTS_H

#include "link/process/process.h"

#pragma GCC visibility push(hidden)

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
/* tn_library_remove_start of one that may be open. */
int tn__library_remove_start(struct tn_library *library, tn_removed *done, void *context,
                             struct tn_error *err) TN__UNLOCKED;
/* TN_EINVAL: it is open (tenon/dl.h), or being closed, or, if the library itself goes, it was loaded for dlopen. */
int tn__library_check_closed(const struct tn_library *library, bool goes, struct tn_error *err) TN__UNLOCKED;
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
/* The same for the contents of a library's own tracker. TN_EINVAL: also if it is NULL. */
int tn__tracker_check_closed(const struct tn_tracker *tracker, struct tn_error *err) TN__UNLOCKED;
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

/* retire.c, tracker.c: the steps of a retirement, in this order. */
/* Takes all names away. Releases the lock while links need some of them. TN_EREMOVED, TN_ENOMEM: nothing has
 * changed. */
int tn__retirement_begin(struct tn__retirement *r, struct tn_error *err) TN__LOCKED;
/* Leads away what still leads to the code. True if threads may have its address: then they have to be
 * quiescent before the next look. False: they had been before this one, and none has it any more. */
bool tn__retirement_look(struct tn__retirement *r) TN__LOCKED;
/* Looks until that is false; the lock is given up while it waits. Without the first step the names stay, and only code
 * instances are led away. */
void tn__retirement_wait(struct tn__retirement *r) TN__LOCKED;
/* Runs what the code runs at its end. */
void tn__retirement_finalize(struct tn__retirement *r) TN__UNLOCKED;
/* Frees the code, unless threads need it until they end. *resolvers is for tn__suppliers_free, without the lock. */
void tn__retirement_end(struct tn__retirement *r, struct tn__supplier **resolvers) TN__LOCKED;
/* All steps at once. The finalizers of a library have run. */
int tn__library_retire(struct tn_library *library, struct tn_error *err) TN__UNLOCKED;

/* reclaim.c: tn_tracker_retire_start of a new tracker, for what `take` puts there. `give_back` undoes that if the
 * removal cannot begin. Both are called under the lock. */
struct tn__taking {
    int (*take)(void *context, struct tn_tracker *tracker, struct tn_error *err);
    void (*give_back)(void *context);
    void *context;
};
/* True if such removals are under way; session->reclaimer.ended counts those that have ended. In the child of a fork
 * they go on from here. */
bool tn__removals_go_on(struct tn_session *session) TN__LOCKED;
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
/* Frees what stayed for threads that a fork has left behind. */
void tn__session_sweep_lost(struct tn_session *session) TN__LOCKED;
void tn__session_count_lingering(const struct tn_session *session, struct tn_stats *stats) TN__LOCKED;

#pragma GCC visibility pop
#endif
