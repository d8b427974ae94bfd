/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The part in C++ of the library that shared.sh makes: exceptions inside of it and from libstdc++, objects with
 * constructors and destructors, of the library and of threads. */

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

struct spoken {
    const char *name;
    explicit spoken(const char *name) : name(name)
    {
        std::printf("construct %s\n", name);
    }
    ~spoken()
    {
        std::printf("destroy %s\n", name);
    }
};

spoken whole("library");

__attribute__((noinline)) int at(const std::vector<int> &numbers, int place)
{
    spoken held("frame");
    if (place < 0)
        throw place;
    return numbers.at((size_t)place);
}

} // namespace

extern "C" int catches(int place)
{
    static thread_local spoken each("thread");
    try {
        return at({5, 6, 7}, place) + (each.name == whole.name);
    } catch (int number) {
        return number;
    } catch (const std::out_of_range &) {
        return 1000;
    }
}
