/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries that are opened and closed, as dlopen and dlclose do with shared libraries: by hosts, and by loaded code.
 *
 *     static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
 *                     struct tn_error *err)
 *     {
 *         return tn_add_file(*library, path, err);
 *     }
 *     ...
 *     struct tn_dl_options options = {.size = sizeof options, .load = load};
 *     tn_dl_offer(session, &options, &err);    // from now on loaded code may call dlopen("plugin.o", RTLD_NOW)
 *
 * A library is open as long as a client has not closed it as often as it has opened it, or an open library needs it: by
 * its search order, or because it re-exports symbols from there. A library that is no longer open is closed: its exit
 * handlers and finalizers run, before those of the libraries that it needs, and then it is removed. So is a circle of
 * libraries, all at once, those that were made last first. Libraries that a client has made and never opened are not
 * open, even if an open one needs them: they stay until it removes them, and so does what they need. An open library,
 * and one that is being closed, cannot be removed or cleared in another way, nor can what its own tracker
 * (tn_library_tracker) owns: TN_EINVAL, and the text says what keeps it open. At exit nothing is closed: a client
 * closes what it has opened before, or runs finalizers. */

#ifndef TENON_API_DL_H
#define TENON_API_DL_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;
struct tn_session;

enum {
    TN_DL_KEEP = 1,   /* it stays open until the session ends, as with RTLD_NODELETE */
    TN_DL_GLOBAL = 2, /* dlsym(RTLD_DEFAULT) finds its symbols and those of what it needs, as with RTLD_GLOBAL */
};

/* Opens the library, and those that it needs. The first time, all objects that were added to them are linked, as by
 * tn_link (promises, such as modules of a JIT, are kept when something needs them; tn_jit_link asks for them), and
 * initializers run on the calling thread, as by tn_lookup: libraries come after those that they need. A thread that
 * opens what another one is opening waits until that has run them; an initializer may open its own library. Not by a
 * materializer. If memory is out, the call waits until what others have closed is removed, and tries again, unless that
 * may wait for the calling thread: because it is attached and not in a blocking region, or runs an initializer, a
 * finalizer or `load`. Any thread. After an error the library is as often open as before, but what was linked stays
 * until it is closed or removed. TN_EINVAL (unknown flags), TN_ENOTSUP (a session for another address space),
 * TN_EREMOVED (or it is being closed), the errors of tn_link. */
TN_API int tn_library_open(struct tn_library *library, uint64_t flags, struct tn_error *err);

/* Takes back one tn_library_open. If that was the last one, what is no longer open is closed: exit handlers and
 * finalizers run on the calling thread; then the code is removed, after a wait for attached threads that may be running
 * it, as tn_library_remove_start does, but before the call returns. The handles remain the client's
 * (tn_library_destroy), except those that `load` has made. So the code that is closed must not be what calls. Any
 * thread. TN_EINVAL: it is not open, or its finalizers are running. TN_EREMOVED. TN_ENOMEM: it is still open, or, if
 * finalizers have run, its code stays until the session ends. */
TN_API int tn_library_close(struct tn_library *library, struct tn_error *err);

struct tn_dl_options {
    size_t size; /* sizeof(struct tn_dl_options) */
    /* Fills a library with what is found behind a path that loaded code has given to dlopen, and that is not open yet:
     * adds to it, and sets its search order; dlopen opens it. At first, *library is a new one, which has the path as
     * its name. If it becomes another one, that is opened instead: the same file may have several paths. Neither can be
     * removed by `load`. `from` is the library whose code calls, or that needs this one. Libraries that were loaded are
     * the session's, and destroyed after they have been closed. An error is what dlerror says. Called without a lock,
     * on the thread that calls dlopen; others that load wait meanwhile, and may be running initializers: so it must not
     * look anything up, or wait for threads that may call dlopen. */
    int (*load)(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *err);
    void *context;
    /* What dlopen(NULL) opens, and where dlsym(RTLD_DEFAULT) begins. It stays open. NULL: there is none. */
    struct tn_library *program;
};

/* Offers dlopen, dlsym, dlclose and dlerror (POSIX.1-2017; glibc's RTLD_DEFAULT, RTLD_NEXT, RTLD_NOLOAD, RTLD_NODELETE)
 * to loaded code of the session that does not define them itself; before any resolver, and only to what is linked from
 * now on. dladdr and dl_iterate_phdr are there without it. Differences from a dynamic linker:
 *
 *     dlopen       RTLD_LAZY and RTLD_NOW link at once; functions that the client has added to be compiled at their
 *                  first call still are. RTLD_GLOBAL does not change the search order of other libraries.
 *                  RTLD_DEEPBIND is refused.
 *     dlsym        asks the library's resolvers and generators, too, and loads members of archives
 *     dlclose      does not wait for threads, since the caller may return into what it has closed: that goes as by
 *                  tn_library_remove_start; finalizers have run when it returns. A library that is opened again is
 *                  loaded anew, with fresh data.
 *                  It may be opened while its finalizers run on another thread, which glibc waits for.
 *     RTLD_DEFAULT the program, then libraries that were opened with RTLD_GLOBAL, then the caller's and what it needs;
 *                  what is found stays open only as long as it would otherwise
 *     RTLD_NEXT    what the caller's library needs, then its resolvers
 *
 * A function that ends with such a call, as its last instruction, may be taken for the function that it returns to, as
 * with dynamic linkers. Once per session. TN_EINVAL, TN_ENOTSUP (a session for another address space), TN_ENOMEM. */
TN_API int tn_dl_offer(struct tn_session *session, const struct tn_dl_options *options, struct tn_error *err);

/* For `load`: the library that dlopen would open for this path, for the search order of `from`, which is being loaded.
 * It may be one that is not complete yet, if the two need each other. What nothing has opened when the outermost dlopen
 * is done goes again. The thread that runs `load`. TN_EINVAL: it does not; TN_ENOMEM, errors of `load`. */
TN_API int tn_dl_library(struct tn_library *from, const char *path, struct tn_library **out, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
