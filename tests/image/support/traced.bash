# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by tests of a command that writes a file, run under strace. They set work, a folder; written=(COMMAND...),
# which writes $work/folder/out; and whole, such a file, complete. $work/log is strace's of a run that succeeds.

if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
    echo "ok the writer is killed # SKIP no strace, or it may not trace"
    exit
fi
mkdir "$work/folder"
echo old >"$work/old"

# under OPTIONS...: a run with this injected, over an old file.
under() {
    rm -rf "$work/folder"/* && cp "$work/old" "$work/folder/out"
    (strace -f -qq -o /dev/null "$@" "${written[@]}") 2>"$work/said"
}

# killed_at_each_call: locks aside, of which there are many, and which change nothing.
killed_at_each_call() {
    local wrong= finished=0 count=0 runs call n
    while read -r runs call; do
        for ((n = 1; n <= runs; n++)); do
            under -e inject=$call:signal=KILL:when=$n
            count=$((count + 1))
            if cmp -s "$work/folder/out" "$whole"; then finished=$((finished + 1))
            elif ! cmp -s "$work/folder/out" "$work/old"; then wrong="$wrong $call/$n"; fi
        done
    done < <(sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' "$work/log" | grep -v -x -e futex -e execve | sort |
        uniq -c) 2>/dev/null
    some "among its calls is one that renames" "$(grep 'rename(.*folder/out' "$work/log")"
    none "killed at each of $count calls, it leaves the old file or the new one" "$wrong"
    some "the old one but at the last few: $finished" "$([ "$finished" -gt 0 ] && [ "$finished" -lt 12 ] && echo yes)"
}

# refused CALL ERROR TEXT: every such call fails in turn; that is an error which says so, and the old file stays, alone.
refused() {
    local call=$1 error=$2 text=$3 n status missed= runs
    runs=$(grep -c "^[0-9]* *$call(" "$work/log")
    for ((n = 1; n <= runs; n++)); do
        under -e inject=$call:error=$error:when=$n
        status=$?
        [ $status -eq 0 ] && [ -n "$may_go_on" ] && cmp -s "$work/folder/out" "$whole" && continue
        [ $status -eq 1 ] && cmp -s "$work/folder/out" "$work/old" && [ "$(ls "$work/folder")" = out ] &&
            grep -q "$text" "$work/said" || missed="$missed $n"
    done
    some "there are calls of $call" "$([ "$runs" -gt 0 ] && echo yes)"
    none "$call fails with $error: it is said, and nothing is left of it" "$missed"
}
# The same, but for calls without which the file is whole all the same.
refused_or_unused() {
    local may_go_on=yes
    refused "$@"
}
may_go_on=
