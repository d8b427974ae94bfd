/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The runtime: links relocatable objects into the running process. One header per concept:
 *
 *     base.h         versions, errors, structs         materialize.h  definitions made on demand
 *     memory.h       where code and data are placed    host.h         what loaded code sees of the program
 *     session.h      what everything else belongs to   lookup.h       from names to addresses
 *     library.h      tables of symbols                 lazy.h         functions linked when first called
 *     define.h       what a library consists of        instance.h     code replaced while threads call it
 *     tracker.h      what is removed together          thread.h       who may still be using removed code
 *     dl.h           libraries opened and closed       observe.h      debuggers, profilers, symbolization
 *
 * From the bytes of an object to a call:
 *
 *     struct tn_error err;
 *     struct tn_session *session;
 *     struct tn_library *library;
 *     struct tn_input object = {.size = sizeof object, .name = "answer.o", .bytes = bytes, .length = length};
 *     void *answer;
 *     if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "main", &library, &err) ||
 *         tn_add_object(library, &object, &err) || tn_lookup(library, "answer", &answer, &err))
 *         return err.code;
 *     return ((int (*)(void))answer)();
 *
 * Nothing here prints, exits, aborts, or makes a mapping both writable and executable.
 *
 * Threads: any function may be called from any thread at any time. Objects are copied and relocated without holding a
 * lock, so threads can link different objects of one session in parallel. Looked-up addresses may be called from any
 * thread. */

#ifndef TENON_H
#define TENON_H

#include "tenon/base.h"
#include "tenon/memory.h"
#include "tenon/format.h"
#include "tenon/session.h"
#include "tenon/library.h"
#include "tenon/tracker.h"
#include "tenon/define.h"
#include "tenon/materialize.h"
#include "tenon/host.h"
#include "tenon/thread.h"
#include "tenon/lookup.h"
#include "tenon/dl.h"
#include "tenon/lazy.h"
#include "tenon/instance.h"
#include "tenon/observe.h"

#endif
