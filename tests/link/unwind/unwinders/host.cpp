// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// host OBJECT: exceptions of C++ pass through loaded frames (guest.cpp) and run their cleanups, whatever was
// added and removed before. Prints `ok NAME` or `not ok NAME: why`, and which unwinder it found.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unwind.h>
#include <vector>

#include <tenon.h>

extern "C" void __gxx_personality_v0();
extern "C" void __unw_add_dynamic_fde() __attribute__((weak));

using through = int (*)(int (*)(void *), void *, int *);

static void check(int code, const tn_error &err)
{
    if (code) {
        std::printf("not ok linking: %s\n", err.text);
        std::exit(1);
    }
}

// One object in a library of its own. Its tracker may be removed.
struct loaded {
    tn_library *library;
    tn_tracker *tracker;
    through with_cleanup;
};

static loaded load(tn_session *session, const char *object)
{
    loaded one = {};
    tn_error err;
    void *address;
    tn_input input = {};
    input.size = sizeof input;
    check(tn_library_create(session, "one", &one.library, &err), err);
    check(tn_tracker_create(one.library, &one.tracker, &err), err);
    check(tn_define(one.library, "__gxx_personality_v0", reinterpret_cast<void *>(__gxx_personality_v0), &err), err);
    check(tn_define(one.library, "_Unwind_Resume", reinterpret_cast<void *>(_Unwind_Resume), &err), err);
    std::FILE *file = std::fopen(object, "rb");
    static unsigned char bytes[1 << 16]; // borrowed until the link, which is the next step
    input.name = object;
    input.bytes = bytes;
    input.length = file ? std::fread(bytes, 1, sizeof bytes, file) : 0;
    input.owner = one.tracker;
    if (file)
        std::fclose(file);
    check(tn_add_object(one.library, &input, &err), err);
    check(tn_lookup(one.library, "with_cleanup", &address, &err), err);
    one.with_cleanup = reinterpret_cast<through>(address);
    return one;
}

static void unload(const loaded &one)
{
    tn_error err;
    check(tn_tracker_remove(one.tracker, &err), err);
}

static int raise(void *number)
{
    throw std::runtime_error(std::to_string(*static_cast<int *>(number)));
}

// True if an exception comes through with its cleanup run.
static bool passes(const loaded &one)
{
    static int number;
    int cleaned = 0;
    number++;
    try {
        one.with_cleanup(raise, &number, &cleaned);
    } catch (const std::runtime_error &error) {
        return cleaned == 1 && error.what() == std::to_string(number);
    }
    return false;
}

static void report(const char *name, const std::vector<loaded> &objects)
{
    size_t failed = 0;
    for (const loaded &one : objects)
        failed += !passes(one);
    if (failed)
        std::printf("not ok %s: %zu of %zu objects\n", name, failed, objects.size());
    else
        std::printf("ok %s\n", name);
}

int main(int argc, char **argv)
{
    tn_session *session;
    tn_error err;
    if (argc != 2)
        return 2;
    std::printf("# the unwinder is %s\n", __unw_add_dynamic_fde ? "LLVM's" : "libgcc's");
    check(tn_session_create(nullptr, &session, &err), err);
    std::vector<loaded> objects;
    for (int i = 0; i < 5; i++)
        objects.push_back(load(session, argv[1]));
    report("exceptions pass through a few objects", objects);
    for (int i = 0; i < 1500; i++)
        objects.push_back(load(session, argv[1]));
    report("through many", objects);
    std::vector<loaded> kept;
    for (size_t i = 0; i < objects.size(); i++)
        if (i % 3)
            unload(objects[i]);
        else
            kept.push_back(objects[i]);
    report("through those that are left after a removal", kept);
    for (int i = 0; i < 700; i++) // in the places of those that are gone
        kept.push_back(load(session, argv[1]));
    report("through those and new ones", kept);
    for (const loaded &one : kept)
        unload(one);
    report("through the first one after all were removed", {load(session, argv[1])});
    tn_session_destroy(session);
    try {
        int number = 1;
        raise(&number);
    } catch (const std::runtime_error &) {
        std::printf("ok the host's own exceptions go on\n");
    }
}
