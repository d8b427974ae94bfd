# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tokens of texts that end where the readable memory ends.

. tests/build/check

: "${CC:=gcc}" "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
export PKG_CONFIG_PATH=$(realpath "$BUILD")/pkgconfig
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/ends.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "dowel.h"

int main(int argc, char **argv)
{
    size_t size = 1 << 16;
    char *end = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end += size;
    mprotect(end, size, PROT_NONE);
    for (int i = 1; i < argc; i++) {
        size_t length = strlen(argv[i]) + 1;
        memcpy(end - length, argv[i], length);
        printf("%d", is_complete(end - length));
        fflush(stdout);
    }
    return 0;
}
END
succeeds "the test is built" "$CC" -D_GNU_SOURCE $(pkg-config --cflags tenon-codegen) -Iexamples/dowel "$work/ends.c" \
    examples/dowel/lex.c -o "$work/ends"
answers "no token is longer than its text" "1111111110101" \
    "$work/ends" 1 1e 1E 1.5e 1e+ 1e- 1. a '"' '(' = '{#' ''
