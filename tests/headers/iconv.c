/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    /* The conversions that are built into libc; others are shared objects also for static programs. */
    static const char *const targets[] = {"UTF-16LE", "UCS-4BE", "UTF-32", "ASCII", "ASCII//TRANSLIT", "UTF-7,"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        char text[] = "h\xc3\xa9llo", out[64], *from = text, *to = out;
        size_t left = strlen(text), room = sizeof out;
        iconv_t converter = iconv_open(targets[i], "UTF-8");
        if (converter == (iconv_t)-1) {
            printf("%s: none\n", targets[i]);
            continue;
        }
        size_t rc = iconv(converter, &from, &left, &to, &room);
        printf("%s %zd %zu %d:", targets[i], (ssize_t)rc, left, rc == (size_t)-1 && errno == EILSEQ);
        for (char *p = out; p < to; p++)
            printf(" %02x", (unsigned char)*p);
        putchar('\n');
        iconv_close(converter);
    }
    return 0;
}
