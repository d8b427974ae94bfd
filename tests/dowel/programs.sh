# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of dowel. What one prints is in its lines that begin with `#= `. Each runs again with everything moving at
# each safepoint.

. tests/dowel/dowel

for library in libtenon.a libtenon_codegen.a; do
    some "it is built again when $library has changed" "$(make_dowel -n -W "$(realpath "$BUILD")/$library")"
done

for program in tests/dowel/programs/*.dowel examples/dowel/programs/*.dowel; do
    expected=$(sed -n 's/^#= //p' "$program")
    some "$program prints something" "$expected"
    answers "$program" "$expected" "$dowel" "$program"
    answers "$program, stress" "$expected" env TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$dowel" "$program"
done

mkdir -m 700 "$work/cache"
for time in first second; do
    answers "with a cache, the $time time" "832040" "$dowel" --cache "$work/cache" examples/dowel/programs/fib.dowel
done
some "the cache keeps code" "$(find "$work/cache" -type f)"
