# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared libraries of the system, opened in a static program, with what they need: functions of each answer what they do
# when the system's dynamic linker has opened the library.

. tests/build/check
. tests/link/shared/table.bash

folder=/usr/lib/x86_64-linux-gnu
if [ "$(uname -m)" != x86_64 ] || ! [ -e $folder/libz.so.1 ]; then
    echo "ok shared libraries of the system # SKIP for Debian on x86-64 only"
    exit
fi
cc=${CC:-gcc} sources=$PWD/tests/link/shared/compared
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PKG_CONFIG_PATH=$BUILD/pkgconfig
export PKG_CONFIG_PATH
$cc -O1 "$sources/debian.c" "$sources/system.c" -ldl -o "$work/system" || exit 1
there=() missing=()
while read -r name; do
    if [ -e "$folder/$name" ]; then there+=("$name"); else missing+=("$name"); fi
done < <("$work/system")

# All that they need.
for name in "${there[@]}"; do ldd "$folder/$name"; done |
    awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread)\.so/ { print $3 }' | sort -u >"$work/needed"
mapfile -t needed <"$work/needed"
table "$work/table.c" "${there[@]/#/$folder/}" "${needed[@]}"
# shellcheck disable=SC2046
$cc -std=gnu11 -O1 -w -static -DTABLE=table "$work/table.c" "$sources/debian.c" "$sources/tenon.c" \
    $(pkg-config --cflags --libs --static tenon) -lm -lresolv -o "$work/static" \
    2>"$work/warnings" || {
    cat "$work/warnings"
    exit 1
}
for name in "${there[@]}"; do
    expected=$("$work/system" "$folder" "$name" 2>&1)
    answers "$name" "$expected" "$work/static" "$folder" "$name"
done
for name in "${missing[@]}"; do echo "ok $name # SKIP not installed"; done
