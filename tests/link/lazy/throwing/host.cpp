/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* host LOADED.o BODY.o: calls a lazy function from loaded code: first while it cannot be had, and its failure is
 * thrown as a C++ exception through the loaded caller; then with a body, while whose link `while_linking` is called. */

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tenon.h"

static void fail()
{
    throw std::runtime_error("function");
}

extern "C" __attribute__((noinline)) void while_linking()
{
    __asm__ volatile(""); /* here gdb looks around */
}

extern "C" int witness(int n)
{
    return n + 40;
}

static void *resolve(void *, const char *name)
{
    if (std::strcmp(name, "witness"))
        return nullptr;
    while_linking();
    return reinterpret_cast<void *>(witness);
}

static void check(int code, const tn_error &err)
{
    if (!code)
        return;
    std::fprintf(stderr, "%s: %s\n", tn_error_name(code), err.text);
    std::exit(1);
}

template <typename Function> static Function *find(tn_library *library, const char *name)
{
    tn_error err;
    void *address = nullptr;
    check(tn_lookup(library, name, &address, &err), err);
    return reinterpret_cast<Function *>(address);
}

int main(int argc, char **argv)
{
    tn_error err;
    tn_session *session;
    tn_library *library, *bodies;
    const tn_stub_options options = {sizeof options, nullptr, fail};
    const tn_lazy_symbol symbol = {"function", "once", 0, 0, 0};
    int cleaned = 0;
    if (argc != 3)
        return 2;
    check(tn_session_create(nullptr, &session, &err), err);
    check(tn_observe_gdb(session, &err), err);
    check(tn_library_create(session, "main", &library, &err), err);
    check(tn_library_create(session, "bodies", &bodies, &err), err);
    check(tn_add_resolver(library, tn_resolve_dlsym, nullptr, &err), err);
    check(tn_add_resolver(bodies, resolve, nullptr, &err), err);
    check(tn_add_file(library, argv[1], &err), err);
    check(tn_define_lazy(library, &symbol, 1, bodies, &options, &err), err);
    auto *caller = find<int(int, int *)>(library, "caller"), *catcher = find<int(int, int *)>(library, "catcher");
    try {
        caller(1, &cleaned);
    } catch (const std::runtime_error &error) {
        std::printf("caught %s, cleaned %d\n", error.what(), cleaned);
    }
    int answer = catcher(5, &cleaned);
    std::printf("caught in loaded code %d, cleaned %d\n", answer, cleaned);
    check(tn_add_file(bodies, argv[2], &err), err);
    answer = caller(1, &cleaned);
    std::printf("answer %d, cleaned %d\n", answer, cleaned);
    tn_session_destroy(session);
    return 0;
}
