#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libtenon.a in every kind of program, loading objects compiled in every TLS and code model: dynamic, static, static
# PIE, stripped, with and without collected sections, and, where musl-gcc is there, static with musl. For another
# machine (qemu/hosts.sh), $EMULATOR runs the programs, and MUSL_CC is the compiler for musl.

: "${BUILD:=build}" "${CC:=gcc}" "${MUSL_CC:=musl-gcc}" "${EMULATOR:=}"
cd "$(dirname "$0")/../.." || exit 1
here=tests/hosts
out=$BUILD/tests/hosts
machine=$($CC -dumpmachine)
mkdir -p "$out"

expected() {
    printf '%s\n' 'first initializer 40' 'second initializer 3'
    for number in 0 1 2 3 4 5 6 7; do
        echo "sum $((8 * 1000000 + 13 * 10000 + 3 * 1000 + 100 + 3 * 10 * (number % 4 + 1) + 3))"
    done
    printf '%s\n' 'chosen 42' 'chosen later 42' 'through a pointer 84' 'finalizer 0'
}
expected >"$out/expected"

# Compiles both objects: NAME COMPILER FLAG...
objects=
add_objects() {
    local name=$1
    shift
    "$@" -c $here/plugin.c -o "$out/plugin.$name.o" && "$@" -c $here/plugin_shared.c -o "$out/shared.$name.o" || exit 1
    objects="$objects $name"
}

add_objects O0 $CC -O0 -fPIC
add_objects general-dynamic $CC -O2 -fPIC
add_objects no-plt $CC -O2 -fPIC -fno-plt
add_objects initial-exec $CC -O2 -fPIC -ftls-model=initial-exec
add_objects local-exec $CC -O2 -fPIE
add_objects no-pic $CC -O2 -fno-pic
[ -z "$LLVM_BIN" ] || add_objects clang "$LLVM_BIN/clang" --target=$machine -O2 -fPIC
case $machine in
x86_64*)
    add_objects descriptors $CC -O2 -fPIC -mtls-dialect=gnu2
    add_objects medium $CC -O2 -fPIC -mcmodel=medium
    add_objects large $CC -O2 -fPIC -mcmodel=large
    add_objects large-no-pic $CC -O2 -fno-pic -mcmodel=large
    [ -z "$LLVM_BIN" ] || add_objects clang-descriptors "$LLVM_BIN/clang" -O2 -fPIC -mtls-dialect=gnu2
    ;;
aarch64*)
    add_objects no-descriptors $CC -O2 -fPIC -mtls-dialect=trad
    add_objects large-no-pic $CC -O2 -fno-pic -mcmodel=large
    add_objects signed $CC -O2 -fPIC -mbranch-protection=standard
    ;;
riscv64*)
    add_objects medlow $CC -O2 -fno-pic -mcmodel=medlow
    add_objects medany $CC -O2 -fno-pic -mcmodel=medany
    add_objects no-relax $CC -O2 -fPIC -mno-relax
    [ -z "$LLVM_BIN" ] || add_objects clang-descriptors "$LLVM_BIN/clang" --target=$machine -O2 -fPIC -mtls-dialect=desc
    ;;
esac

# One check per host: every pair of objects says the same. NAME ARCHIVE COMPILER FLAG...
check_host() {
    local name=$1 archive=$2 object high=no
    shift 2
    case $name in
    static-pie*)
        if [[ $($CC -print-file-name=rcrt1.o) != */* ]]; then
            echo "ok hosts/$name # SKIP this machine's glibc has no rcrt1.o"
            return
        fi
        ;;
    esac
    if ! "$@" -O1 -Wall -Wextra -Werror -Iinclude $here/host.c "$archive" -pthread -Wl,--as-needed -latomic \
        -o "$out/$name" 2>"$out/$name.err"; then
        echo "not ok hosts/$name: $(grep -m1 -E 'error|undefined' "$out/$name.err")"
        return
    fi
    case $name in
    *static*)
        if readelf -lW "$out/$name" | grep -q INTERP; then
            echo "not ok hosts/$name: not static"
            return
        fi
        ;;
    esac
    case $name in
    dynamic | *pie*) high=yes ;;
    esac
    for object in $objects; do
        $EMULATOR "$out/$name" "$out/plugin.$object.o" "$out/shared.$object.o" >"$out/$name.out" 2>"$out/$name.err"
        # Code with 32-bit addresses cannot name the data of a program that was loaded high: the error says what to do.
        case $object,$high in
        no-pic,yes | medlow,yes)
            grep -q "TN_ERANGE.*\(R_X86_64_32S\|R_RISCV_HI20\) against 'table'.*compile it with -fPIC" \
                "$out/$name.err" && continue
            ;;
        esac
        if ! cmp -s "$out/expected" "$out/$name.out"; then
            echo "not ok hosts/$name: $object: $(head -1 "$out/$name.err") $(diff "$out/expected" "$out/$name.out" |
                grep -m1 '^[<>]')"
            return
        fi
    done
    echo "ok hosts/$name"
}

glibc=$BUILD/libtenon.a
check_host dynamic "$glibc" $CC
check_host low "$glibc" $CC -no-pie
check_host static "$glibc" $CC -static
check_host static-pie "$glibc" $CC -static-pie
check_host static-stripped "$glibc" $CC -static -s
check_host static-collected "$glibc" $CC -static -s -ffunction-sections -fdata-sections -Wl,--gc-sections
check_host static-pie-collected "$glibc" $CC -static-pie -s -ffunction-sections -Wl,--gc-sections
if [ -n "$LLVM_BIN" ]; then
    check_host static-lld "$glibc" $CC -static -s -ffunction-sections "-B$LLVM_BIN" -fuse-ld=lld \
        -Wl,--gc-sections,--icf=all
fi
if [ -f "$BUILD/musl/libtenon.a" ]; then
    check_host musl-static "$BUILD/musl/libtenon.a" $MUSL_CC -static -s
    check_host musl-static-collected "$BUILD/musl/libtenon.a" $MUSL_CC -static -s -Wl,--gc-sections
fi
