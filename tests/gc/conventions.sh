# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Calling conventions, of managed functions and of native ones in another module: more arguments than registers, which
# arrive, and values that are live across the call, which survive. (tests/ir/conventions.test has those that are errors
# on every machine.)
#
# time limit: 900

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/conventions$there
mkdir -p "$out"
stresses="0 1"
case ${MACHINE:-x86_64} in
x86_64)
    both="ccc fastcc coldcc preserve_mostcc preserve_allcc cxx_fast_tlscc swiftcc graalcc x86_64_sysvcc win64cc
        x86_vectorcallcc"
    managed="tailcc swifttailcc preserve_nonecc x86_regcallcc" refused="aarch64_vector_pcs"
    ;;
aarch64)
    both="ccc fastcc preserve_mostcc preserve_allcc cxx_fast_tlscc swiftcc graalcc aarch64_vector_pcs
        aarch64_sve_vector_pcs"
    managed="tailcc swifttailcc preserve_nonecc" refused="coldcc x86_64_sysvcc win64cc" stresses=1
    ;;
riscv64)
    both="ccc graalcc" managed="fastcc" stresses=1
    refused="coldcc preserve_mostcc preserve_allcc cxx_fast_tlscc swiftcc tailcc swifttailcc preserve_nonecc"
    ;;
esac

# try KIND CONVENTION
try() {
    local level stress got wrong=
    bash tests/gc/conventions/make.sh "$1" "$2" "$out" || wrong="no program"
    for level in 0 2; do
        for stress in $stresses; do
            got=$(TENON_GC_STRESS=$stress timeout "$limit" $run -O$level "$out/a.ll" "$out/b.ll" -- 2>&1)
            [ "$got" = 1030 ] || wrong+=" -O$level, stress $stress: $(head -1 <<<"$got")"
        done
    done
    if [ -z "$wrong" ]; then echo "ok gc/conventions $1 $2"; else echo "not ok gc/conventions $1 $2:$wrong"; fi
}

# refuse KIND CONVENTION
refuse() {
    local said
    bash tests/gc/conventions/make.sh "$1" "$2" "$out"
    said=$($compile -O0 "$out/a.ll" -o "$out/a.o" 2>&1)
    if [[ $said = *"[convention]"* ]]; then
        echo "ok gc/conventions refused $1 $2"
    else
        echo "not ok gc/conventions refused $1 $2: $said"
    fi
}

for convention in $both; do
    try native "$convention"
done
for convention in $both $managed; do
    try managed "$convention"
done
for convention in $managed $refused; do
    refuse native "$convention"
done
for convention in $refused; do
    refuse managed "$convention"
done
