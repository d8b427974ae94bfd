/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries that are opened and closed. */

#ifndef TENON_DL_H
#define TENON_DL_H

#include <pthread.h>

#include "link/session/contents.h"

#pragma GCC visibility push(hidden)

/* A path that loaded code, or a library that is loaded, has asked for, as long as its library is there. */
struct tn__dl_path {
    struct tn__dl_path *next;
    struct tn_library *library;
    bool is_empty; /* it is being loaded, */
    bool is_lost;  /* by a thread that does not go on in this child of a fork */
    char path[];
};

/* What a session has of this. */
struct tn__dl {
    struct tn__dl_hooks hooks;
    struct tn_dl_options offered; /* zero: tn_dl_offer was not called */
    struct tn__dl_path *paths;
    uint64_t globals; /* so many were opened as such */
    /* So many threads, or outer calls of one, run finalizers of what they close and then remove it; and how often one
     * was done, which others wait for. */
    uint32_t endings, ended;
    /* One thread loads at a time: how often it has the right to, which one it is, and how often that was given up,
     * which others wait for. */
    uint32_t depth, given;
    pthread_t loader;
};

/* NULL when memory is out; never if there was one before. */
struct tn__dl *tn__dl_of(struct tn_session *session) TN__LOCKED;

static inline bool tn__dl_is_loading(const struct tn_session *session)
{
    return session->dl && tn__container_of(session->dl, struct tn__dl, hooks)->depth;
}

/* ---- open.c ---- */

/* Counts an opening. TN_EREMOVED, TN_ENOMEM. */
int tn__library_claim(struct tn_library *library, struct tn_error *err) TN__LOCKED;
/* Opens a library once more if that takes nothing else: all that it needs is open, linked and initialised. False:
 * nothing has changed. */
bool tn__library_open_again(struct tn_library *library, uint64_t flags) TN__LOCKED;
/* When it was claimed: links and initialises. After an error the claim is taken back. */
int tn__library_bring_up(struct tn_library *library, uint64_t flags, struct tn_error *err) TN__UNLOCKED;
/* tn_library_close; without a wait for threads if `waits` is false. */
int tn__library_close_one(struct tn_library *library, bool waits, struct tn_error *err) TN__UNLOCKED;
/* Closes what no client wants, such as libraries that were loaded and have not been opened. */
void tn__dl_sweep(struct tn_session *session) TN__UNLOCKED;
/* Appends a library that was not reached with this number of session->visits to a list that is linked by `order.next`;
 * the second one also what it needs, itself or through others, breadth first. */
void tn__dl_append_library(struct tn_library *library, uint64_t number, struct tn_library **first) TN__LOCKED;
void tn__dl_append_scope(struct tn_library *library, uint64_t number, struct tn_library **first) TN__LOCKED;
/* The global library that became so after the one with this number; NULL: there is none. */
struct tn_library *tn__dl_next_global(const struct tn_session *session, uint64_t last) TN__LOCKED;
/* No path leads to the library any more. */
void tn__dl_forget_paths(const struct tn_library *library) TN__LOCKED;

/* ---- load.c ---- */

/* tn__library_open_again of the library of a path; NULL: there is none, or more has to be done. */
struct tn_library *tn__dl_open_path_again(struct tn_session *session, const char *path, uint64_t flags) TN__LOCKED;
/* What a library that is added to needs, by the name of a file: found or loaded, and searched after what the library
 * searches already. Without tn_dl_offer there is nothing to do. */
int tn__dl_need(struct tn_library *library, const char *path, struct tn_error *err) TN__UNLOCKED;
/* Where a file of this name is needed, the library is it, unless another one is. TN_ENOMEM. */
int tn__dl_also_called(struct tn_library *library, const char *path, struct tn_error *err) TN__UNLOCKED;
/* The library of a path, loaded if there is none, and claimed. `from` asks for it. `may_load` false: NULL if there is
 * none. */
struct tn_library *tn__dl_claim_path(struct tn_library *from, const char *path, bool may_load,
                                     struct tn_error *err) TN__UNLOCKED;

#pragma GCC visibility pop
#endif
