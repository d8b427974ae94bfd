/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <inttypes.h>
#include <stdio.h>
#include <wchar.h>

int main(void)
{
    intmax_t number = INTMAX_MIN + 1;
    imaxdiv_t parts = imaxdiv(-17, 5);
    printf("%" PRIdMAX " %" PRIxMAX " %" PRId64 " %" PRIu8 "\n", imaxabs(number), (uintmax_t)number, INT64_MIN,
           UINT8_MAX);
    printf("%" PRIdMAX " %" PRIdMAX "\n", parts.quot, parts.rem);
    int32_t a;
    uint16_t b;
    sscanf("-12345 beef", "%" SCNd32 " %" SCNx16, &a, &b);
    printf("%" PRId32 " %" PRIX16 "\n", a, b);
    printf("%" PRIdMAX " %" PRIuMAX " %" PRIdMAX "\n", strtoimax("0x7f", NULL, 0), strtoumax("777", NULL, 8),
           wcstoimax(L"-42", NULL, 10));
    return 0;
}
