/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loads an image of throws.cpp, lets exceptions pass between it and this program in every direction, reads its
 * thread-local variables in two threads, and prints what happened in which order. */

#include <cstdio>
#include <cstring>
#include <thread>

#include "tenon_image.h"

static char order[16];

extern "C" void note(int what)
{
    snprintf(order + strlen(order), 4, "%d", what);
}

/* The compiler declares these as they are, so they are known by other names here. */
#define SYMBOL(name) extern char symbol_##name __asm__(#name)
SYMBOL(__cxa_allocate_exception);
SYMBOL(__cxa_free_exception);
SYMBOL(__cxa_throw);
SYMBOL(__cxa_begin_catch);
SYMBOL(__cxa_end_catch);
SYMBOL(__gxx_personality_v0);
SYMBOL(_ZTIi);
SYMBOL(_Unwind_Resume);
SYMBOL(_ZSt9terminatev);

/* What the image needs; a static program has no other list. */
static void *find(void *, const char *name)
{
#define ROW(name)                                                                                                      \
    {                                                                                                                  \
#name, &symbol_##name                                                                                          \
    }
    static const struct {
        const char *name;
        void *address;
    } known[] = {
        {"note", reinterpret_cast<void *>(note)},
        ROW(__cxa_allocate_exception),
        ROW(__cxa_free_exception),
        ROW(__cxa_throw),
        ROW(__cxa_begin_catch),
        ROW(__cxa_end_catch),
        ROW(__gxx_personality_v0),
        ROW(_ZTIi),
        ROW(_Unwind_Resume),
        ROW(_ZSt9terminatev),
    };
    for (const auto &row : known)
        if (strcmp(row.name, name) == 0)
            return row.address;
    return nullptr;
}

static int refuses(int value)
{
    if (value == 2)
        throw 40 + value;
    return value;
}

static int use(const tn_image *image)
{
    static const int values[] = {1, 2, 3};
    auto throws = reinterpret_cast<void (*)(const int *, int)>(tn_image_lookup(image, "throws"));
    auto catches = reinterpret_cast<int (*)(const int *, int)>(tn_image_lookup(image, "catches"));
    auto by_name = reinterpret_cast<int (*)(const int *, int)>(tn_image_lookup(image, "catches_by_name"));
    auto passes = reinterpret_cast<int (*)(int (*)(int), int)>(tn_image_lookup(image, "passes"));
    auto unwindings = reinterpret_cast<int (*)()>(tn_image_lookup(image, "unwindings"));
    auto counts = reinterpret_cast<int (*)()>(tn_image_lookup(image, "counts"));
    int own = 0, through = 0, other = 0, inside = catches(values, 2), named = by_name(values, 2);
    try {
        throws(values, 3);
    } catch (int thrown) {
        own = thrown;
    }
    try {
        passes(refuses, 5);
    } catch (int thrown) {
        through = thrown;
    }
    counts();
    std::thread([&] { other = counts(); }).join();
    return printf("%d %d %d %d %d; %d %d; ", own, inside, named, through, unwindings(), counts(), other);
}

int main(int, char **argv)
{
    tn_image_load_options options = {};
    tn_image *image;
    tn_error err;
    options.size = sizeof options;
    options.resolver = find;
    for (int i = 0; i < 2; i++) { /* the second time, nothing is left of the first */
        order[0] = 0;
        if (tn_image_open(argv[1], &options, &image, &err) != 0)
            return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
        use(image);
        tn_image_close(image);
        printf("%s%s", order, i ? "\n" : " | ");
    }
    return 0;
}
