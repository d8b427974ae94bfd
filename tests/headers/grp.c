/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    struct group *root = getgrgid(0), entry, *found;
    char buffer[4096];
    printf("%s\n", root ? root->gr_name : "none");
    printf("%d ", getgrnam_r("no-such-group", &entry, buffer, sizeof buffer, &found));
    printf("%d\n", found == NULL);
    int count = 0;
    setgrent();
    while (getgrent())
        count = 1; /* how many there are depends on the name services */
    endgrent();
    gid_t groups[64];
    printf("%d %d\n", count, getgroups(64, groups) >= 0);
    return 0;
}
