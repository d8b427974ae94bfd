/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* catalogue PORT [REQUESTS]: a server of articles that are part of the program. It ends after that number of requests.
 * The articles are there when it starts: nothing is read or built. */

#include <stdlib.h>

#include "catalogue.h"

extern const struct articles by_name, by_number; /* roots of the saved objects */

int main(int argc, char **argv)
{
    return serve(&by_name, &by_number, NULL, argc > 1 ? atoi(argv[1]) : 0, argc > 2 ? atol(argv[2]) : -1);
}
