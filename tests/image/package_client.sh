# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The client of a cache (examples/packages/cache.c): the second run compiles nothing, and what is wrong with the folder
# does not change what it prints. Programs that do not name caches of packages have nothing of them.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig
succeeds "the client compiles" "$CC" -O2 -Wall -Wextra -Werror -static -s examples/packages/cache.c \
    $(pkg-config --cflags --libs tenon-codegen) -lm $(pkg-config --variable=small_ldflags tenon-codegen) \
    -o "$work/client"

# rule TEXT: its IR.
rule() {
    echo "int rule(int n) { return $1; }" | "$LLVM_BIN/clang" -O1 -S -emit-llvm -x c - -o "$work/rule.ll"
}

client() {
    (cd "$work" && ./client rule.ll "$@")
}

rule 'n + 1'
answers "the first run compiles" $'compiled\n21' client
answers "the second one does not" 21 client
rule 'n * 3'
answers "another source is compiled" $'compiled\n60' client
rule 'n + 1'
answers "the first one is still there" 21 client
answers "another folder is made" $'compiled\n21' client "$work/other"
files=("$work"/other/rules/*.image)
some "files are called by key and build id" "$(grep -E '/[0-9a-f]{64}-[0-9a-f]{32}\.image$' <<<"${files[0]}")"
id=${files[0]##*-}
some "and are images" "$("$BUILD/tenon" inspect "${files[0]}" | grep "build id ${id%.image}")"
truncate -s 4096 "${files[0]}"
answers "a damaged one is compiled again" "${files[0]} is not used: TN_EFORMAT"$'\ncompiled\n21' client "$work/other"
answers "and repaired" 21 client "$work/other"
chmod 777 "$work/other"
answers "a folder that others may write is not used" "$work/other is not used: TN_EPERM"$'\ncompiled\n21' \
    client "$work/other"

# With all processes at a time, one compiles.
for i in $(seq 8); do
    client "$work/at_once" >"$work/said.$i" &
done
wait
answers "one of eight compiles" $'8 21\n1 compiled' bash -c "sort '$work'/said.* | uniq -c | sed 's/^ *//'"

cat >"$work/plain.c" <<'END'
#include "tenon_image.h"
int main(int argc, char **argv)
{
    struct tn_image *image;
    return tn_image_open(argv[argc - 1], 0, &image, 0);
}
END
"$CC" -Iinclude "$work/plain.c" "$BUILD/libtenon.a" -lpthread -o "$work/plain"
some "a program that opens images" "$(nm "$work/plain" | grep ' tn_image_open$')"
none "has no cache of packages" "$(nm "$work/plain" | grep -E 'tn_package|tn__files|tn__os_lock_in|tn__sha256')"
text=$(size -A "$BUILD/libtenon.a" | awk '/^package.c.o|^package.o/ { here = 1 } /^$/ { here = 0 }
    here && /^\.text/ { sum += $2 } END { print sum }')
some "which has at most 6 KB of code" "$([ "$text" -gt 3000 ] && [ "$text" -le 6144 ] && echo "$text")"
