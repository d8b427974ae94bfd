/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    char *argv[] = {"prog", "-a", "-bvalue", "--long=7", "rest", "--flag", NULL};
    int flag = 0, c;
    const struct option options[] = {{"long", required_argument, NULL, 'l'}, {"flag", no_argument, &flag, 5}, {0}};
    opterr = 0;
    while ((c = getopt_long(6, argv, "ab:", options, NULL)) != -1)
        printf("%d %s\n", c, optarg ? optarg : "-");
    printf("%d %d %s\n", flag, optind, argv[optind]);
    char *own[] = {"prog", "a={", "size=12", NULL}, *value;
    printf("%d ", getsubopt(&own[1], own, &value));
    puts(value ? value : "-");
    return 0;
}
