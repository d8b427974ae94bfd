/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int not_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(void)
{
    char folder[] = "/tmp/tenon-dirent-XXXXXX", path[100];
    if (!mkdtemp(folder))
        return 1;
    static const char *const names[] = {"beta", "alpha", "gamma10", "gamma9"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    DIR *stream = opendir(folder);
    int count = 0;
    while (readdir(stream))
        count++;
    rewinddir(stream);
    printf("%d %d\n", count, dirfd(stream) > 2);
    closedir(stream);
    struct dirent **list;
    count = scandir(folder, &list, not_dot, versionsort);
    for (int i = 0; i < count; i++) {
        puts(list[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        unlink(path);
        free(list[i]);
    }
    free(list);
    printf("%d ", rmdir(folder));
    printf("%d\n", opendir(folder) == NULL);
    return 0;
}
