/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The table of doc/REDIRECT.md: what leads a function, and what each event changes about that. An entry is tried in
 * each way to have such a function, without and with a thread that calls it all the time. */

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claimed.h"

/* ---- claims ---- */

enum claim {
    NEW,
    RESOLVING,
    FIRST,
    ADDRESS,
    TIER,
    VERSION,
    VERSION_TIER,
    RESTING_VERSION,
    RESTING_FIRST,
    CLIENT_FIRST,
    CLIENT_ADDRESS,
    CLIENT_TIER,
    CLIENT_VERSION,
    CLIENT_RESTING_VERSION,
    CLIENT_RESTING_FIRST,
    CLAIMS
};

enum {
    IN_TIERS = 1 << WAY_TIERS | 1 << WAY_RETIRED,
    IN_PARTS = 1 << WAY_LAZY | IN_TIERS,
    UNLINKED = 1 << WAY_EAGER | 1 << WAY_OBJECT | IN_PARTS,
    LAZILY = UNLINKED | 1 << WAY_IMAGE,
    IN_JITS = 1 << WAY_EAGER | IN_PARTS
};

/* How a function comes to what leads it: a letter for each body that is added, t: the newest is raised. The function is
 * called after each of these unless `is_new`; `is_held`: the first call is under way when the event happens. */
static const struct {
    const char *name, *steps;
    unsigned ways;
    bool is_new, is_held, is_alone;
} claims[CLAIMS] = {
    [NEW] = {"not called", "F", UNLINKED, .is_new = true},
    [RESOLVING] = {"being called", "F", UNLINKED & ~(1U << WAY_OBJECT), .is_new = true, .is_held = true},
    [FIRST] = {"first", "F", LAZILY},
    [ADDRESS] = {"address", "F", 1 << WAY_ADDRESS},
    [TIER] = {"tier", "Ft", IN_TIERS},
    [VERSION] = {"version", "V", IN_JITS, .is_alone = true},
    [VERSION_TIER] = {"tier of a version", "Vt", IN_TIERS},
    [RESTING_VERSION] = {"assumption, over a version", "VA", IN_JITS, .is_alone = true},
    [RESTING_FIRST] = {"assumption, over first", "FA", LAZILY},
    [CLIENT_FIRST] = {"client, over first", "FC", LAZILY},
    [CLIENT_ADDRESS] = {"client, over an address", "FC", 1 << WAY_ADDRESS},
    [CLIENT_TIER] = {"client, over a tier", "FtC", IN_TIERS},
    [CLIENT_VERSION] = {"client, over a version", "VC", IN_JITS, .is_alone = true},
    [CLIENT_RESTING_VERSION] = {"client, over an assumption over a version", "VAC", IN_JITS, .is_alone = true},
    [CLIENT_RESTING_FIRST] = {"client, over an assumption over first", "FAC", LAZILY},
};

/* ---- events ---- */

static const void *outer; /* what leads to the function's stub */
static char in_child;     /* what a call reached there */

static int redirect(struct claimed *w, const void *address)
{
    struct tn_error err;
    return tn_redirect(w->library, "first", address, &err);
}

static int do_nothing(struct claimed *w)
{
    (void)w;
    return 0;
}

static int redirect_to_host(struct claimed *w)
{
    return redirect(w, own_function());
}

static int redirect_to_itself(struct claimed *w)
{
    return redirect(w, outer);
}

static int reset(struct claimed *w)
{
    return redirect(w, NULL);
}

/* To its first body, of which the client does not know that it may give way. */
static int pin(struct claimed *w)
{
    struct tn_wanted body = {"first$body", TN_WANTED_HIDDEN, NULL};
    struct tn_error err;
    check(tn_lookup_all(w->library, &body, 1, &err), &err);
    int code = redirect(w, body.address);
    return code ? code : raise_first(w);
}

static int replace_it(struct claimed *w)
{
    return replace_by(w, "N", NULL);
}

/* `second` is the host's. */
static int replace_in_vain(struct claimed *w)
{
    return replace_by(w, "program 4", NULL);
}

static int cover(struct claimed *w)
{
    return replace_by(w, "N", w->another);
}

static int cover_in_vain(struct claimed *w)
{
    return replace_by(w, "program 4", w->another);
}

static int cover_by_failure(struct claimed *w)
{
    return replace_by(w, "fails 4", w->another);
}

/* Of two versions in a row. */
static int cover_by_failures(struct claimed *w)
{
    int code = cover_by_failure(w);
    return code ? code : cover_by_failure(w);
}

/* After a call that was led to it, and went on below. */
static int fail_and_break(struct claimed *w)
{
    int code = cover_by_failure(w);
    body_of(outer);
    break_it(w->another);
    return code;
}

static int replace_by_failure(struct claimed *w)
{
    return replace_by(w, "fails 4", NULL);
}

static int break_assumption(struct claimed *w)
{
    break_it(w->a);
    return 0;
}

static int break_and_reset(struct claimed *w)
{
    break_it(w->a);
    return reset(w);
}

static int cover_and_break(struct claimed *w)
{
    int code = cover(w);
    break_it(w->another);
    return code;
}

static int withdraw_own(struct claimed *w)
{
    struct tn_error err;
    return tn_tracker_retire(w->own, &err);
}

static int withdraw_first(struct claimed *w)
{
    struct tn_error err;
    return tn_tracker_retire(w->code, &err);
}

static int fall_back(struct claimed *w)
{
    struct tn_error err;
    add_weak(w);
    return tn_tracker_retire(w->way < WAY_OBJECT ? w->code : w->stubs, &err);
}

static int remove_it(struct claimed *w)
{
    struct tn_error err;
    let_go_of_image(w);
    return tn_tracker_retire(w->has_first ? w->stubs : tn_library_tracker(w->library), &err);
}

static int remove_and_cover(struct claimed *w)
{
    int code = remove_it(w);
    return code ? code : cover(w);
}

/* The new definition has nothing to do with what covered the old one. */
static int define_again(struct claimed *w)
{
    int code = remove_it(w);
    if (!code)
        code = withdraw_first(w);
    if (!code)
        add_first(w, 'B');
    if (!code)
        code = cover_and_break(w);
    return code;
}

static int remove_its_library(struct claimed *w)
{
    remove_library(w);
    return 0;
}

/* The child finds the function as it is here, and redirects its own only. */
static int call_in_child(struct claimed *w)
{
    int status;
    pid_t child = fork();
    if (!child) {
        char body = body_of(outer);
        bool is_own = redirect_to_host(w) == 0 && body_of(outer) == 'D';
        _exit(is_own ? body : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    in_child = (char)WEXITSTATUS(status);
    return 0;
}

enum event {
    CALL,
    REDIRECT,
    REDIRECT_TO_ITSELF,
    RESET,
    RAISE,
    PIN,
    REPLACE,
    REPLACE_IN_VAIN,
    REPLACE_BY_FAILURE,
    COVER,
    COVER_IN_VAIN,
    COVER_BY_FAILURE,
    COVER_BY_FAILURES,
    FAIL_AND_BREAK,
    COVER_AND_BREAK,
    BREAK,
    BREAK_AND_RESET,
    WITHDRAW_OWN,
    WITHDRAW_FIRST,
    FALL_BACK,
    FALL_BACK_BY_NAME,
    REMOVE,
    REMOVE_AND_COVER,
    DEFINE_AGAIN,
    REMOVE_LIBRARY,
    FORK,
    EVENTS
};

static const struct {
    const char *name;
    int (*happen)(struct claimed *w);
    unsigned ways;
    const char *meanwhile; /* what may be called, too, while it happens */
} events[EVENTS] = {
    [CALL] = {"call", do_nothing, ~0U},
    [REDIRECT] = {"redirect", redirect_to_host, ~0U},
    [REDIRECT_TO_ITSELF] = {"redirect to itself", redirect_to_itself, ~0U},
    [RESET] = {"reset", reset, ~0U},
    [RAISE] = {"raise", raise_first, IN_TIERS},
    [PIN] = {"redirect to the first body, and raise", pin, IN_TIERS},
    [REPLACE] = {"replace", replace_it, ~0U},
    [REPLACE_IN_VAIN] = {"replace, refused", replace_in_vain, ~0U},
    [REPLACE_BY_FAILURE] = {"replace by code that cannot be compiled", replace_by_failure, IN_PARTS},
    [COVER] = {"cover", cover, ~0U},
    [COVER_IN_VAIN] = {"cover, refused", cover_in_vain, 1 << WAY_EAGER | 1 << WAY_IMAGE | 1 << WAY_OBJECT},
    [COVER_BY_FAILURE] = {"cover by code that cannot be compiled", cover_by_failure, IN_PARTS},
    [COVER_BY_FAILURES] = {"cover twice by code that cannot be compiled", cover_by_failures, IN_PARTS},
    [FAIL_AND_BREAK] = {"cover by code that cannot be compiled, and break that", fail_and_break, IN_PARTS},
    [COVER_AND_BREAK] = {"cover, and break that", cover_and_break, ~0U, "N"},
    [BREAK] = {"break", break_assumption, ~0U},
    [BREAK_AND_RESET] = {"break, and reset", break_and_reset, ~0U, "FV"},
    [WITHDRAW_OWN] = {"withdraw the client's code", withdraw_own, ~0U},
    [WITHDRAW_FIRST] = {"withdraw the first code", withdraw_first, 1 << WAY_ADDRESS | 1 << WAY_EAGER},
    [FALL_BACK] = {"fall back to a weak target", fall_back, 1 << WAY_ADDRESS | 1 << WAY_EAGER},
    [FALL_BACK_BY_NAME] = {"fall back to a weak function", fall_back, 1 << WAY_OBJECT | IN_PARTS},
    [REMOVE] = {"remove", remove_it, ~0U},
    [REMOVE_AND_COVER] = {"remove, and cover", remove_and_cover, ~0U},
    [DEFINE_AGAIN] = {"define again, and cover and break that", define_again, ~(1U << WAY_IMAGE)},
    [REMOVE_LIBRARY] = {"remove the library", remove_its_library, ~0U},
    [FORK] = {"fork", call_in_child, ~0U},
};

/* ---- the table ---- */

/* An outcome is `[CODE ]LEADS:LINKED`: the error, if the event is refused; the body that a call reaches, by the name;
 * a second letter if that is another through a stub which leads to the first one, a third for a call that was under
 * way; and the bodies that are linked afterwards. Some letters depend on the way:
 *     g, w   F, V; where bodies are retired, it has gone, and its tier leads
 *     E      A, unless bodies are retired
 *     n      N where code is compiled at once
 *     x      F where it does not belong to the function's owner
 *     -      F where it is the version of an image's function, which the image leads to when the stub goes */
static const char
    *const table[CLAIMS][EVENTS] =
        {
            [NEW] =
                {
                    [CALL] = "F:F",
                    [REDIRECT] = "D:",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL F:F",
                    [RESET] = "F:F",
                    [RAISE] = "f:f",
                    [REPLACE] = "TN_EDUP F:F",
                    [COVER] = "N:N",
                    [COVER_IN_VAIN] = "TN_EUNDEF F:F",
                    [COVER_BY_FAILURE] = "F:F",
                    [COVER_BY_FAILURES] = "F:F",
                    [FAIL_AND_BREAK] = "F:F",
                    [COVER_AND_BREAK] = "F:Fn",
                    [WITHDRAW_FIRST] = "-:",
                    [FALL_BACK] = "B:B",
                    [FALL_BACK_BY_NAME] = "B-:B",
                    [REMOVE] = "0-:",
                    [DEFINE_AGAIN] = "B-:nB",
                    [REMOVE_LIBRARY] = "0-:",
                    [FORK] = "F:F",
                },
            [RESOLVING] =
                {
                    [CALL] = "F:F",
                    [REDIRECT] = "D:F",
                    [RESET] = "F:F",
                    [REPLACE] = "TN_EDUP F:F",
                    [COVER] = "N:FN",
                    [COVER_AND_BREAK] = "F:Fn",
                    [REMOVE] = "0-x:x",
                    [FORK] = "F:F",
                },
            [FIRST] =
                {
                    [CALL] = "F:F",
                    [REDIRECT] = "D:F",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL F:F",
                    [RESET] = "F:F",
                    [PIN] = "F:Ff",
                    [RAISE] = "f:gf",
                    [REPLACE] = "TN_EDUP F:F",
                    [COVER] = "N:FN",
                    [COVER_IN_VAIN] = "TN_EUNDEF F:F",
                    [COVER_BY_FAILURE] = "F:F",
                    [COVER_BY_FAILURES] = "F:F",
                    [FAIL_AND_BREAK] = "F:F",
                    [COVER_AND_BREAK] = "F:Fn",
                    [WITHDRAW_FIRST] = "-:",
                    [FALL_BACK] = "B:B",
                    [FALL_BACK_BY_NAME] = "B-:B",
                    [REMOVE] = "0-:x",
                    [DEFINE_AGAIN] = "B-:nB",
                    [REMOVE_LIBRARY] = "0-:x",
                    [FORK] = "F:F",
                },
            [ADDRESS] =
                {
                    [CALL] = "F:F",
                    [REDIRECT] = "D:F",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL F:F",
                    [RESET] = "-:F",
                    [REPLACE] = "TN_EDUP F:F",
                    [COVER] = "TN_EUNDEF F:F",
                    [COVER_AND_BREAK] = "TN_EUNDEF F:F",
                    [WITHDRAW_FIRST] = "-:",
                    [FALL_BACK] = "-:",
                    [REMOVE] = "0-:F",
                    [REMOVE_LIBRARY] = "0-:F",
                    [FORK] = "F:F",
                },
            [TIER] =
                {
                    [CALL] = "f:gf",
                    [REDIRECT] = "D:gf",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL f:gf",
                    [RESET] = "g:gf",
                    [RAISE] = "f:gf",
                    [REPLACE] = "TN_EDUP f:gf",
                    [COVER] = "N:gfN",
                    [COVER_BY_FAILURE] = "f:gf",
                    [COVER_BY_FAILURES] = "f:gf",
                    [FAIL_AND_BREAK] = "f:gf",
                    [COVER_AND_BREAK] = "g:gf",
                    [FALL_BACK_BY_NAME] = "B-:B",
                    [REMOVE] = "0-:",
                    [DEFINE_AGAIN] = "B-:B",
                    [REMOVE_LIBRARY] = "0-:",
                    [FORK] = "f:gf",
                },
            [VERSION] =
                {
                    [CALL] = "V:V",
                    [REDIRECT] = "D:V",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL V:V",
                    [RESET] = "V:V",
                    [REPLACE] = "N:N",
                    [REPLACE_IN_VAIN] = "TN_EDUP V:V",
                    [COVER] = "N:VN",
                    [COVER_AND_BREAK] = "V:VN",
                    [REMOVE] = "0-:V",
                    [REMOVE_AND_COVER] = "TN_EUNDEF 0-:V",
                    [REMOVE_LIBRARY] = "0-:V",
                    [FORK] = "V:V",
                },
            [VERSION_TIER] =
                {
                    [CALL] = "v:wv",
                    [REDIRECT] = "D:wv",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL v:wv",
                    [RESET] = "v:wv",
                    [RAISE] = "v:wv",
                    [REPLACE] = "N:N",
                    [REPLACE_BY_FAILURE] = "-:",
                    [COVER] = "N:wvN",
                    [COVER_BY_FAILURE] = "v:wv",
                    [COVER_BY_FAILURES] = "v:wv",
                    [FAIL_AND_BREAK] = "v:wv",
                    [COVER_AND_BREAK] = "v:wv",
                    [REMOVE] = "0-:wv",
                    [REMOVE_AND_COVER] = "TN_EUNDEF 0-:wv",
                    [REMOVE_LIBRARY] = "0-:wv",
                    [FORK] = "v:wv",
                },
            [RESTING_VERSION] =
                {
                    [CALL] = "A:VA",
                    [REDIRECT] = "D:VA",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL A:VA",
                    [RESET] = "A:VA",
                    [REPLACE] = "N:N",
                    [REPLACE_IN_VAIN] = "TN_EDUP A:VA",
                    [COVER] = "N:VAN",
                    [COVER_AND_BREAK] = "A:VAN",
                    [BREAK] = "V:VA",
                    [BREAK_AND_RESET] = "V:VA",
                    [REMOVE] = "0-:VA",
                    [REMOVE_AND_COVER] = "TN_EUNDEF 0-:VA",
                    [REMOVE_LIBRARY] = "0-:VA",
                    [FORK] = "A:VA",
                },
            [RESTING_FIRST] =
                {
                    [CALL] = "A:FA",
                    [REDIRECT] = "D:FA",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL A:FA",
                    [RESET] = "A:FA",
                    [RAISE] = "a:FEa",
                    [REPLACE] = "TN_EDUP A:FA",
                    [COVER] = "N:FAN",
                    [COVER_IN_VAIN] = "TN_EUNDEF A:FA",
                    [COVER_BY_FAILURE] = "A:FA",
                    [COVER_BY_FAILURES] = "A:FA",
                    [FAIL_AND_BREAK] = "A:FA",
                    [COVER_AND_BREAK] = "A:FAn",
                    [BREAK] = "F:FA",
                    [BREAK_AND_RESET] = "F:FA",
                    [WITHDRAW_FIRST] = "A:A",
                    [FALL_BACK] = "A:A",
                    [FALL_BACK_BY_NAME] = "B-:AB",
                    [REMOVE] = "0-:xA",
                    [DEFINE_AGAIN] = "B-:nB",
                    [REMOVE_LIBRARY] = "0-:xA",
                    [FORK] = "A:FA",
                },
            [CLIENT_FIRST] =
                {
                    [CALL] = "C:FC",
                    [REDIRECT] = "D:FC",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL C:FC",
                    [RESET] = "F:FC",
                    [RAISE] = "C:FfC",
                    [REPLACE] = "TN_EDUP C:FC",
                    [COVER] = "C:FnC",
                    [COVER_IN_VAIN] = "TN_EUNDEF C:FC",
                    [COVER_BY_FAILURE] = "C:FC",
                    [COVER_BY_FAILURES] = "C:FC",
                    [FAIL_AND_BREAK] = "C:FC",
                    [COVER_AND_BREAK] = "C:FnC",
                    [WITHDRAW_OWN] = "F:F",
                    [WITHDRAW_FIRST] = "C:C",
                    [FALL_BACK] = "C:C",
                    [FALL_BACK_BY_NAME] = "B-:BC",
                    [REMOVE] = "0-:xC",
                    [DEFINE_AGAIN] = "B-:nBC",
                    [REMOVE_LIBRARY] = "0-:xC",
                    [FORK] = "C:FC",
                },
            [CLIENT_ADDRESS] =
                {
                    [CALL] = "C:FC",
                    [REDIRECT] = "D:FC",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL C:FC",
                    [RESET] = "-:FC",
                    [REPLACE] = "TN_EDUP C:FC",
                    [COVER] = "TN_EUNDEF C:FC",
                    [COVER_AND_BREAK] = "TN_EUNDEF C:FC",
                    [WITHDRAW_OWN] = "-:F",
                    [WITHDRAW_FIRST] = "C:C",
                    [FALL_BACK] = "C:C",
                    [REMOVE] = "0-:FC",
                    [REMOVE_LIBRARY] = "0-:FC",
                    [FORK] = "C:FC",
                },
            [CLIENT_TIER] =
                {
                    [CALL] = "C:gfC",
                    [REDIRECT] = "D:gfC",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL C:gfC",
                    [RESET] = "g:gfC",
                    [RAISE] = "C:gfC",
                    [REPLACE] = "TN_EDUP C:gfC",
                    [COVER] = "C:gfC",
                    [COVER_BY_FAILURE] = "C:gfC",
                    [COVER_AND_BREAK] = "C:gfC",
                    [WITHDRAW_OWN] = "g:gf",
                    [FALL_BACK_BY_NAME] = "B-:BC",
                    [REMOVE] = "0-:C",
                    [DEFINE_AGAIN] = "B-:BC",
                    [REMOVE_LIBRARY] = "0-:C",
                    [FORK] = "C:gfC",
                },
            [CLIENT_VERSION] =
                {
                    [CALL] = "C:VC",
                    [REDIRECT] = "D:VC",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL C:VC",
                    [RESET] = "V:VC",
                    [REPLACE] = "C:NC",
                    [REPLACE_IN_VAIN] = "TN_EDUP C:VC",
                    [COVER] = "C:VNC",
                    [COVER_AND_BREAK] = "C:VNC",
                    [WITHDRAW_OWN] = "V:V",
                    [REMOVE] = "0-:VC",
                    [REMOVE_AND_COVER] = "TN_EUNDEF 0-:VC",
                    [REMOVE_LIBRARY] = "0-:VC",
                    [FORK] = "C:VC",
                },
            [CLIENT_RESTING_VERSION] =
                {
                    [CALL] = "C:VAC",
                    [REDIRECT] = "D:VAC",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL C:VAC",
                    [RESET] = "A:VAC",
                    [REPLACE] = "C:NC",
                    [REPLACE_IN_VAIN] = "TN_EDUP C:VAC",
                    [COVER] = "C:VANC",
                    [COVER_AND_BREAK] = "C:VANC",
                    [BREAK] = "C:VAC",
                    [BREAK_AND_RESET] = "V:VAC",
                    [WITHDRAW_OWN] = "A:VA",
                    [REMOVE] = "0-:VAC",
                    [REMOVE_AND_COVER] = "TN_EUNDEF 0-:VAC",
                    [REMOVE_LIBRARY] = "0-:VAC",
                    [FORK] = "C:VAC",
                },
            [CLIENT_RESTING_FIRST] =
                {
                    [CALL] = "C:FAC",
                    [REDIRECT] = "D:FAC",
                    [REDIRECT_TO_ITSELF] = "TN_EINVAL C:FAC",
                    [RESET] = "A:FAC",
                    [RAISE] = "C:FEaC",
                    [REPLACE] = "TN_EDUP C:FAC",
                    [COVER] = "C:FAnC",
                    [COVER_IN_VAIN] = "TN_EUNDEF C:FAC",
                    [COVER_BY_FAILURE] = "C:FAC",
                    [COVER_AND_BREAK] = "C:FAnC",
                    [BREAK] = "C:FAC",
                    [BREAK_AND_RESET] = "F:FAC",
                    [WITHDRAW_OWN] = "A:FA",
                    [WITHDRAW_FIRST] = "C:AC",
                    [FALL_BACK] = "C:AC",
                    [FALL_BACK_BY_NAME] = "B-:ABC",
                    [REMOVE] = "0-:xAC",
                    [DEFINE_AGAIN] = "B-:nBC",
                    [REMOVE_LIBRARY] = "0-:xAC",
                    [FORK] = "C:FAC",
                },
};

/* ---- a thread that calls ---- */

enum phase { BEFORE, DURING, AFTER, ENDS };

static struct {
    _Atomic enum phase phase;
    atomic_long calls; /* in this phase */
    char before, after;
    const char *meanwhile;
    _Atomic char wrong; /* what it should not have reached */
} caller;

static bool may_reach(enum phase begun, enum phase ended, char body)
{
    if (ended == BEFORE || begun >= AFTER)
        return body == (ended == BEFORE ? caller.before : caller.after);
    return body == caller.before || body == caller.after || (caller.meanwhile && strchr(caller.meanwhile, body));
}

static void *call_on(void *unused)
{
    (void)unused;
    tn_thread_attach();
    for (enum phase begun; (begun = caller.phase) != ENDS;) {
        char body = body_of(outer);
        if (!may_reach(begun, caller.phase, body))
            caller.wrong = body;
        if (begun == caller.phase)
            caller.calls++;
        tn_thread_quiescent();
        usleep(20); /* otherwise it would keep the others from the processors */
    }
    tn_thread_detach();
    return NULL;
}

static bool has_called(const void *unused)
{
    (void)unused;
    tn_thread_quiescent();
    return caller.calls > 1;
}

static void enter(enum phase phase)
{
    caller.phase = phase;
    caller.calls = 0;
}

static pthread_t begin_calls(bool is_new, char before, char after, const char *meanwhile)
{
    pthread_t thread;
    enter(is_new ? DURING : BEFORE);
    caller.before = before;
    caller.after = after;
    caller.meanwhile = meanwhile;
    caller.wrong = 0;
    assert_int_equal(pthread_create(&thread, NULL, call_on, NULL), 0);
    if (!is_new)
        wait_for(has_called, NULL);
    return thread;
}

/* What it should not have reached; 0: all was right. */
static char end_calls(pthread_t thread)
{
    enter(AFTER);
    wait_for(has_called, NULL);
    enter(ENDS);
    pthread_join(thread, NULL);
    return caller.wrong;
}

/* ---- a first call that is under way ---- */

static sem_t was_held, goes_on;
static atomic_bool may_hold;

static void hold(const char *program, long number)
{
    (void)program;
    if (number != 1 || !atomic_exchange(&may_hold, false))
        return;
    sem_post(&was_held);
    sem_wait(&goes_on);
}

static void *call_once(void *body)
{
    *(char *)body = body_of(outer);
    return NULL;
}

static pthread_t begin_first_call(char *body)
{
    pthread_t thread;
    sem_init(&was_held, 0, 0);
    sem_init(&goes_on, 0, 0);
    may_hold = true;
    toy_calls.before = hold;
    assert_int_equal(pthread_create(&thread, NULL, call_once, body), 0);
    sem_wait(&was_held);
    return thread;
}

static void end_first_call(pthread_t thread)
{
    sem_post(&goes_on);
    pthread_join(thread, NULL);
}

/* ---- one entry ---- */

static char resolve(const struct claimed *w, char letter)
{
    switch (letter) {
    case 'g':
        return w->way == WAY_RETIRED ? 0 : 'F';
    case 'w':
        return w->way == WAY_RETIRED ? 0 : 'V';
    case 'E':
        return w->way == WAY_RETIRED ? 0 : 'A';
    case 'n':
        return w->way < WAY_LAZY ? 'N' : 0;
    case 'x':
        return w->way < WAY_OBJECT ? 'F' : 0;
    case '-':
        return w->way == WAY_IMAGE ? 'F' : '-';
    default:
        return letter;
    }
}

/* Of a body that goes when its tier comes, that. */
static char leader(const struct claimed *w, char letter)
{
    char body = resolve(w, letter);
    return body ? body : letter == 'x' ? '-' : letter == 'w' ? 'v' : 'f';
}

static const char *expand(const struct claimed *w, const char *outcome, char text[64])
{
    const char *at = strrchr(outcome, ' ') ? strrchr(outcome, ' ') + 1 : outcome, *colon = strchr(at, ':');
    size_t length = (size_t)(at - outcome);
    memcpy(text, outcome, length);
    for (int i = 0; i < 3; i++)
        text[length++] = leader(w, at + i < colon ? at[i] : colon[-1]);
    text[length++] = ':';
    for (at = colon + 1; *at; at++)
        if (resolve(w, *at))
            text[length++] = resolve(w, *at);
    text[length] = '\0';
    return text;
}

static void take_step(struct claimed *w, char step)
{
    switch (step) {
    case 'F':
        add_first(w, 'F');
        break;
    case 'V':
        assert_int_equal(replace_by(w, "V", NULL), 0);
        break;
    case 'A':
        assert_int_equal(replace_by(w, "A", w->a), 0);
        break;
    case 'C':
        redirect_to_own(w);
        break;
    default:
        assert_int_equal(raise_first(w), 0);
    }
}

static char come_to(struct claimed *w, enum claim claim)
{
    char body = 'F';
    for (const char *step = claims[claim].steps; *step; step++) {
        take_step(w, *step);
        if (!claims[claim].is_new)
            body = body_of(look_up_first(w));
    }
    settle(w);
    outer = outer_of(w);
    return body;
}

/* What happened, in the form of the table. */
static const char *describe(struct claimed *w, int code, char held, char text[64])
{
    char linked[BODIES + 1], by_name = body_of(look_up_first(w)), by_stub = body_of(outer);
    settle(w);
    snprintf(text, 64, "%s%s%c%c%c:%s", code ? tn_error_name(code) : "", code ? " " : "", by_name, by_stub,
             held ? held : by_stub, linked_bodies(w, linked));
    return text;
}

/* With a thread that calls meanwhile, it is open whether that has reached N, or F if it was not called before. */
static bool is_as(const struct claimed *w, const char *outcome, const char *got, bool has_thread, bool is_new)
{
    char wanted[64];
    expand(w, outcome, wanted);
    if (!has_thread)
        return strcmp(wanted, got) == 0;
    size_t leads = (size_t)(strchr(wanted, ':') - wanted);
    const char *a = wanted + leads, *b = got + leads;
    for (; !is_new && (*a || *b); a += *a != 0, b += *b != 0) {
        a += *a == 'N';
        b += *b == 'N';
        if (*a != *b)
            return false;
    }
    return strncmp(wanted, got, leads) == 0;
}

struct attempt {
    enum way way;
    enum claim claim;
    enum event event;
    bool has_thread;
};

static bool try_entry(const struct attempt *t)
{
    static struct claimed w;
    const char *outcome = table[t->claim][t->event];
    const bool is_held = claims[t->claim].is_held, is_new = claims[t->claim].is_new;
    char got[64], wanted[64], held = 0, wrong = 0;
    pthread_t thread = pthread_self();
    begin_claims(&w, t->way, claims[t->claim].is_alone);
    char before = come_to(&w, t->claim);
    if (is_held)
        thread = begin_first_call(&held);
    else if (t->has_thread)
        thread = begin_calls(is_new, before, strchr(expand(&w, outcome, wanted), ':')[-2], events[t->event].meanwhile);
    enter(DURING);
    in_child = 0;
    int code = events[t->event].happen(&w);
    if (is_held)
        end_first_call(thread);
    describe(&w, code, held, got);
    if (!is_held && t->has_thread)
        wrong = end_calls(thread);
    if (in_child && in_child != strchr(got, ':')[-2])
        wrong = in_child;
    bool is_right = is_as(&w, outcome, got, t->has_thread, is_new);
    if (wrong)
        print_error("%s, %s, way %d: reached %c\n", claims[t->claim].name, events[t->event].name, t->way, wrong);
    if (!is_right)
        print_error("%s, %s, way %d: %s, not %s\n", claims[t->claim].name, events[t->event].name, t->way, got,
                    expand(&w, outcome, wanted));
    end_claims(&w);
    return !wrong && is_right;
}

static bool applies(const struct attempt *t)
{
    return table[t->claim][t->event] && claims[t->claim].ways & events[t->event].ways & 1U << t->way &&
           !(t->has_thread && claims[t->claim].is_held);
}

static void try_table(bool has_thread)
{
    int failed = 0, tried = 0;
    struct attempt t = {.has_thread = has_thread};
    tn_thread_attach();
    for (t.claim = 0; t.claim < CLAIMS; t.claim++)
        for (t.event = 0; t.event < EVENTS; t.event++)
            for (t.way = 0; t.way < WAYS; t.way++)
                if (applies(&t)) {
                    failed += !try_entry(&t);
                    tried++;
                }
    tn_thread_detach();
    print_message("%d tried\n", tried);
    assert_int_equal(failed, 0);
}

static void entries(void **state)
{
    (void)state;
    try_table(false);
}

static void entries_while_a_thread_calls(void **state)
{
    (void)state;
    try_table(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),
        cmocka_unit_test(entries_while_a_thread_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
