# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images as they are used: linked in, loaded from a file that the system's linker made, on every CPU they were built
# for.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets='x86-64;x86-64-v2;x86-64-v3;x86-64-v4,clone_all;haswell,base(3)'
source=tests/image/source

"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -c $source/work.c -o "$work/work.bc" || exit 1
succeeds "it builds" "$BUILD/tenon" build --targets "$targets" -o "$work/image.a" "$work/work.bc"
link() { "$CC" -Wall -Wextra -Werror -Wl,--fatal-warnings -Iinclude "$@"; }
linked="$source/program.c -DLINKED $work/image.a $BUILD/libtenon.a"
succeeds "it is linked in" link $linked -o "$work/dynamic"
succeeds "it is linked in statically" link $linked -static -o "$work/static"
succeeds "it is linked in with sections collected" link $linked -static -Wl,--gc-sections -o "$work/collected"
succeeds "it is linked with lld" link $linked -static-pie -B"$LLVM_BIN" -fuse-ld=lld -o "$work/lld"
succeeds "it becomes a shared library" link -shared -Wl,--whole-archive "$work/image.a" -Wl,--no-whole-archive \
    -o "$work/image.so"
succeeds "so it does with lld, relocations packed" link -shared -B"$LLVM_BIN" -fuse-ld=lld -Wl,-z,pack-relative-relocs \
    -Wl,--whole-archive "$work/image.a" -Wl,--no-whole-archive -o "$work/packed.so"
succeeds "a program that loads" link $source/program.c "$BUILD/libtenon.a" -static -o "$work/loading"
none "code is not relocated" "$(readelf --wide --dynamic "$work/image.so" | grep TEXTREL)"

# says NAME EXPECTED COMMAND...
says() {
    local name=$1 expected=$2
    shift 2
    local said=$("$@" 2>"$work/warnings")
    if [ "$said" = "$expected" ]; then echo "ok $name"; else echo "not ok $name: $said"; fi
}

results='91 91 8 42 1 108 6'
has() { "$BUILD/tenon" cpu --targets "$1" >/dev/null 2>&1; }
for cpu in x86-64 x86-64-v2 x86-64-v3 x86-64-v4; do
    has $cpu || { echo "ok on $cpu # SKIP this CPU is less"; continue; }
    for program in dynamic static collected lld; do
        says "$program, on $cpu" "$cpu: $results" "$work/$program" $cpu
    done
    says "loaded, on $cpu" "$cpu: $results" "$work/loading" $cpu "$work/image.so"
    says "loaded, packed, on $cpu" "$cpu: $results" "$work/loading" $cpu "$work/packed.so"
done

# On CPUs that are not there: a version for more than they have would be an illegal instruction.
if command -v qemu-x86_64 >/dev/null; then
    while read -r cpu target; do
        says "on an emulated $cpu" "$target: $results" qemu-x86_64 -cpu "$cpu" "$work/static"
    done <<'END'
qemu64 x86-64
core2duo x86-64
Nehalem x86-64-v2
IvyBridge x86-64-v2
Denverton x86-64-v2
Opteron_G5 x86-64-v2
Haswell haswell
EPYC-Rome haswell
END
else
    echo "ok on emulated CPUs # SKIP no qemu-user"
fi

# What no target fits is said, with what is missing.
"$BUILD/tenon" build --targets x86-64-v3 -o "$work/v3.a" "$work/work.bc"
link $source/program.c -DLINKED "$work/v3.a" "$BUILD/libtenon.a" -static -o "$work/v3"
some "no target fits" "$("$work/v3" x86-64-v2 | grep 'target 0 (x86-64-v3) needs: .*avx2')"
