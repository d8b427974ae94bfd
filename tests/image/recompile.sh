# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Stale functions that are compiled again (doc/PACKAGES.md, "Stale functions"): which ones, what they answer, and that
# they share with the image what they shared before.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig
tenon=$BUILD/tenon
source=tests/image/source

# host NAME FILE OPTION...: a client with LLVM.
host() {
    "$CC" -B"$LLVM_BIN" -fuse-ld=lld -Wall -Wextra -Werror -Iinclude "${@:2}" \
        $(pkg-config --cflags --libs tenon-codegen) -pthread -lm -o "$work/$1" || exit 1
}
compile() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fPIC -emit-llvm -c "$@"; }
base() { "$tenon" build --kind=image --name base -o "$work/$1" "${@:2}"; }
user() { "$tenon" build --kind=image --name user -o "$work/user" --keep-ir "$@"; }

host host $source/copies_host.c -DAGAIN
host again_host $source/again_host.c
three='x86-64;x86-64-v3,clone_all;x86-64-v2'
settings=('x86-64 1' 'x86-64 4' "$three 1" "$three 4" 'x86-64 1 -DASSEMBLY' "$three 1 -DASSEMBLY")

. tests/image/support/copies_changes.bash

for setting in "${settings[@]}"; do
    read -r targets shards assembly <<<"$setting"
    compile $assembly $source/copies.c -o "$work/user.bc" || exit 1
    succeeds "$setting: it is built" user --targets "$targets" --shards $shards --depends "$work/same" \
        --use "$work/same.bc" "$work/user.bc"
    for change in "${changes[@]}"; do
        key=${change:-same}
        "$work/host" strict "$work/$key" "$work/user" >"$work/got" 2>&1 ||
            echo "not ok $setting, $key: $(cat "$work/got")"
        none "$setting, $key: what was compiled" "$(diff <(printf '%s\n' ${stale[$key]-}) \
            <(printf '%s\n' $(sed -n 's/^stale://p' "$work/got") | sort))"
        none "$setting, $key: what functions answer" \
            "$(diff "$work/$key.wanted" <(sed -n 's/^results://p' "$work/got"))"
    done
done

# What functions share: variables, labels, tables of virtual functions.
for change in '' G=x+100; do
    key=again.${change:-same}
    compile ${change:+"-D$change"} $source/again_base.c -o "$work/$key.bc" && base "$key" "$work/$key.bc" || exit 1
done
"$CC" -w -DITSELF -c $source/again_host.c -o "$work/main.o" &&
    "$LLVM_BIN/clang" -w -DG=x+100 -c $source/again_base.c -o "$work/base.o" &&
    "$LLVM_BIN/clang++" -w -O1 -c $source/again.cpp -o "$work/again.o" &&
    "$LLVM_BIN/clang++" "$work/main.o" "$work/base.o" "$work/again.o" -pthread -o "$work/program" &&
    "$work/program" >"$work/wanted" || exit 1
for setting in "${settings[@]}"; do
    read -r targets shards assembly <<<"$setting"
    for level in 0 2; do
        compile -w -std=c++17 $assembly $source/again.cpp -o "$work/again.bc" || exit 1
        succeeds "$setting -O$level: it is built" user --targets "$targets" --shards $shards -O$level \
            --depends "$work/again.same" --use "$work/again.same.bc" "$work/again.bc"
        "$work/again_host" "$work/again.same" "$work/user" >"$work/got" 2>"$work/compiled"
        none "$setting -O$level: nothing is compiled for the same base" "$(cat "$work/compiled")"
        none "$setting -O$level: places for the same base" "$(grep -v '=' "$work/got")"
        "$work/again_host" "$work/again.G=x+100" "$work/user" >"$work/got" 2>"$work/compiled"
        none "$setting -O$level: what functions answer" "$(diff "$work/wanted" "$work/got")"
        answers "$setting -O$level: what was compiled" 'fresh:0 stale:29' awk -v FS='[ (_]' \
            '{ count[$3]++ } END { printf "fresh:%d stale:%d", count["fresh"], count["stale"] }' "$work/compiled"
        none "$setting -O$level: none is compiled twice" "$(sort "$work/compiled" | uniq -d)"
    done
done

# Random sets of packages (slow/copies.sh has more).
again=1
. tests/image/support/copies.bash
random_set 1 --targets 'x86-64;x86-64-v3' --shards 2
some "some functions were stale" "$(grep '^stale' "$work"/*.stale)"
