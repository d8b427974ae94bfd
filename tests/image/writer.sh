# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writing files when things go wrong: killed at any system call, refused by any, the disk full, a shard that fails. What
# was there stays, or the new file is complete; a command that can still clean up leaves nothing else.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon

cat >"$work/in.ll" <<'END'
@data = global ptr @f
define i32 @f() { ret i32 7 }
END
cat >"$work/bad.ll" <<'END'
define i32 @f() { call void asm "no_such_instruction", ""() ret i32 7 }
END

written=("$tenon" build --kind=shared --threads 1 -o "$work/folder/out" "$work/in.ll") whole=$work/new/out
. tests/image/support/traced.bash

mkdir "$work/new"
"$tenon" build --kind=shared --threads 1 -o "$whole" "$work/in.ll" || exit 1
strace -f -qq -o "$work/log" "${written[@]}"
killed_at_each_call

# unused CALL ERROR: what makes the file has no need of it.
unused() {
    under -e inject=$1:error=$2
    succeeds "no $1: the file is made all the same" cmp "$work/folder/out" "$whole"
    none "and without $1" "$(grep "^[0-9]* *$1(" "$work/log")"
}
unused memfd_create ENOSYS
unused pwrite64 ENOSPC
refused_or_unused write ENOSPC "cannot write '.*out': No space left"
refused_or_unused fsync EIO "cannot write '.*out': Input/output error"
refused_or_unused rename EACCES "cannot write '.*out': Permission denied"

cp "$work/old" "$work/folder/out"
"$tenon" build --kind=shared -o "$work/folder/out" "$work/bad.ll" >"$work/said" 2>&1
some "a shard that fails is the command's failure" "$([ $? -eq 1 ] && grep no_such_instruction "$work/said")"
succeeds "and nothing is written" cmp "$work/folder/out" "$work/old"

# Whichever it is, while others are compiled or waited for.
for bad in 1 17 40; do
    for ((n = 1; n <= 40; n++)); do
        instruction=nop
        [ $n -eq $bad ] && instruction=no_such_instruction
        echo "define void @f$n() { call void asm \"$instruction\", \"\"() ret void }"
    done >"$work/forty.ll"
    timeout 100 "$tenon" build --shards 20 --threads 4 -o "$work/folder/out" "$work/forty.ll" >"$work/said" 2>&1
    some "function $bad of 40 fails on one of four threads" "$([ $? -eq 1 ] && grep no_such_instruction "$work/said")"
    succeeds "nothing is written for function $bad" cmp "$work/folder/out" "$work/old"
done

# Who is asked to end while it writes does so when the file is whole.
under -e inject=fsync:signal=TERM
some "ended while it writes" "$([ $? -eq 143 ] && echo yes)"
succeeds "the file is whole" cmp "$work/folder/out" "$whole"
some "and alone" "$([ "$(ls "$work/folder")" = out ] && echo yes)"

# A limit of the size of files is an error.
for kind in archive shared; do
    (ulimit -f 1 && exec "$tenon" build --kind=$kind -o "$work/folder/limited" "$work/in.ll") >"$work/said" 2>&1
    some "--kind=$kind: a limit of the size is said" \
        "$([ $? -eq 1 ] && grep -e 'File too large' -e 'cannot write an ELF file' "$work/said")"
done
some "and nothing is left" "$([ "$(ls "$work/folder")" = out ] && echo yes)"

mkdir "$work/mount"
if unshare --mount true 2>/dev/null; then
    said=$(unshare --mount sh -c 'mount -t tmpfs -o size=8k none "$1" && echo old >"$1/out" &&
        ! "$2" build --kind=shared -o "$1/out" "$3" && cat "$1/out" && ls "$1"' sh "$work/mount" "$tenon" \
            "$work/in.ll" 2>&1)
    some "a full disk is named" "$(echo "$said" | grep 'No space left on device')"
    some "and the old file stays, alone" "$([ "$(echo "$said" | tail -n 2 | tr '\n' ' ')" = 'old out ' ] && echo yes)"
else
    echo "ok a full disk # SKIP needs the right to mount"
fi
