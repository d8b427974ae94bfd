/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <obstack.h>
#include <stdio.h>
#include <stdlib.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

int main(void)
{
    struct obstack stack;
    obstack_init(&stack);
    for (int i = 0; i < 2000; i++)
        obstack_printf(&stack, "%d;", i);
    obstack_1grow(&stack, 0);
    int size = (int)obstack_object_size(&stack);
    char *text = obstack_finish(&stack);
    printf("%d %.12s\n", size, text);
    obstack_free(&stack, NULL);
    return 0;
}
