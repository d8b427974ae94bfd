# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs under a collector that moves everything at every safepoint, at each level and with polls, do what they
# do with calloc. SEEDS="FIRST LAST" chooses others than those of `make test`.

. tests/build/check

: "${BUILD:=build}" "${CC:=gcc}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${SEEDS:=1 12}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CC" -O1 -fPIC -c tests/managed/native.c -o "$work/native.o"

# one SEED: nothing, or what went wrong; or "SKIP" and why, for a program that takes too long, or too much stack, by
# itself.
one() {
    local expected said status
    tests/managed/generate "$1" >"$work/p.c" || echo "generate: status $?"
    "$CC" -w -O1 -fwrapv -Iinclude -DTN_UNMANAGED "$work/p.c" "$work/native.o" -o "$work/plain" 2>&1 ||
        { echo 'it does not compile'; return; }
    expected=$(timeout 10 "$work/plain")
    status=$?
    case $status in
    0) ;;
    124 | 139) echo "SKIP the plain program ends with status $status"; return ;;
    *) echo "the plain program fails with status $status"; return ;;
    esac
    "$LLVM_BIN/clang" -w -fwrapv -Iinclude -O1 -Xclang -disable-llvm-passes -emit-llvm -c "$work/p.c" -o "$work/p.bc" \
        2>&1 || { echo 'it does not compile'; return; }
    for options in "-O0" "-O1 --polls=all" "-O2" "-O3 --polls=loops"; do
        # shellcheck disable=SC2086
        said=$(TENON_GC_STRESS=1 timeout 60 "$BUILD/tenon" run $options "$work/p.bc" "$work/native.o" 2>&1)
        [ "$said" = "$expected" ] || echo "$options: '$said', not '$expected'"
    done
}

# shellcheck disable=SC2046,SC2086
for seed in $(seq $SEEDS); do
    said=$(one "$seed")
    case $said in
    SKIP*) echo "ok program $seed # $said" ;;
    *) none "program $seed" "$said" ;;
    esac
done
