# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Our passes in LLVM's own tools (make opt-plugin): one is run, found by bisection, has remarks, and is reduced.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${BUILD:=build}"
plugin=$PWD/$BUILD/tenon-passes.so

opt() { "$LLVM_BIN/opt" -load-pass-plugin="$plugin" "$@"; }

cat >"$work/objects.ll" <<'END'
target triple = "x86_64-unknown-linux-gnu"
@type = external constant i8
@table = global [4 x i64] [i64 1, i64 2, i64 3, i64 4]
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare void @see(ptr addrspace(10))
define i64 @sum(i64 %a, i64 %b) {
  %t = addrspacecast ptr @type to ptr addrspace(10)
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) %t)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %second = getelementptr i8, ptr addrspace(11) %d, i64 8
  store i64 %a, ptr addrspace(11) %d
  store i64 %b, ptr addrspace(11) %second
  %x = load i64, ptr addrspace(11) %d
  %y = load i64, ptr addrspace(11) %second
  %r = add i64 %x, %y
  ret i64 %r
}
define void @other(i64 %a) {
  %t = addrspacecast ptr @type to ptr addrspace(10)
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) %t)
  call void @see(ptr addrspace(10) %o)
  ret void
}
define i64 @plain(i64 %i) {
  %p = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
  %v = load i64, ptr %p
  %w = mul i64 %v, 3
  ret i64 %w
}
END

# One pass, with LLVM's behind it, gives what `tenon opt` gives.
opt -passes=alloc-opt,sroa -S "$work/objects.ll" -o "$work/opt.ll" 2>"$work/log"
"$BUILD/tenon" opt --passes=alloc-opt,sroa "$work/objects.ll" -o "$work/tenon.ll"
body() { sed -n "/define.* @$1(/,/^}/p" "$2"; }
some "alloc-opt in opt" "$(body sum "$work/opt.ll" | grep 'add i64 %a, %b')"
none "and what tenon opt makes of it" "$(diff <(body sum "$work/opt.ll") <(body sum "$work/tenon.ll") 2>&1)"
none "without messages" "$(cat "$work/log")"

# Every pass of ours has its name there.
unknown=$(for pass in $("$BUILD/tenon" opt | sed -n '/^cpufeatures$/,/^remove-ni$/p') alloc-opt devirtualize \
    propagate-addrspaces simdloop muladd demote-float16 managed-licm; do
    opt -passes="$pass" -disable-output "$work/objects.ll" 2>&1 | grep -F "unknown" | grep -F "'$pass'"
done)
none "names of all passes" "$unknown"

# All of them, to machine code, by llc.
opt -passes="$("$BUILD/tenon" opt | sed -n '/^gc-verify$/p; /^type-stack$/p; /^scalarize$/p; /^lower-calls$/p
    /^insert-polls$/p; /^copy-arguments$/p; /^insert-barriers$/p; /^lower-allocations$/p; /^manage-functions$/p
    /^transitions$/p; /^place-roots$/p' | paste -sd,)" -S "$work/objects.ll" -o "$work/lowered.ll"
some "passes that lower managed code" "$(grep 'gc.statepoint' "$work/lowered.ll")"

# All stages, with options, give what `tenon opt` gives.
for pipeline in tenon 'tenon<level=2>' 'tenon<level=3;no_enable_vector_pipeline;no_remove_ni>'; do
    opt -passes="$pipeline" -S "$work/objects.ll" -o "$work/opt.ll" 2>"$work/log"
    "$BUILD/tenon" opt --passes="$pipeline" "$work/objects.ll" -o "$work/tenon.ll"
    some "$pipeline in opt" "$(grep 'gc.statepoint' "$work/opt.ll")"
    none "$pipeline: what tenon opt makes of it" "$(diff <(body sum "$work/opt.ll"; body other "$work/opt.ll") \
        <(body sum "$work/tenon.ll"; body other "$work/tenon.ll") 2>&1)"
    none "$pipeline: without messages" "$(cat "$work/log")"
done
some "a wrong option" "$(opt '-passes=tenon<unknown>' -disable-output "$work/objects.ll" 2>&1 | grep "'unknown'")"

# Without a triple nothing is known of the target.
sed 1d "$work/objects.ll" >"$work/nowhere.ll"
for pipeline in tenon alloc-opt; do
    some "$pipeline: without a triple" "$(opt -passes=$pipeline -disable-output "$work/nowhere.ll" 2>&1 |
        grep 'the module has no target triple')"
done

# What llc can do with the result.
opt -passes=tenon "$work/objects.ll" -o "$work/managed.bc"
some "llc refuses managed code" "$("$LLVM_BIN/llc" -filetype=obj "$work/managed.bc" -o "$work/managed.o" 2>&1 |
    grep 'unsupported GC: tenon')"
succeeds "tenon compile does not" "$BUILD/tenon" compile --passes= "$work/managed.bc" -o "$work/managed.o"
sed -n '/^target/p; /^@table/p; /@plain/,/^}/p' "$work/objects.ll" >"$work/unmanaged.ll"
opt -passes=tenon "$work/unmanaged.ll" -o "$work/unmanaged.bc"
succeeds "llc takes other code" "$LLVM_BIN/llc" -filetype=obj "$work/unmanaged.bc" -o "$work/unmanaged.o"

# An error of a pass is one of opt, with the rule's name.
sed 's/ret i64 %w/%o = inttoptr i64 %w to ptr addrspace(10)\n  call void @see(ptr addrspace(10) %o)\n&/' \
    "$work/objects.ll" >"$work/bad.ll"
if said=$(opt -passes=gc-verify-strong -disable-output "$work/bad.ll" 2>&1); then
    echo "not ok an error of a pass: opt has accepted it"
else
    some "an error of a pass" "$(grep 'inttoptr' <<<"$said")"
fi

# Bisection: with a limit, the second pass is left out.
said=$(opt -passes=alloc-opt,sroa -opt-bisect-limit=3 -S "$work/objects.ll" 2>&1)
some "bisection runs the pass" "$(grep -E 'BISECT: running pass \(1\) .*AllocOptPass on sum' <<<"$said")"
some "bisection leaves out what follows" "$(grep -E 'BISECT: NOT running pass \(4\)' <<<"$said")"

# Remarks, in LLVM's own file, are those that tenon opt writes.
opt -passes=alloc-opt -pass-remarks-output="$work/opt.yaml" -disable-output "$work/objects.ll"
"$BUILD/tenon" opt --passes=alloc-opt --remarks="$work/tenon.yaml" "$work/objects.ll" -o /dev/null
plainly() {
    "$LLVM_BIN/llvm-remarkutil" yaml2bitstream "$1" -o "$1.bits" &&
        "$LLVM_BIN/llvm-remarkutil" bitstream2yaml "$1.bits" -o -
}
some "remarks in opt" "$(grep 'alloc-opt' "$work/opt.yaml")"
none "and those of tenon opt" "$(diff <(plainly "$work/opt.yaml") <(plainly "$work/tenon.yaml") 2>&1)"

# Reduction: what the verifier refuses is what is left.
cat >"$work/interesting" <<END
#!/bin/bash
! "$LLVM_BIN/opt" -load-pass-plugin="$plugin" -passes=gc-verify-strong -disable-output "\$1" 2>"$work/why" &&
    grep -q inttoptr "$work/why"
END
chmod +x "$work/interesting"
"$LLVM_BIN/llvm-reduce" --test="$work/interesting" "$work/bad.ll" -o "$work/reduced.ll" >"$work/log" 2>&1
some "llvm-reduce keeps the mistake" "$(grep inttoptr "$work/reduced.ll")"
none "and nothing that it does not need" "$(grep -E 'gc_alloc_obj|@sum|@other|@table' "$work/reduced.ll")"
