/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int files, folders, deepest;

static int visit(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    files += kind == FTW_F && status->st_size == 0;
    folders += kind == FTW_DP;
    deepest = where->level > deepest ? where->level : deepest;
    return remove(path);
}

int main(void)
{
    char top[] = "/tmp/tenon-ftw-XXXXXX", path[100];
    if (!mkdtemp(top))
        return 1;
    static const char *const names[] = {"a", "a/b", "c"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", top, names[i]);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/%s/file", top, names[i]);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    int rc = nftw(top, visit, 10, FTW_DEPTH | FTW_PHYS);
    printf("%d %d %d %d %d\n", rc, files, folders, deepest, access(top, F_OK));
    return 0;
}
