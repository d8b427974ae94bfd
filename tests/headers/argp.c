/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <argp.h>
#include <stdio.h>

static error_t take(int key, char *value, struct argp_state *state)
{
    if (key == 'n' || key == ARGP_KEY_ARG)
        printf("%d %s\n", key, value);
    else if (key == ARGP_KEY_END)
        printf("%u arguments\n", state->arg_num);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

int main(void)
{
    static const struct argp_option options[] = {{"number", 'n', "N", 0, "a number", 0}, {0}};
    static const struct argp parser = {options, take, "WORD...", "text", NULL, NULL, NULL};
    char *argv[] = {"prog", "one", "--number=5", "two", NULL};
    return argp_parse(&parser, 4, argv, 0, NULL, NULL);
}
