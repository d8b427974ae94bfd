/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Exceptions, thread-local objects and static objects. */

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Noted {
    const char *name;
    explicit Noted(const char *given) : name(given)
    {
        std::printf("+%s\n", name);
    }
    ~Noted()
    {
        std::printf("-%s\n", name);
    }
};

Noted of_library("library");
thread_local Noted of_thread("thread");

struct Special : std::runtime_error {
    using std::runtime_error::runtime_error;
};

__attribute__((noinline)) int fail(int depth)
{
    Noted guard("frame");
    if (depth == 0)
        throw Special("deep");
    return fail(depth - 1) + 1;
}
} // namespace

extern "C" int run()
{
    std::vector<std::string> words{"a", "b"};
    std::printf("%s\n", of_thread.name);
    try {
        fail(2);
    } catch (const std::exception &e) {
        words.push_back(e.what());
    }
    try {
        words.at(10);
    } catch (const std::out_of_range &) {
        words.push_back("range");
    }
    for (const auto &word : words)
        std::printf("%s ", word.c_str());
    std::printf("\n");
    return static_cast<int>(words.size());
}
