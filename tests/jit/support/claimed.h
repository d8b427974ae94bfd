/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A function `first` whose bodies can be told apart, in each way that a session has to lead its callers. Bodies are
 * letters:
 *     F   what it led to first                    f   F, of the higher tier
 *     V   a version                               v   V, of the higher tier
 *     A   a version that rests on an assumption   C   what the client redirects it to
 *     N   what an event adds                      B   a weak definition that gave way to F
 *     D   a function of the host                  -   on_failure */

#ifndef TENON_TESTS_JIT_CLAIMED_H
#define TENON_TESTS_JIT_CLAIMED_H

#include "tiered.h"

enum way {
    WAY_ADDRESS, /* a redirectable function with an address; code is compiled at once */
    WAY_EAGER,   /* a lazy function with its target in another library; the same */
    WAY_IMAGE,  /* the same, which a replaceable function of an image leads to; the target is that function's version */
    WAY_OBJECT, /* of a lazy object; the same */
    WAY_LAZY,   /* of a module that was added to a lazy JIT */
    WAY_TIERS,  /* the same, with tiers */
    WAY_RETIRED, /* and bodies are retired */
    WAYS
};

enum { BODIES = 9, OBJECTS = 64 };

struct claimed {
    enum way way;
    bool has_first; /* F was added */
    bool is_alone;  /* modules define `first` only, and `second` is the host's */
    struct tn_jit *jit;
    struct tn_library *library, *bodies, *others; /* has the function; its first target; all else */
    struct tn_image *image;                       /* NULL: the function is none of an image */
    struct tn_tracker *stubs;                     /* owns the function, and F if that is in `library` */
    struct tn_tracker *code, *own;                /* own F if that is in `bodies`; C */
    struct tn_assumption *a, *another;            /* that A and N rest on */
    struct {
        uint64_t id; /* of an object; 0: none */
        char body;
    } linked[OBJECTS];
};

/* The calling thread is attached. */
void begin_claims(struct claimed *w, enum way way, bool is_alone);
void end_claims(struct claimed *w);

/* ---- steps ---- */

/* What the function leads to first. */
void add_first(struct claimed *w, char body);
/* By a body, or by another program of the toy's. 0, or why it was refused. */
int replace_by(struct claimed *w, const char *body, struct tn_assumption *a);
/* To C, which is older than all others. */
void redirect_to_own(struct claimed *w);
/* B, in the library that has F. */
void add_weak(struct claimed *w);
/* Requests the higher tier of the function; when it returns, that has been compiled, or was refused. */
int raise_first(struct claimed *w);
/* Leads the image's function, if there is one, to its version for good. */
void let_go_of_image(struct claimed *w);
/* Returns when all removals have ended that do not wait. */
void settle(struct claimed *w);
void remove_library(struct claimed *w);

/* ---- answers ---- */

/* The body that a call runs; NULL: '0'. */
char body_of(const void *function);
/* The address of the function; NULL: nothing has its name. */
const void *look_up_first(const struct claimed *w);
/* The letters of the bodies that are in memory, in the order FfVvAaNBC. */
const char *linked_bodies(const struct claimed *w, char text[BODIES + 1]);
/* What leads to the function: of an image its entry, else a new stub. */
const void *outer_of(const struct claimed *w);
/* A function of the host. */
const void *own_function(void);

#endif
