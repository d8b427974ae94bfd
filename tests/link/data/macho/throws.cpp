// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Exceptions through frames that only an unwind table without relocations describes, and destructors at each end.

extern "C" void note(const char *);

struct Noted {
    const char *name;
    Noted(const char *name) : name(name)
    {
        note(name);
    }
    ~Noted()
    {
        note("gone");
        note(name);
    }
};

static Noted at_start("static");
static thread_local Noted of_thread("thread");

__attribute__((noinline)) static void thrower(int number)
{
    Noted local("local");
    if (number)
        throw number;
}

template <class T> struct Kept {
    static T value;
    static T next()
    {
        static T count = value;
        return ++count;
    }
};
template <class T> T Kept<T>::value = 10;

extern "C" int run()
{
    try {
        thrower(0);
        thrower(5);
    } catch (int number) {
        try {
            throw of_thread.name;
        } catch (const char *name) {
            note(name);
            return number * 100 + Kept<int>::next();
        }
    }
    return -1;
}
