# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An image is the same, byte by byte, whoever compiles its shards: threads, processes, ninja; and on whatever machine.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
unset TENON_IMAGE_THREADS TENON_CPU TENON_CPU_TARGET TENON_LLVM_ARGS

for part in work program; do
    "$LLVM_BIN/clang" -g -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/image/source/$part.c \
        -o "$work/$part.bc" || exit 1
done
cd "$work" || exit 1
options=(--targets 'x86-64;x86-64-v3,clone_all;haswell' -O1 --shards 4)
inputs=(work.bc program.bc)
build() { "$tenon" build "${options[@]}" "$@"; }
same() { succeeds "$1" cmp one.a "$2"; }

build --threads 1 -o one.a "${inputs[@]}" || exit 1
some "there are four shards" "$(ar t one.a | grep -x 'text#3.o')"
for threads in 2 3 16; do
    build --threads $threads -o threads.a "${inputs[@]}"
    same "$threads threads" threads.a
done
taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" "$tenon" build "${options[@]}" -o one-core.a "${inputs[@]}"
same "on one core" one-core.a

# Names of files do not matter, nor the order in which shards are given.
mkdir elsewhere
cp work.bc elsewhere/first
cp program.bc elsewhere/second
for shard in 0 1 2 3; do
    build --shard $shard -o elsewhere/$shard elsewhere/first elsewhere/second &
done
wait
build -o processes.a elsewhere/3 work.bc elsewhere/1 elsewhere/0 program.bc elsewhere/2
same "a process for each" processes.a
build -o some.a "${inputs[@]}" elsewhere/2
same "one of them by another process" some.a

echo 'define i32 @main() { ret i32 0 }' | tee main.ll >elsewhere/main.ll
"$tenon" build -o here.a main.ll
"$tenon" build -o there.a elsewhere/main.ll
succeeds "text that does not say from which file it is" cmp here.a there.a

build --ninja with.ninja -o ninja.a "${inputs[@]}"
succeeds "ninja builds it" ninja -f with.ninja
same "by ninja" ninja.a
some "there is nothing left to do then" "$(ninja -f with.ninja | grep 'no work to do')"
touch work.bc
some "but a changed input" "$(ninja -n -f with.ninja | grep SHARD)"
mkdir 'a $b'\''s'
cp "${inputs[@]}" 'a $b'\''s'
build --emit obj --emit asm --root work_sum --ninja quoted.ninja -o 'a $b'\''s/x: y.a' 'a $b'\''s/'{work,program}.bc \
    2>root
some "a root that is missing is found at once" "$(grep "root 'work_sum' is not defined" root)"
build --emit obj --emit asm --ninja quoted.ninja -o 'a $b'\''s/x: y.a' 'a $b'\''s/'{work,program}.bc
succeeds "names with odd letters" ninja -f quoted.ninja
same "by such names" 'a $b'\''s/x: y.a'
some "with a second output" "$(ar t 'a $b'\''s/x: y.a.asm' | grep -x 'text#3.s')"
succeeds "which is known to ninja" ninja -f quoted.ninja 'a $b'\''s/x: y.a.asm'

build --ninja watched.ninja --stats --json --timings --time-trace when.json --time-granularity 5 -o ninja.a \
    "${inputs[@]}"
rm -f ninja.a*
succeeds "options that show something are not in its commands" ninja -f watched.ninja
same "whatever was asked to be shown" ninja.a

# What is linked of the shards is the same, too; a shared library knows its own name.
mkdir one processes ninja
for kind in shared image; do
    build --kind=$kind --threads 1 -o one/$kind "${inputs[@]}"
    build --kind=$kind -o processes/$kind "${inputs[@]}" elsewhere/{0,1,2,3}
    succeeds "--kind=$kind from shards" cmp one/$kind processes/$kind
    build --kind=$kind --ninja $kind.ninja -o ninja/$kind "${inputs[@]}"
    succeeds "--kind=$kind for ninja" ninja -f $kind.ninja
    succeeds "--kind=$kind by ninja" cmp one/$kind ninja/$kind
done

# refused NAME TEXT FILE...: an image is not made of these, for this reason.
refused() {
    local name=$1 text=$2
    shift 2
    build -o refused.a "$@" 2>said
    if [ ! -e refused.a ] && grep -qF "$text" said; then
        echo "ok $name"
    else
        echo "not ok $name: $(head -n 3 said)"
    fi
}
cp one.a other.bc
refused "a shard twice" 'shard 2 is given twice' "${inputs[@]}" elsewhere/2 elsewhere/2
refused "of another input" 'compiled from other input' work.bc elsewhere/2
refused "of another order of inputs" 'compiled from other input' program.bc work.bc elsewhere/2
for option in '-O2' '--shards=3' '--targets=x86-64' '--targets=x86-64;x86-64-v3,clone_all;haswell,opt_size' \
    '--targets=x86-64;x86-64-v3,clone_all;haswell,-movbe' '--name=x' '--emit=asm' '--root=main'; do
    refused "$option, and a shard without it" 'compiled from other input' "$option" "${inputs[@]}" elsewhere/2
done
export TENON_LLVM_ARGS='-align-all-functions=6 -no-such-option'
refused "LLVM's own options, and a shard without them" 'compiled from other input' "${inputs[@]}" elsewhere/2
{
    build --shard 2 -o elsewhere/aligned "${inputs[@]}"
    build -o aligned.a "${inputs[@]}"
    build -o joined.a "${inputs[@]}" elsewhere/aligned
} 2>said
succeeds "LLVM's own options, and a shard with them" cmp aligned.a joined.a
some "which they have changed" "$(cmp one.a aligned.a)"
build --ninja aligned.ninja -o ninja.a "${inputs[@]}" 2>>said
unset TENON_LLVM_ARGS
succeeds "ninja builds it with those that the build file was written with" ninja -f aligned.ninja
succeeds "LLVM's own options by ninja" cmp aligned.a ninja.a
refused "none, and a shard with some" 'compiled from other input' "${inputs[@]}" elsewhere/aligned
TENON_LLVM_ARGS=-no-such-option build -o some.a "${inputs[@]}" elsewhere/2 2>>said
same "one that LLVM does not have" some.a
refused "native, and a shard of another target" 'compiled from other input' --targets native "${inputs[@]}" elsewhere/2
export TENON_CPU=x86-64
build --targets native --ninja small.ninja -o ninja.a "${inputs[@]}"
build --targets native -o small.a "${inputs[@]}"
unset TENON_CPU
succeeds "ninja builds for the smaller CPU that the build file was written on" ninja -f small.ninja
succeeds "for the smaller CPU" cmp small.a ninja.a
refused "nothing but shards" 'no LLVM IR' elsewhere/{0,1,2,3}
refused "a shard that is not there" 'there is no shard 4; the input makes 4' --shard 4 "${inputs[@]}"

# Damaged in any byte of the header, in some of the rest, or cut.
damage() { # OFFSET: changes one byte of a copy
    local byte
    byte=$(od -An -tu1 -j "$1" -N 1 elsewhere/2)
    cp elsewhere/2 damaged
    printf "\\x$(printf %02x $((byte ^ 16)))" | dd of=damaged bs=1 seek="$1" conv=notrunc 2>/dev/null
    build -o refused.a work.bc program.bc damaged 2>said && echo "byte $1 changed"
}
size=$(stat -c %s elsewhere/2)
none "every change of it is seen" "$(for at in {0..71} $((size / 2)) $((size - 1)); do damage "$at"; done)"
none "every cut" "$(for at in 1 8 16 40 71 72 73 $((size - 1)); do
    head -c "$at" elsewhere/2 >damaged
    build -o refused.a work.bc program.bc damaged 2>said && echo "cut at $at"
done)"
