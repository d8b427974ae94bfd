/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    const char *name = setlocale(LC_ALL, NULL);
    printf("%s\n", name);
    printf("%s %s\n", localeconv()->decimal_point, localeconv()->thousands_sep);
    printf("%d\n", setlocale(LC_ALL, "no_SUCH.locale") == NULL);
    printf("%s ", setlocale(LC_CTYPE, "C.UTF-8"));
    printf("%zu\n", (size_t)MB_CUR_MAX);
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(locale);
    printf("%zu %d\n", (size_t)MB_CUR_MAX, strcoll_l("a", "b", locale) < 0);
    uselocale(before);
    freelocale(locale);
    return 0;
}
