/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* landing_pads OBJECT: code of a session in guarded pages (PROT_BTI), where each indirect branch has to reach a landing
 * pad: stubs and the functions of an object that is compiled with them, called through pointers. The object has
 * `int twice(int)`, and `int apply(int (*)(int), int)`, which calls its argument. Each case prints a line; a branch
 * that reaches no landing pad ends the program with SIGILL. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenon.h"

enum { PROT_BTI_ = 0x10 }; /* linux/arch/arm64/include/uapi/asm/mman.h */

typedef int unary(int);
typedef int higher(unary *, int);

static int failed(void)
{
    return -1;
}

/* The page that the function begins in; code of these cases is shorter. */
static int guard(const void *function)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return mprotect((void *)((uintptr_t)function & -page), page, PROT_READ | PROT_EXEC | PROT_BTI_);
}

static void said(const char *name, int found, int expected)
{
    printf(found == expected ? "ok %s\n" : "not ok %s: %d, not %d\n", name, found, expected);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const struct tn_lazy_symbol lazy = {.name = "lazy", .target = "twice"};
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = (void (*)(void))failed};
    struct tn_session *session;
    struct tn_library *names, *bodies;
    void *twice, *apply, *stub, *redirected;
    unary *call, *call_redirected, *body;
    higher *call_apply;
    struct tn_error err;
    if (argc < 2 || tn_session_create(NULL, &session, &err) || tn_library_create(session, "names", &names, &err) ||
        tn_library_create(session, "bodies", &bodies, &err) || tn_add_file(bodies, argv[1], &err) ||
        tn_define_lazy(names, &lazy, 1, bodies, &options, &err) || tn_lookup(names, "lazy", &stub, &err) ||
        tn_lookup(bodies, "twice", &twice, &err) || tn_lookup(bodies, "apply", &apply, &err) ||
        tn_define_redirectable(names, "redirected", NULL, &options, &err) ||
        tn_lookup(names, "redirected", &redirected, &err)) {
        printf("not ok link: %s\n", argc < 2 ? "no object" : err.text);
        return 1;
    }
    memcpy(&call, &stub, sizeof call), memcpy(&call_redirected, &redirected, sizeof call_redirected);
    memcpy(&body, &twice, sizeof body), memcpy(&call_apply, &apply, sizeof call_apply);
    said("pages of functions are guarded", guard(twice), 0);
    said("a function is called through a pointer", body(20), 40);
    said("another one calls it", call_apply(body, 21), 42);
    said("pages of stubs are guarded", guard(stub) | guard(redirected), 0);
    said("a stub is called for the first time", call(1), 2);
    said("a stub is called again", call(2), 4);
    said("a redirectable function that leads nowhere", call_redirected(2), -1);
    said("a redirectable function", tn_redirect(names, "redirected", twice, &err) ? 0 : call_redirected(3), 6);
    said("code of an object calls a stub", call_apply(call, 4), 8);
    tn_session_destroy(session);
    return 0;
}
