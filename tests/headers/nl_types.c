/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <nl_types.h>
#include <stdio.h>

int main(void)
{
    nl_catd catalogue = catopen("no-such-catalogue", NL_CAT_LOCALE);
    puts(catgets(catalogue, 1, 1, "the default"));
    return 0;
}
