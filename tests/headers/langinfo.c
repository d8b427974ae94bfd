/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>

int main(void)
{
    static const nl_item items[] = {CODESET, RADIXCHAR, DAY_1, ABMON_12, D_T_FMT, YESEXPR, THOUSEP};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        puts(nl_langinfo(items[i]));
    setlocale(LC_ALL, "C.UTF-8");
    puts(nl_langinfo(CODESET));
    return 0;
}
