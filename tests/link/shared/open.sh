# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared libraries of many compilers' and linkers' options, opened by Tenon in a dynamic and in a static program, do
# what they do when the system's dynamic linker opens them (include/tenon/format.h, doc/SHARED.md).

. tests/build/check
. tests/link/shared/table.bash

if [ "$(uname -m)" != x86_64 ] || [ "$(ldd --version 2>&1 | grep -c musl)" != 0 ]; then
    echo "ok shared libraries # SKIP for x86-64 with glibc only"
    exit
fi
cc=${CC:-gcc} sources=$PWD/tests/link/shared/compared
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PKG_CONFIG_PATH=$BUILD/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
tenon() { $cc -std=gnu11 -O1 -Wall "$@" "$sources/tenon.c" $(pkg-config --cflags --libs --static tenon) -lm; }

cd "$work" || exit 1
$cc -O1 "$sources/run.c" "$sources/system.c" -ldl -pthread -o system || exit 1
(cd "$OLDPWD" && tenon -Wl,--no-as-needed "$sources/run.c" -rdynamic -o "$work/dynamic") || exit 1

(cd "$OLDPWD" && tenon -DRESERVE=16 -Wl,--no-as-needed "$sources/run.c" -rdynamic -o "$work/small") || exit 1

libraries=()
# library NAME COMPILER FLAGS...: of library.c
library() {
    local name=$1
    shift
    libraries+=("./lib$name.so")
    "$@" -O1 -fPIC -shared "$sources/library.c" -o "lib$name.so" || exit 1
}
clang=$LLVM_BIN/clang lld="-fuse-ld=lld --ld-path=$LLVM_BIN/ld.lld"
library plain $cc
library now $cc -Wl,-z,now
library lazy $cc -Wl,-z,lazy
library sysv $cc -Wl,--hash-style=sysv
library gnu $cc -Wl,--hash-style=gnu
library together $cc -Wl,-z,noseparate-code
library writable $cc -Wl,-z,norelro
library symbolic $cc -Wl,-Bsymbolic
library large $cc -Wl,-z,max-page-size=0x200000
library descriptors $cc -mtls-dialect=gnu2
library initial $cc -ftls-model=initial-exec
library dynamic $cc -ftls-model=local-dynamic
library compact $cc -Wl,-z,pack-relative-relocs
cat >versions.map <<'END'
OLD_1 { global: counted; exported; local: to_*; words; zeros; cleared; };
NEW_2 { global: run; chosen; } OLD_1;
END
library versions $cc -Wl,--version-script=versions.map
library named $cc -Wl,-soname,libnamed.so.1
library unoptimised $cc -O0 -g
library section $cc -ffunction-sections -fdata-sections -Wl,--gc-sections
# shellcheck disable=SC2086
for flags in "" -Wl,-z,pack-relative-relocs -Wl,-z,now -Wl,-z,separate-loadable-segments -mtls-dialect=gnu2 \
    -Wl,--hash-style=sysv -Wl,-z,nognustack; do
    [ -x "$clang" ] || break
    library "clang$(tr -c '[:alnum:]\n' _ <<<"$flags")" "$clang" $lld $flags
done

cxx=${CXX:-g++}
mapfile -t runtime < <(for name in stdc++.so.6 gcc_s.so.1; do readlink -f "$($cxx -print-file-name=lib$name)"; done)
# libstdc++ stays in memory, and keeps what it has found something in: so nothing else is visible.
echo '{ global: run; local: *; };' >run.map
for flags in -O0 -O1 -O2; do
    $cxx -fPIC -shared $flags -Wl,--version-script=run.map "$sources/throws.cpp" -o "libthrows$flags.so" || exit 1
done
# shellcheck disable=SC2086
[ ! -x "$clang" ] ||
    "$clang++" -O1 -fPIC -shared $lld -Wl,--version-script=run.map "$sources/throws.cpp" -o libthrows_clang.so ||
    exit 1

table table.c "${libraries[@]}" libthrows-O1.so "${runtime[@]}"
(cd "$OLDPWD" && tenon -static -DTABLE=table "$work/table.c" "$sources/run.c" -o "$work/static") || exit 1

# compare NAME PATH...: the same output by all three
compare() {
    local name=$1 host
    shift
    ./system "$@" >expected 2>&1
    for host in dynamic static; do
        ./$host "$@" >found 2>&1
        none "$name, $host" "$(diff expected found | head -n 6)"
    done
}
for path in "${libraries[@]}"; do compare "${path#./}" "$path"; done
# Without a reserve, threads get memory when the library asks for its variables; one that does not ask is refused.
for path in "${libraries[@]}"; do
    ./system "$path" >expected 2>&1
    ./small "$path" >found 2>&1
    if [ "$path" = ./libinitial.so ]; then
        some "${path#./}, no reserve" "$(grep 'libinitial.so.*TN_TLS_RESERVE' found)"
    else
        none "${path#./}, no reserve" "$(diff expected found | head -n 6)"
    fi
done
for path in ./libthrows*.so; do compare "${path#./}, with libstdc++" -o "$path"; done

$cc -O1 -fPIC -shared "$sources/needs.c" ./libnamed.so -Wl,-rpath,. -o libneeds.so
ln -s libnamed.so libnamed.so.1
export LD_LIBRARY_PATH=.
compare "a library that needs another one" ./libneeds.so
compare "both" ./libnamed.so ./libneeds.so
