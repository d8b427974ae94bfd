/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loaded frames between a call that fails and who catches what the failure throws. */

#include <stdexcept>

extern "C" int function(int n); /* lazy */
extern "C" int caller(int n, int *cleaned);
extern "C" int catcher(int n, int *cleaned);

struct guard {
    int *cleaned;
    ~guard()
    {
        ++*cleaned;
    }
};

extern "C" int caller(int n, int *cleaned)
{
    guard here{cleaned};
    return function(n) + 1;
}

extern "C" int catcher(int n, int *cleaned)
{
    try {
        return caller(n, cleaned);
    } catch (const std::runtime_error &error) {
        return error.what()[0] == 'f' ? -n : 0;
    }
}
