# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The examples of the heap, built and run as a reader would, and again with everything moving at each safepoint.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
out=$PWD/$BUILD/tests/gc/examples
mkdir -p "$out"
export PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig TENON=$PWD/$BUILD/tenon CLANG=$LLVM_BIN/clang CC

# prints NAME WANTED COMMAND...
prints() {
    local name=$1 wanted=$2
    shift 2
    "$@" >"$out/got" 2>"$out/err"
    if cmp -s "$wanted" "$out/got"; then
        echo "ok gc/examples $name"
    else
        echo "not ok gc/examples $name: $(head -1 "$out/err") $(diff "$wanted" "$out/got" | head -1)"
    fi
}

make_in() {
    local example=$1
    shift
    make -es -C "examples/$example" OUT="$out/$example" "$@"
}

# The static program contains the default collector only.
make_static() {
    (unset TENON_GC && make_in collected static)
}

cat >"$out/heap.want" <<'END'
both there: 'More on joints', like another; 1 collections
document 1 is gone
one left: 'More on joints', like nothing else; 2 collections
END
prints heap "$out/heap.want" make_in heap run

"$CC" -O1 -DTN_UNMANAGED -Iinclude examples/collected/words.c -o "$out/words" &&
    "$out/words" <examples/collected/words.c >"$out/words.want"
prints collected "$out/words.want" make_in collected run
prints "collected, static" "$out/words.want" make_static
export TENON_GC_STRESS=1 TENON_GC_VERIFY=1
prints "collected, stress" "$out/words.want" make_in collected run
prints "collected, static, stress" "$out/words.want" make_static
