# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared libraries that our linker makes for other machines, of C and C++, are loaded by their own dynamic linkers: each
# model of thread-local storage, indirect functions, exceptions, constructors and destructors. They have no property
# notes, which would be those of some of their inputs.
#
# time limit: 1800

. "$(dirname "$0")/qemu.bash"
echo 'define i32 @other() { ret i32 7 }' >"$out/other.ll"
models="-ftls-model=global-dynamic -ftls-model=local-dynamic -ftls-model=initial-exec"
flags_of_aarch64="-mbranch-protection=standard"
flags_of_riscv64="-mrelax -mno-relax"
traditional_of_aarch64="-mtls-dialect=trad" # of gcc; clang has descriptors alone

# A library of the flags by a compiler, gcc or clang.
check() { # MACHINE COMPILER FLAGS
    local machine=$1 compiler=$2 flags=$3 stem=$out/$1.$2${3// /} name="shared library, $*" c cxx
    c="$(compiler "$machine" "$compiler") -w -fPIC -g $flags"
    cxx="$(compiler "$machine" "${compiler/%gcc/g}++") -w -fPIC -g $flags"
    # shellcheck disable=SC2086
    if ! $c -c tests/link/qemu/shared.c -o "$stem.o" 2>"$stem.log" ||
        ! $cxx -c tests/link/qemu/shared_cxx.cpp -o "$stem.cxx.o" 2>"$stem.log" ||
        ! "$BUILD/tenon" build --kind=shared --triple "$machine-linux-gnu" "$out/other.ll" "$out/$machine.note.o" \
            "$stem.o" "$stem.cxx.o" -o "$stem.so" 2>"$stem.log"; then
        echo "not ok $name: $(head -1 "$stem.log")"
        return
    fi
    record "$stem.linked" emulate "$machine" "$out/$machine.main" "$stem.so"
    same "$name" "$out/$machine.ordinary" "$stem.linked"
    if "$LLVM_BIN/llvm-readelf" --notes --wide "$stem.so" | grep -q GNU_PROPERTY; then
        echo "not ok $name: it has property notes"
    fi
}

# An object with a property note and nothing else: compilers for RISC-V write none yet.
make_note() { # MACHINE
    printf '.section .note.gnu.property,"a",%%note\n.p2align 3\n.long 4, 16, 5\n.asciz "GNU"\n%s\n' \
        '.long 0xc0000000, 4, 1, 0' |
        "$LLVM_BIN/llvm-mc" -filetype=obj -triple "$1-linux-gnu" -o "$out/$1.note.o"
    "$LLVM_BIN/llvm-readelf" --notes --wide "$out/$1.note.o" | grep -q GNU_PROPERTY ||
        echo "not ok shared library, $1: the object for it has no property note"
}

for machine in $MACHINES; do
    make_note "$machine"
    own=flags_of_$machine traditional=traditional_of_$machine
    $(compiler "$machine" gcc) -w tests/link/qemu/shared_main.c -o "$out/$machine.main" -ldl -pthread \
        -Wl,--no-as-needed -lstdc++
    $(compiler "$machine" g++) -w -fPIC -shared -x c tests/link/qemu/shared.c -x c++ tests/link/qemu/shared_cxx.cpp \
        -o "$out/$machine.ordinary.so"
    record "$out/$machine.ordinary" emulate "$machine" "$out/$machine.main" "$out/$machine.ordinary.so"
    for compiler in gcc clang; do
        for flags in -O0 -O2 -Os $models ${!own}; do
            check "$machine" $compiler "$flags"
        done
    done
    [ -z "${!traditional}" ] || check "$machine" gcc "${!traditional}"
done
