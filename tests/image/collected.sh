# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images of collected code for several CPUs: the same program as that of the C compiler, whichever versions run, while
# everything moves at each safepoint.
#     tests/image/collected.sh [FIRST [COUNT]]      which generated programs are among them
#
# time limit: 600

. tests/build/check

first=${1:-1} count=${2:-6}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
source=tests/image/source
targets='x86-64;x86-64-v3;x86-64-v4'
headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)
stress='TENON_GC_STRESS=1 TENON_GC_VERIFY=1'
unset TENON_IMAGE_THREADS TENON_CPU TENON_CPU_TARGET

managed() { "$LLVM_BIN/clang" -w -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c "$@"; }
for_musl() { managed --target=x86_64-linux-musl -nostdlibinc -isystem "$headers" "$@"; }
build() { "$tenon" build --targets "$targets" "$@"; }
plain() { "$CC" -w -O1 -DTN_UNMANAGED -Iinclude "$@" -lpthread; }
link() { "$CC" -static -Iinclude $source/collected_open.c "$@" "$BUILD/libtenon.a" -lpthread; }

has() { "$tenon" cpu --targets "$1" >/dev/null 2>&1; }
cpus=(x86-64)
for cpu in x86-64-v3 x86-64-v4; do
    if has $cpu; then cpus+=("$cpu"); else echo "ok on $cpu # SKIP this CPU is less"; fi
done

# same NAME COMMAND...: standard output is what is wanted.
same() {
    local name=$1
    shift
    timeout 100 "$@" >"$work/got" 2>"$work/err"
    local status=$?
    if [ "$status" = 0 ] && cmp -s "$work/wanted" "$work/got"; then
        echo "ok $name"
    else
        echo "not ok $name: status $status $(head -n 1 "$work/err") $(diff "$work/wanted" "$work/got" | head -n 2 |
            tr '\n' ' ')"
    fi
}

# runs NAME VERSION COMMAND...: the same, and these versions are those that run.
runs() {
    local name=$1 version=$2
    shift 2
    same "$name" "$@"
    some "$name: version $version" "$(grep -x "version $version, fma $((version > 0))" "$work/err")"
    same "$name, stress" env $stress "$@"
}

# ---- every way from function to function ----

plain $source/collected.c $source/collected_host.c -DPLAIN -o "$work/plain" && "$work/plain" >"$work/wanted" &&
    managed $source/collected.c -o "$work/collected.bc" || exit 1
for form in -O0 -O2 '-O2 --shards 3' '-O3 --shards 2'; do
    build $form -o "$work/image.a" "$work/collected.bc"
    succeeds "$form: it is linked in" link $source/collected_host.c "$work/image.a" -o "$work/linked"
    for version in "${!cpus[@]}"; do
        TENON_CPU=${cpus[version]} runs "$form on ${cpus[version]}" "$version" "$work/linked"
    done
done

some "the image says which ABI its managed code has" "$("$tenon" inspect "$work/image.a" |
    grep "^image: .* managed code for version $(sed -n 's/^#define TN_GC_ABI //p' include/tenon_gc.h) of the")"

# The versions, as they are before anything is optimised.
build --emit=unopt-bc -o "$work/versions.a" "$work/collected.bc"
(cd "$work" && ar x versions.a 'text#0.bc')
succeeds "versions keep the contract" "$tenon" verify "$work/text#0.bc"
some "there are three of them" "$("$LLVM_BIN/llvm-dis" "$work/text#0.bc" -o - | grep 'define .*@list.tn_image.2(')"

# ---- without a linker, and on CPUs that are not there ----

for_musl $source/collected.c -o "$work/musl.bc"
"$CC" -O2 -fPIE -c $source/collected_host.c -o "$work/host.o"
succeeds "it becomes an executable" build --kind=exe -o "$work/exe" "$work/musl.bc" "$work/host.o"
runs "executable" $((${#cpus[@]} - 1)) "$work/exe"
if command -v qemu-x86_64 >/dev/null; then
    while read -r model version; do
        runs "executable on an emulated $model" "$version" qemu-x86_64 -cpu "$model" "$work/exe"
    done <<'END'
qemu64 0
IvyBridge 0
Haswell 1
EPYC-Rome 1
END
else
    echo "ok on emulated CPUs # SKIP no qemu-user"
fi

# ---- files that are loaded ----

managed -fPIC $source/collected.c -o "$work/pic.bc"
"$CC" -Iinclude -rdynamic $source/collected_files.c "$BUILD/libtenon.a" -o "$work/loading" || exit 1
cp "$work/wanted" "$work/once"
cat "$work/once" "$work/once" >"$work/wanted"
for kind in shared image; do
    succeeds "$kind: it is written" build --kind=$kind -O2 --shards 2 -o "$work/$kind" "$work/pic.bc"
    for version in "${!cpus[@]}"; do
        TENON_CPU=${cpus[version]} runs "$kind on ${cpus[version]}" "$version" "$work/loading" "$work/$kind"
    done
    strip "$work/$kind"
    same "$kind: stripped, stress" env $stress "$work/loading" "$work/$kind"
    some "$kind: nobody collects" "$("$work/loading" "$work/$kind" none 2>&1 |
        grep '^TN_ENOTSUP: .*: it has managed code')"
done

# spoiled NAME SECTION OFFSET BYTES TEXT: the file with other bytes in that section is refused, for this reason.
spoiled() {
    local at=$(objdump -h "$work/image" | awk -v name="$2" '$2 == name { print $6 }')
    cp "$work/image" "$work/spoiled"
    printf "$4" | dd of="$work/spoiled" bs=1 seek=$((0x$at + $3)) conv=notrunc 2>/dev/null
    "$work/loading" "$work/spoiled" 2>"$work/err"
    some "$1" "$(grep "^TN_EFORMAT: .*spoiled: $5" "$work/err")"
}
spoiled "stack maps without safepoints" tenon_maps 4 '\0\0\0\0' 'stack maps: .* has no safepoints'
spoiled "of a function somewhere else" tenon_maps 3 '\x7f' 'stack maps: .* outside of the code'
spoiled "a root that is nowhere" tenon_roots 3 '\x7f' 'root ranges: .* no data of its object'
maps_tag=$(objdump -s -j .dynamic "$work/image" | grep -n -m 1 '016e7465' | cut -d : -f 1)
spoiled "stack maps outside of the file" .dynamic $((16 * (maps_tag - 5) + 11)) '\x7f' \
    'dynamic section: a table .* outside of its segments'

build --kind=shared -o "$work/other" "$work/collected.bc" 2>"$work/err"
some "code for programs makes no file" "$(grep 'compiled with -fPIC' "$work/err")"

# ---- other programs ----

# everywhere NAME ARGUMENT...: the program of the image and $native prints what the plain one does.
native=
everywhere() {
    local name=$1 cpu
    shift
    timeout 100 "$work/plain" "$@" >"$work/wanted" 2>"$work/err"
    link $native "$work/image.a" -o "$work/linked" || echo "not ok $name: it does not link"
    for cpu in "${cpus[@]}"; do
        TENON_CPU=$cpu same "$name on $cpu, stress" env $stress "$work/linked" "$@"
    done
}

for program in 'bench/gc/bt.c 5' 'bench/gc/lru.c 20 1000' tests/gc/programs/{corners,signatures,threads}.c; do
    set -- $program
    plain "$1" -o "$work/plain" && managed "$1" -o "$work/program.bc" || exit 1
    build -O2 --shards 2 -o "$work/image.a" "$work/program.bc"
    everywhere "${1##*/}" "${@:2}"
    for_musl "$1" -o "$work/musl_program.bc"
    build --kind=exe -O2 -o "$work/program" "$work/musl_program.bc" || echo "not ok ${1##*/}: it becomes no executable"
    same "${1##*/}, executable, stress" env $stress "$work/program" "${@:2}"
done

# Generated ones, as in tests/gc/generate.sh: each consists of two modules, of C and IR both.
native=$work/native.o
"$CC" -O1 tests/gc/generate/*.c -o "$work/generate" && "$CC" -O1 -c tests/gc/generate/native/native.c -o "$native" ||
    exit 1
options='-w -fexceptions -fdefer-ts -Iinclude -Itests/gc/generate'
for seed in $(seq "$first" $((first + count - 1))); do
    inputs=()
    for module in c other; do
        ir=$([ $module = c ] && echo ir || echo other-ir)
        "$work/generate" $module $seed 1 >"$work/$module.c" && "$work/generate" $ir $seed 1 >"$work/$module.ll" &&
            "$LLVM_BIN/clang" $options -DTN_UNMANAGED -c "$work/$module.c" -o "$work/$module.o" &&
            managed $options "$work/$module.c" -o "$work/$module.bc" || exit 1
        inputs+=("$work/$module.bc" "$work/$module.ll")
    done
    "$LLVM_BIN/clang" "$work/c.o" "$work/other.o" "$native" -lpthread -o "$work/plain" || exit 1
    build -O$((seed % 4)) --shards $((1 + seed % 3)) -o "$work/image.a" "${inputs[@]}"
    everywhere "generated $seed"
done

# ---- who compiles makes no difference ----

cd "$work" || exit 1
mkdir one two ninja
while read -r kind inputs; do
    build --kind=$kind --shards 3 --threads 1 -o one/$kind $inputs
    build --kind=$kind --shards 3 --threads 2 -o two/$kind $inputs
    succeeds "$kind by two threads" cmp one/$kind two/$kind
    build --kind=$kind --shards 3 --ninja $kind.ninja -o ninja/$kind $inputs
    succeeds "$kind for ninja" ninja -f $kind.ninja
    succeeds "$kind by ninja" cmp one/$kind ninja/$kind
done <<'END'
archive musl.bc
exe musl.bc host.o
shared pic.bc
image pic.bc
END
