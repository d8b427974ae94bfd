# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Scripts of this folder that run managed code on another machine too: with MACHINE=aarch64 or riscv64 they compile for
# that one, link static programs with its runtime (make cross), and run these under qemu-user.
#
# $run FILE... [-- ARGUMENT...] is `tenon run` here, with $by_llvm without the baseline compiler; $compile is `tenon
# compile`, $clang compiles C to IR, $target are the options of clang for the machine, $emulate goes before a program,
# $library is libtenon.a, $copying the copying collector, $limit seconds are given to a program.

: "${BUILD:=build}" "${MACHINE:=}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
target=
compile="$BUILD/tenon compile"
if [ -n "$MACHINE" ]; then
    CC=$MACHINE-linux-gnu-gcc CXX=$MACHINE-linux-gnu-g++
    library=$BUILD/$MACHINE-linux-gnu/libtenon.a copying=$BUILD/$MACHINE-linux-gnu/tests/gc/copying.o
    target="--target=$MACHINE-linux-gnu -isystem /usr/$MACHINE-linux-gnu/include"
    compile="$compile --triple=$MACHINE-linux-gnu"
    emulate="qemu-$MACHINE-static -L /usr/$MACHINE-linux-gnu"
    run=tests/gc/support/run_there
    by_llvm=
    static=-static limit=300 there=/$MACHINE
else
    : "${CC:=gcc}" "${CXX:=g++}"
    library=$BUILD/libtenon.a copying=$BUILD/tests/gc/copying.o
    emulate=
    run="$BUILD/tenon run"
    by_llvm=--no-baseline
    static= limit=300 there=
fi
clang="$LLVM_BIN/clang $target -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm"
export BUILD MACHINE LLVM_BIN
