// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C++ in an image: exceptions thrown and caught inside, out of it and through it, objects made and destroyed with the
// file.

#include <stdexcept>
#include <string>

extern "C" void host_throw(int value);
extern "C" void host_say(const char *text);

struct Guard {
    const char *text;
    ~Guard()
    {
        host_say(text);
    }
};

static Guard global = {"destroyed"};
static std::string text = "made";

extern "C" int inside(int value)
{
    Guard guard = {"unwound"};
    try {
        if (value > 0)
            throw std::runtime_error(text);
        throw value;
    } catch (const std::runtime_error &error) {
        return (int)std::string(error.what()).size() + value;
    } catch (int caught) {
        return -caught;
    }
}

extern "C" void out(int value)
{
    throw std::out_of_range(text + std::to_string(value));
}

extern "C" void through(int value)
{
    Guard guard = {"passed"};
    host_throw(value);
}
