# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tn_resolve_symtab finds functions of a static program, those that choose their code when the program starts, too.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PKG_CONFIG_PATH=$BUILD/pkgconfig
export PKG_CONFIG_PATH
cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <tenon.h>

static int chosen_one(void)
{
    return 7;
}

static int (*choose(void))(void)
{
    return chosen_one;
}

int chosen(void) __attribute__((ifunc("choose")));

static void *find(const char *name)
{
    void *address = tn_resolve_symtab(NULL, name);
    if (!address)
        printf("no %s\n", name);
    return address;
}

int main(void)
{
    char to[8] = "";
    int (*found)(void) = (int (*)(void))find("chosen");
    void *(*copy)(void *, const void *, size_t) = (void *(*)(void *, const void *, size_t))find("memcpy");
    if (!found || !copy)
        return 1;
    copy(to, "copied", 7);
    printf("%d %d %s\n", chosen(), found(), to);
    return find("main") != (void *)main;
}
END
# shellcheck disable=SC2046
${CC:-gcc} -static "$work/program.c" $(pkg-config --cflags --libs --static tenon) \
    $(pkg-config --variable=symtab_libs tenon) -fno-builtin -o "$work/program" || exit 1
answers "functions that are chosen when the program starts" "7 7 copied" "$work/program"
