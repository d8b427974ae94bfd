/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <regex.h>
#include <stdio.h>

int main(void)
{
    regex_t expression;
    regmatch_t match[4];
    printf("%d\n", regcomp(&expression, "([a-z]+)=([0-9]{2,})|x*$", REG_EXTENDED | REG_ICASE));
    const char *text = "skip Key=1234 end";
    printf("%d\n", regexec(&expression, text, 4, match, 0));
    for (int i = 0; i < 4; i++)
        printf("%d-%d ", (int)match[i].rm_so, (int)match[i].rm_eo);
    regfree(&expression);
    char message[100];
    int code = regcomp(&expression, "a(b", REG_EXTENDED);
    regerror(code, &expression, message, sizeof message);
    printf("\n%d %s\n", code, message);
    return 0;
}
