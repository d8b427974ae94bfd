// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loaded frames that exceptions pass: one without anything to do, one with a destructor.

struct guard {
    int *count;
    ~guard()
    {
        ++*count;
    }
};

__attribute__((noinline)) static int through(int (*function)(void *), void *context)
{
    volatile int frame[20] = {};
    frame[3] = function(context);
    return frame[3] + 1;
}

extern "C" int with_cleanup(int (*function)(void *), void *context, int *cleaned)
{
    guard guard = {cleaned};
    return through(function, context) + 1;
}
