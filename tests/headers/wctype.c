/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <locale.h>
#include <stdio.h>
#include <wctype.h>

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    unsigned long sum = 0;
    for (wint_t c = 0; c < 0x3000; c++)
        sum = sum * 31 + (iswalpha(c) != 0) * 3 + (iswdigit(c) != 0) + (iswspace(c) != 0) * 7 + (iswupper(c) != 0) * 5;
    printf("%lx\n", sum);
    printf("%x %x %d\n", towupper(0xe9), towlower(0x391), iswctype(L'7', wctype("digit")) != 0);
    printf("%x\n", towctrans(L'q', wctrans("toupper")));
    return 0;
}
