# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What image_*.sh share: a real program as an image for several CPUs, in every way that images are shipped, compared
# with what the ordinary program says; on this CPU, and on emulated ones.

. "$(dirname "${BASH_SOURCE[0]}")/programs.bash"

targets='x86-64;x86-64-v3;x86-64-v4'
image_source=tests/image/source
musl=(--target=x86_64-linux-musl -nostdlibinc -isystem /usr/include/x86_64-linux-musl)
unset TENON_CPU TENON_CPU_TARGET TENON_IMAGE_THREADS
link() { "${CC:-gcc}" -Wall -Wextra -Werror -Iinclude "$@"; }
link tests/programs/run_image.c "$BUILD/libtenon.a" -Wl,--no-as-needed -lm -o "$out/run_image" || exit 1

# Compiles the ${sources[@]} with the ${flags[@]} to $out/FOLDER/*.bc: compile FOLDER [FLAG...]
compile() {
    local folder=$out/$1
    shift
    mkdir -p "$folder"
    printf '%s\0' "${sources[@]}" | xargs -0 -P "${JOBS:-1}" -I{} sh -c 'source=$1 folder=$2; shift 2
        exec "$@" -c "$source" -o "$folder/$(basename "$source" .c).bc"' sh {} "$folder" \
        "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm "${flags[@]}" "$@"
}

# The command for one folder of bitcode: build FOLDER OPTION... [SHARD]. What level it optimises is $level.
build() {
    local folder=$out/$1
    shift
    "$BUILD/tenon" build $level --targets "$targets" --shards 1 "$@" "$folder"/*.bc
}

# Each way: from $out/libc/*.bc to $command, which runs the program. It is compiled once, as a shard; but for
# executables, of which only what main leads to is part, and whose C library is another.
build_archive() {
    command=("$out/archive")
    build libc -o "$out/image.a" "$out/shard" &&
        link -static $image_source/open.c "$out/image.a" "$BUILD/libtenon.a" -lm -o "$out/archive" 2>/dev/null
}
build_shared() {
    command=("$out/shared")
    build libc --kind=shared -o "$out/libimage.so" "$out/shard" &&
        link -fPIC $image_source/open.c "$out/libimage.so" -Wl,-rpath,"$PWD/$out" "$BUILD/libtenon.a" -lm \
            -o "$out/shared"
}
build_image() {
    command=("$out/run_image" "$out/image")
    build libc --kind=image -o "$out/image" "$out/shard"
}
build_exe() {
    command=("$out/exe")
    compile musl "${musl[@]}" && build musl --kind=exe -o "$out/exe"
}

# One check: what does the program say, compared with the record of the ordinary one? $1 name, $2 record, the rest: what
# runs it.
compare() {
    local name=$1 ordinary=$2
    shift 2
    record "$out/said" "$@" <"${input:-/dev/null}"
    sed -i '/^qemu-.*: warning: /d' "$out/said.err"
    same "$name" "$ordinary" "$out/said"
}

# check_image NAME RECORD WAY [ARG...]
check_image() {
    local name=$1 ordinary=$2 way=$3
    shift 3
    if build_$way; then echo "ok $name.$way is built"; else echo "not ok $name.$way is built"; fi
    compare "$name.$way" "$ordinary" "${command[@]}" "$@"
}

# on_cpus NAME RECORD [ARG...]: the $command of the last check on CPUs that have more and more.
on_cpus() {
    local name=$1 ordinary=$2 cpu
    shift 2
    for cpu in qemu64 Nehalem Haswell; do
        if command -v qemu-x86_64 >/dev/null; then
            compare "$name on an emulated $cpu" "$ordinary" qemu-x86_64 -cpu $cpu "${command[@]}" "$@"
        else
            echo "ok $name on an emulated $cpu # SKIP no qemu-user"
        fi
    done
}
