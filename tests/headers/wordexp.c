/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <wordexp.h>

int main(void)
{
    wordexp_t words;
    setenv("NAME", "a value", 1);
    printf("%d\n", wordexp("plain '$NAME' \"$NAME\" $NAME ${NONE:-default} $((3*4))", &words, 0));
    for (size_t i = 0; i < words.we_wordc; i++)
        puts(words.we_wordv[i]);
    wordfree(&words);
    printf("%d\n", wordexp("a | b", &words, 0) == WRDE_BADCHAR);
    return 0;
}
