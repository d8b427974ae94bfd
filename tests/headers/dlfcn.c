/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *handle = dlopen("/nonexistent/library.so", RTLD_NOW);
    const char *message = dlerror();
    printf("%d %s\n", handle == NULL, message);
    printf("%d\n", dlerror() == NULL);
    return 0;
}
