# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/gc/values: references in structs and vectors, and owners of loaded pointers, at each optimisation level, with
# and without everything moving at each safepoint.

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/values$there
mkdir -p "$out"
$clang -c tests/gc/values/values.c -o "$out/c.bc" &&
    "$LLVM_BIN/llvm-link" --suppress-warnings "$out/c.bc" tests/gc/values/values.ll -o "$out/values.bc" ||
    echo "not ok gc/values: it does not compile"
count=$(grep -c '^    X(' tests/gc/values/values.c)

# check NAME COMMAND...: every line says ok, and there is one for each function
check() {
    local name=$1
    shift
    timeout "$limit" "$@" >"$out/got" 2>"$out/err"
    if [ "$(grep -c ' ok$' "$out/got")" = "$count" ]; then
        echo "ok gc/values $name"
    else
        echo "not ok gc/values $name: $(grep -v ' ok$' "$out/got" | tr '\n' ',') $(head -1 "$out/err")"
    fi
}

for level in 0 1 2 3; do
    check "-O$level" $run -O$level "$out/values.bc"
    check "-O$level, stress" env TENON_GC_STRESS=1 TENON_GC_VERIFY=1 $run -O$level "$out/values.bc"
done

[ -z "$MACHINE" ] || exit 0 # the command says what is found

# A reference that a type in another file does not list: found when it is stored, and no numbers are taken for
# references.
$clang -c tests/gc/values/undeclared.c -o "$out/undeclared.bc" &&
    $clang -c tests/gc/values/descriptor.c -o "$out/descriptor.bc" ||
    echo "not ok gc/values undeclared: it does not compile"
for level in 0 1 2 3; do
    for stress in 0 1; do
        name="gc/values undeclared -O$level, stress $stress"
        run() {
            TENON_GC_STRESS=$stress TENON_GC_VERIFY=1 timeout "$limit" $run -O$level "$out/undeclared.bc" \
                "$out/descriptor.bc" "$@"
        }
        got=$(run 2>&1)
        said=$(run -- wrong 2>&1)
        if [ "$got" != 1 ]; then
            echo "not ok $name: without it: $got"
        elif [[ $said != \
            *"a reference is stored at offset 8 of an object of type 'struct pair', which lists none there"* ]]; then
            echo "not ok $name: $said"
        else
            echo "ok $name"
        fi
    done
done
