# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What of LLVM is in the tool, by its link map: the machine-code layer and the targets, no linker and no driver.

. tests/build/check

linked=$(grep -o 'lib[A-Za-z0-9_+-]*\.a(' "$BUILD/tenon.map" | sort -u)

some "the map names LLVM's libraries" "$(echo "$linked" | grep '^libLLVMCodeGen\.a')"
for library in OrcJIT OrcShared OrcTargetProcess OrcDebugging JITLink RuntimeDyld ExecutionEngine MCJIT Interpreter \
    Passes LTO; do
    none "without LLVM$library" "$(echo "$linked" | grep "^libLLVM$library\.a")"
done
none "without lld" "$(echo "$linked" | grep '^liblld')"
none "without Clang" "$(echo "$linked" | grep '^libclang')"
for target in $TARGETS; do
    some "with the target $target" "$(echo "$linked" | grep "^libLLVM${target}CodeGen\.a")"
done
none "with no other target" "$(echo "$linked" | grep '^libLLVM[A-Za-z0-9]*CodeGen\.a' |
    grep -v -x -F -e 'libLLVMCodeGen.a(' $(printf -- '-e libLLVM%sCodeGen.a( ' $TARGETS))"
