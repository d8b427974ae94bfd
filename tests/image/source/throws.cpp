/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code of an image that throws, catches, keeps thread-local variables, and says when it begins and ends. */

extern "C" void note(int what);

static int unwound;

struct guard {
    ~guard()
    {
        unwound++;
    }
};

/* Each has a loop, and so a version for every target. */
static int sum(const int *values, int count)
{
    int result = 0;
    for (int i = 0; i < count; i++)
        result += values[i];
    return result;
}

extern "C" void throws(const int *values, int count)
{
    guard guard;
    throw sum(values, count);
}

extern "C" int catches(const int *values, int count)
{
    for (;;)
        try {
            throws(values, count);
        } catch (int thrown) {
            return 100 + thrown;
        }
}

/* Called by its name, which is an entry, by a function that has one version only. */
extern "C" __attribute__((weak)) void gives_way(const int *values, int count)
{
    for (int i = 0; i < count; i++)
        throws(values, count);
}

extern "C" __attribute__((optnone, noinline)) int catches_by_name(const int *values, int count)
{
    try {
        gives_way(values, count);
    } catch (int thrown) {
        return 200 + thrown;
    }
    return 0;
}

/* What `other` throws passes through. */
extern "C" int passes(int (*other)(int), int count)
{
    guard guard;
    int result = 0;
    for (int i = 0; i < count; i++)
        result += other(i);
    return result;
}

extern "C" int unwindings()
{
    return unwound;
}

/* One of each model; the library's own are found by one call for all of them, where the compiler is clever. */
thread_local int shared = 5;
static thread_local int own[2] = {10, 20};
static thread_local int *address = &own[1];
__attribute__((tls_model("initial-exec"))) thread_local int early = 7;
alignas(64) static thread_local char wide[64];

extern "C" int counts()
{
    own[0]++, own[1]++, shared++, early++;
    return own[0] + (address == &own[1] ? own[1] : 0) + shared + early + ((unsigned long)wide % 64 ? 1000 : 0);
}

__attribute__((constructor(101))) static void begin_first()
{
    note(1);
}

__attribute__((constructor(102))) static void begin_second()
{
    note(2);
}

static struct life {
    life()
    {
        note(3);
    }
} life;

__attribute__((destructor(102))) static void end_first()
{
    note(4);
}

__attribute__((destructor(101))) static void end_second()
{
    note(5);
}
