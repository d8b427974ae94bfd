// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loads a file by what the first argument says, dlopen or tn_image_open, from where the second one says, and prints
// what its functions answer: those of parts.c, then those of parts_cxx.cpp.

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>

#include "tenon_image.h"

extern "C" {
int host_value = 20;

int host_add(int a, int b)
{
    return a + b + 100;
}

void host_throw(int value)
{
    throw value;
}

void host_say(const char *text)
{
    std::printf(" %s", text);
    std::fflush(stdout);
}
}

static void *library;
static struct tn_image *image;

static bool load(const char *how, const char *path)
{
    struct tn_image_load_options options = {};
    struct tn_error err = {};
    options.size = sizeof options;
    options.resolver = tn_resolve_dlsym;
    if (std::strcmp(how, "tn_image_open") == 0)
        return tn_image_open(path, &options, &image, &err) == 0 || (std::puts(err.text), false);
    library = dlopen(path, RTLD_NOW);
    if (!library)
        return std::puts(dlerror()), false;
    void *header = dlsym(library, "tn_image");
    if (!header)
        return std::puts("no image"), false;
    return tn_image_open_linked(header, nullptr, &image, &err) == 0 || (std::puts(err.text), false);
}

template <typename Function> static Function *find(const char *name)
{
    void *address = library ? dlsym(library, name) : tn_image_lookup(image, name);
    return reinterpret_cast<Function *>(address);
}

static void *ask_all(void *)
{
    int (*part)(int) = find<int(int)>("part");
    for (int i = 0; i < 8; i++)
        std::printf(" %d", part(i));
    return nullptr;
}

static void catch_all()
{
    int (*inside)(int) = find<int(int)>("inside");
    std::printf(" %d", inside(5));
    std::printf(" %d", inside(-6));
    try {
        find<void(int)>("out")(7);
    } catch (const std::logic_error &error) {
        std::printf(" %s", error.what());
    }
    try {
        find<void(int)>("through")(8);
    } catch (int value) {
        std::printf(" %d", value);
    }
}

int main(int, char **argv)
{
    pthread_t after;
    if (!load(argv[1], argv[2]))
        return 1;
    ask_all(nullptr);
    pthread_create(&after, nullptr, ask_all, nullptr);
    pthread_join(after, nullptr);
    catch_all();
    tn_image_close(image);
    if (library)
        dlclose(library);
    std::printf(" %d\n", host_value);
    return 0;
}
