/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    /* Through pointers: the compiler must not fold them, and most are chosen for the CPU by an IFUNC. */
    size_t (*volatile length)(const char *) = strlen;
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    void *(*volatile move)(void *, const void *, size_t) = memmove;
    void *(*volatile set)(void *, int, size_t) = memset;
    int (*volatile compare)(const char *, const char *) = strcmp;
    char *(*volatile find)(const char *, const char *) = strstr;
    char big[5000], other[5000];
    set(big, 'a', sizeof big);
    big[4999] = 0;
    copy(other, big, sizeof big);
    move(big + 1, big, 4000);
    printf("%zu %d %d\n", length(big), memcmp(big, other, 5000), compare(big, other));
    printf("%s %s %s\n", find("hello world", "o w"), strchr("hello", 'l'), strrchr("hello", 'l'));
    char text[100] = "one,two;three";
    char *rest = text, *save;
    printf("%s ", strsep(&rest, ",;"));
    for (char *word = strtok_r(rest, ";", &save); word; word = strtok_r(NULL, ";", &save))
        printf("[%s]", word);
    printf("\n%zu %zu %s\n", strspn("aabbc", "ab"), strcspn("hello", "lo"), strpbrk("hello", "xl"));
    strcpy(text, "abc");
    strcat(text, "def");
    strncat(text, "ghijkl", 2);
    printf("%s %d %d\n", text, strncmp(text, "abcx", 3), strncasecmp("ABC", "abd", 2));
    printf("%s ", stpcpy(text, "end") - 3);
    printf("%p\n", memchr("abc", 'z', 3));
    char *copied = strdup("copied"), *part = strndup("partial", 4);
    printf("%s %s %s %d\n", copied, part, strerror(2), strcasecmp("HeLLo", "hEllO"));
    free(copied);
    free(part);
    printf("%s %s\n", (char *)memmem("needle in hay", 13, "in", 2), basename("/usr/lib/x.so"));
    printf("%d ", strverscmp("a9", "a10") < 0);
    printf("%d ", strcoll("a", "b") < 0);
    printf("%zu\n", strxfrm(text, "abc", 10));
    explicit_bzero(text, sizeof text);
    return text[0];
}
