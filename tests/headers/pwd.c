/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <pwd.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct passwd *root = getpwuid(0), entry, *found;
    char buffer[4096];
    printf("%s %s\n", root ? root->pw_name : "none", root ? root->pw_dir : "-");
    printf("%d ", getpwnam_r("no-such-user", &entry, buffer, sizeof buffer, &found));
    printf("%d\n", found == NULL);
    int count = 0;
    setpwent();
    while (getpwent())
        count = 1; /* how many there are depends on the name services */
    endpwent();
    printf("%d\n", count);
    return 0;
}
