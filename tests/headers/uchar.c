/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <uchar.h>

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const char *text = "a\xc3\xa9\xf0\x9f\x98\x80";
    mbstate_t state = {0};
    size_t left = strlen(text) + 1;
    char16_t unit;
    for (const char *p = text; left;) {
        size_t used = mbrtoc16(&unit, p, left, &state);
        printf("%x %zd\n", unit, (ssize_t)used);
        if (used == 0 || used == (size_t)-1 || used == (size_t)-2)
            break;
        if (used != (size_t)-3)
            p += used, left -= used;
    }
    char out[16] = {0};
    memset(&state, 0, sizeof state);
    size_t size = c32rtomb(out, U'\x1F600', &state);
    printf("%zu %s\n", size, out);
    char32_t point = 0;
    printf("%zu ", mbrtoc32(&point, "\xe2\x82\xac", 3, &state));
    printf("%x\n", (unsigned)point);
    return 0;
}
