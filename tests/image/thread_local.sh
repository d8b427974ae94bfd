# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Thread-local data of executables that are written without a linker: as much as there is, aligned as it wants to be,
# with addresses in it, in front of what the stub has.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)
ir() {
    "$LLVM_BIN/clang" --target=x86_64-linux-musl -nostdlibinc -isystem "$headers" -Iinclude -O1 -Xclang \
        -disable-llvm-passes \
        -emit-llvm -c "$@"
}
exe() { "$BUILD/tenon" build --kind=exe "$@"; }

# is NAME EXPECTED COMMAND...: what it says, and how it ends.
is() {
    local name=$1 expected=$2 said
    shift 2
    said=$("$@" 2>&1)
    local status=$?
    if [ "$status $said" = "0 $expected" ]; then echo "ok $name"; else echo "not ok $name: status $status: $said"; fi
}

# holds SIZE ALIGNMENT OPTION...
holds() {
    local expected=right name="$*" options=("${@:3}")
    case $* in *THREADS*) expected=$'right\nright\nright' ;; esac
    ir -DSIZE="$1" -DALIGNMENT="$2" "${options[@]/#/-D}" tests/image/source/thread_local.c -o "$work/data.bc" &&
        exe -o "$work/data" "$work/data.bc" && is "$name" "$expected" "$work/data"
}

for options in '' VALUES THREADS 'THREADS VALUES'; do
    holds 1 1 $options
    holds 8 8 $options
    holds 1023 2 $options
    holds 1025 64 $options
    holds 100 4096 $options
    holds 102400 16 $options
done
holds 3 1 VALUES ADDRESSES
holds 100 256 THREADS ADDRESSES
holds 5000 4096 THREADS VALUES ADDRESSES

# No thread-local data, in either kind of stub.
echo 'int puts(const char *); int main(void) { return puts("none") < 0; }' >"$work/none.c"
ir "$work/none.c" -o "$work/none.bc" && exe -o "$work/none" "$work/none.bc" && is "none" none "$work/none"
none "zeros are not in the file" \
    "$(ir -DSIZE=1000000 -DALIGNMENT=1 tests/image/source/thread_local.c -o "$work/zeros.bc" &&
    exe -o "$work/zeros" "$work/zeros.bc" && find "$work/zeros" -size +400k)"

# What follows it is the collector's, which has an address among its initial values.
cat >"$work/before.c" <<'END'
static _Thread_local _Alignas(256) volatile char values[300] = {1}, zeros[5000];
__attribute__((constructor)) static void overwrite(void)
{
    static volatile int count = 5000;
    for (int i = 0; i < count; i++)
        values[i % 300] = zeros[i] = -1;
}
END
ir "$work/before.c" -o "$work/before.bc" && ir examples/collected/words.c -o "$work/words.bc" &&
    exe -o "$work/words" "$work/words.bc" "$work/before.bc" && exe -o "$work/plain" "$work/words.bc"
"$work/plain" <examples/collected/words.c >"$work/expected"
some "the collector has something to do" "$(grep ' word$' "$work/expected")"
for way in true strip "$LLVM_BIN/llvm-strip" eu-strip; do
    cp "$work/words" "$work/stripped" && $way "$work/stripped"
    for stress in 0 1; do
        TENON_GC_STRESS=$stress "$work/stripped" <examples/collected/words.c >"$work/counted"
        succeeds "it is left alone: ${way##*/}, stress $stress" cmp "$work/counted" "$work/expected"
    done
done
none "readelf has no complaint" "$(readelf --all --wide "$work/words" 2>&1 >/dev/null)"
none "nor has elflint" "$(eu-elflint --gnu-ld "$work/words" 2>&1 | grep -v -e "'.relr.dyn' has wrong type" \
    -e "unknown object file note type 1 with owner name 'Tenon'" -e '^No errors$')"

# Files are loaded at multiples of a page.
ir -DSIZE=1 -DALIGNMENT=8192 tests/image/source/thread_local.c -o "$work/wide.bc"
some "what pages cannot be aligned to is refused" "$(exe -o "$work/wide" "$work/wide.bc" 2>&1 |
    grep 'aligned to 8192 bytes')"
