/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void visit(const void *node, VISIT order, int level)
{
    if (order == postorder || order == leaf)
        printf("%s ", *(char *const *)node);
    (void)level;
}

int main(void)
{
    static char *words[] = {"pear", "apple", "fig", "kiwi"};
    void *root = NULL;
    hcreate(10);
    for (int i = 0; i < 4; i++) {
        hsearch((ENTRY){.key = words[i], .data = words[3 - i]}, ENTER);
        tsearch(words[i], &root, compare);
    }
    twalk(root, visit);
    ENTRY *found = hsearch((ENTRY){.key = "apple"}, FIND);
    printf("%s ", (char *)found->data);
    printf("%d\n", tfind("plum", &root, compare) == NULL);
    hdestroy();
    for (int i = 0; i < 4; i++)
        tdelete(words[i], &root, compare);
    printf("%d\n", root == NULL);
    size_t count = 3;
    int numbers[5] = {4, 5, 6}, key = 7;
    int *place = lsearch(&key, numbers, &count, sizeof(int), (__compar_fn_t)compare);
    printf("%zu %td\n", count, place - numbers);
    return 0;
}
