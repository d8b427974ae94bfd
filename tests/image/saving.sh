# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Saving objects when things go wrong: killed at any system call, refused by those that write, the disk full, a file
# that is read-only. What was there stays, or the new file is complete; what can still clean up leaves nothing else.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CC" -Iinclude -Isrc tests/image/source/values_host.c "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
    -lpthread -o "$work/host" 2>/dev/null ||
    exit 1
export TENON_GC=copy # no thread of the collector's, so calls have the same numbers each time

written=("$work/host" save "$work/folder/out") whole=$work/new
. tests/image/support/traced.bash

"$work/host" save "$whole" || exit 1
strace -f -qq -o "$work/log" "${written[@]}" || exit 1
killed_at_each_call

write=$(grep -q '^[0-9]* *pwritev(' "$work/log" && echo pwritev || echo pwrite64)
refused "$write" ENOSPC 'TN_EIO: .*out: cannot be written: No space left'
refused fsync EIO 'TN_EIO: .*out: cannot be written: Input/output error'
refused rename EACCES 'TN_EIO: .*out: cannot be written: Permission denied'

(ulimit -f 1 && trap '' XFSZ && exec "$work/host" save "$work/folder/out") >"$work/said" 2>&1
some "a limit of the size of files is said" "$(grep 'TN_EIO: .*File too large' "$work/said")"
succeeds "and the old file stays" cmp "$work/folder/out" "$work/old"
"$work/host" save "$work/nowhere/out" >"$work/said" 2>&1
some "a folder that is not there is named" "$(grep 'TN_EIO: .*nowhere/out: cannot be written: No such' "$work/said")"

mkdir "$work/mount"
if unshare --mount true 2>/dev/null; then
    # mounted OPTIONS: in a file system of that kind, which has an old file
    mounted() {
        unshare --mount sh -c 'mount -t tmpfs -o size=12k none "$1" && echo old >"$1/out" &&
            mount -o "remount,$3" "$1" && ! "$2" save "$1/out" && cat "$1/out" && ls "$1"' sh "$work/mount" \
            "$work/host" "$1" 2>&1
    }
    for case in 'rw,size=12k/No space left' 'ro/Read-only file system'; do
        said=$(mounted "${case%/*}")
        some "a disk that is ${case%/*}: ${case#*/}" "$(echo "$said" | grep "cannot be written: ${case#*/}")"
        some "and the old file stays, alone" \
            "$([ "$(echo "$said" | tail -n 2 | tr '\n' ' ')" = 'old out ' ] && echo yes)"
    done
else
    echo "ok a full disk # SKIP needs the right to mount"
fi
