/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    wchar_t text[50], *save;
    wcscpy(text, L"gr\u00fc\u00dfe,welt");
    printf("%zu %td %d\n", wcslen(text), wcschr(text, L',') - text, wcscmp(text, L"gr") > 0);
    wprintf(L"not shown: the stream is narrow\n");
    wchar_t *word = wcstok(text, L",", &save);
    char narrow[50];
    printf("%zu ", wcstombs(narrow, word, sizeof narrow));
    printf("%s\n", narrow);
    printf("%d ", swprintf(text, 50, L"%d %ls", 7, L"seven"));
    printf("%ls\n", text);
    int number;
    printf("%d ", swscanf(L"42 x", L"%d", &number));
    printf("%d\n", number);
    printf("%ld %g\n", wcstol(L"-77", NULL, 10), wcstod(L"2.5", NULL));
    wmemset(text, L'y', 3);
    printf("%d %d %d\n", (int)btowc('a'), wctob(L'b'), wcwidth(L'\u4e00'));
    mbstate_t state = {0};
    wchar_t wide;
    printf("%zu ", mbrtowc(&wide, "\xe2\x82\xac", 3, &state));
    printf("%x\n", (unsigned)wide);
    FILE *file = tmpfile();
    fputws(L"\u20ac5\n", file);
    rewind(file);
    printf("%x\n", (unsigned)fgetwc(file));
    return 0;
}
