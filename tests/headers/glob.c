/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char folder[] = "/tmp/tenon-glob-XXXXXX";
    glob_t result;
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return 1;
    static const char *const names[] = {"one.c", "two.c", "three.h", ".four.c"};
    for (int i = 0; i < 4; i++)
        close(open(names[i], O_CREAT | O_WRONLY, 0600));
    printf("%d\n", glob("*.c", GLOB_MARK, NULL, &result));
    printf("%d\n", glob("{three,five}.h", GLOB_APPEND | GLOB_BRACE, NULL, &result));
    for (size_t i = 0; i < result.gl_pathc; i++)
        puts(result.gl_pathv[i]);
    globfree(&result);
    printf("%d\n", glob("*.none", 0, NULL, &result) == GLOB_NOMATCH);
    for (int i = 0; i < 4; i++)
        unlink(names[i]);
    return rmdir(folder);
}
