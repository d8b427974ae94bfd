/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <strings.h>

int main(void)
{
    char text[] = "bytes";
    printf("%d %d %d %d\n", ffs(0x60), ffsl(1L << 40), strcasecmp("ABC", "abc"), strncasecmp("ABx", "aby", 2));
    printf("%s %d\n", index("a.b.c", '.'), bcmp("ab", "ab", 2));
    puts(rindex("a.b.c", '.'));
    bcopy("BY", text, 2);
    puts(text);
    bzero(text, sizeof text);
    return text[2];
}
