# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Takes one thing away from a compiled module, LLVM IR as text (`tenon compile --emit llvm`), which the collector needs:
#     a root        a value in the "gc-live" of one safepoint, unless it is pinned there: pins keep alive, and what
#                   stays needs no relocation
#     a word        a reference, or an array of them, in the type of a variable of several words
#     a relocate    behind a safepoint the old value is used, if any is
#     a variable    in stack memory, and so a pin, at all safepoints of its function
#     a barrier     the call that logs an object before a store, or what a move knows of the object
#     a zero        a variable leads behind the first two words of the first argument until something is stored there;
#                   only where
#                   -v zeroing=1 is given, for most variables are stored to before a safepoint finds them
#
#     awk -f mutate.awk module.ll                     a line for each that there is: kind, function, callee of the
#                                                     safepoint
#     awk -f mutate.awk -v wanted=N module.ll         the module without the Nth, from 0

# How often each value is mentioned in its function: once where it is not used.
BEGIN {
    while ((getline < ARGV[1]) > 0) {
        if (/^define /)
            name = part("@[A-Za-z0-9_.]+\\(", 1, 1)
        sub(/ ; .*/, "")
        while (match($0, /%[A-Za-z0-9_.]+/)) {
            mentioned[name, substr($0, RSTART, RLENGTH)]++
            $0 = substr($0, RSTART + RLENGTH)
        }
    }
    close(ARGV[1])
}

function mutant(kind) {
    if (wanted == "")
        print kind, name, callee[token]
    return wanted != "" && seen++ == wanted
}

# The part of the line that the pattern matches, without as many characters at both ends.
function part(pattern, head, tail) {
    return match($0, pattern) ? substr($0, RSTART + head, RLENGTH - head - tail) : ""
}

# What is really called: behind the call out of managed code, and the function that takes care of variable arguments.
function callee_of_statepoint(  named) {
    if ((named = part("@tn\\.variable_arguments[.0-9]*, ptr @[A-Za-z0-9_.]+", 0, 0)) != "" ||
        (named = part("nest @[A-Za-z0-9_.]+", 5, 0)) != "")
        sub(/.*@/, "", named)
    else
        named = part("elementtype\\(.*\\) @[A-Za-z0-9_.]+", 0, 0) != "" ? substr($0, RSTART, RLENGTH) : ""
    sub(/.*@/, "", named)
    return named == "" ? "a pointer" : named
}

# Whether this variable is left out; asked anew only where it is met first, for the map lists it once per function.
function is_dropped(variable) {
    if (!((name, variable) in met))
        met[name, variable] = mutant("variable")
    return met[name, variable]
}

function drop_root(  live, count, list, i, kept, separator, held) {
    if (!match($0, /"gc-live"\([^\]]*\)/))
        return
    live = substr($0, RSTART + 10, RLENGTH - 11)
    count = split(live, list, /, /)
    for (i = 1; i <= count; i++)
        if (list[i] ~ /^ptr %pinned/)
            held[pinned[list[i]]] = 1
    for (i = 1; i <= count; i++) {
        if (list[i] in held) {
            stays[token, i - 1] = 1
            kept = kept separator list[i]
            separator = ", "
            continue
        }
        if (list[i] ~ /^ptr %/ && is_dropped(list[i]))
            continue
        if (list[i] ~ /^ptr addrspace\(10\) %/ && mutant("root")) { # its index stays, for those that come behind it
            list[i] = "ptr addrspace(10) null"
            stale = token " " i - 1
        }
        kept = kept separator list[i]
        separator = ", "
    }
    match($0, /"gc-live"\([^\]]*\)/)
    $0 = substr($0, 1, RSTART - 1) (kept == "" ? "" : "\"gc-live\"(" kept ")") substr($0, RSTART + RLENGTH)
    sub(/ \[ *\]/, "")
}

function drop_words(  rest, kept) {
    for (rest = $0; match(rest, /ptr addrspace\(10\)/); rest = substr(rest, RSTART + RLENGTH)) {
        kept = kept substr(rest, 1, RSTART - 1)
        kept = kept (mutant("word") ? "i64" : substr(rest, RSTART, RLENGTH))
    }
    $0 = kept rest
}

# The relocated value keeps a use, or LLVM would take the root away as well.
function drop_relocate(  type, old, is_stale) {
    if ((token, part("i32 [0-9]+\\)", 4, 1)) in stays)
        return
    is_stale = stale == token " " part("i32 [0-9]+\\)", 4, 1)
    if (!is_stale && (mentioned[name, part("%[A-Za-z0-9_.]+ =", 0, 2)] == 1 || !mutant("relocate")))
        return
    type = part("ptr addrspace\\(1[0-3]\\) @", 0, 2)
    old = part(", [^ ]*\\)$", 2, 1)
    if (!is_stale) {
        print "  %relocated" substr($0, index($0, " ="))
        print "  call void asm sideeffect \"\", \"r\"(" type " %relocated)"
    }
    $0 = substr($0, 1, index($0, "=")) " freeze " type " " old
}

/^define / {
    name = part("@[A-Za-z0-9_.]+\\(", 1, 1)
    token = stale = ""
    split("", pinned)
    split("", stays)
    parameter = part("ptr addrspace\\(10\\) [a-z ]*%[A-Za-z0-9_.]+", 0, 0)
    sub(/.*%/, "%", parameter)
}
zeroing && parameter != "" && /^  store ptr addrspace\(10\) null, ptr %/ && mutant("zero") {
    print "  %poison = getelementptr i8, ptr addrspace(10) " parameter ", i64 16"
    sub(/null/, "%poison")
}
/store ptr addrspace\(10\) .*, ptr %pinned/ {
    pinned[part("ptr %pinned[0-9]*", 0, 0)] = part("ptr addrspace\\(10\\) [^,]*", 0, 0)
}
/ = alloca (<?\{|\[).*ptr addrspace\(10\)/ {
    drop_words()
}
/gc\.statepoint\.p0\(/ && /^  / {
    token = part("%[A-Za-z0-9_.]+ =", 0, 2)
    callee[token] = callee_of_statepoint()
    drop_root()
}
/gc\.relocate\.p1[0-3]\(/ && /^  / {
    token = part("token %[A-Za-z0-9_.]+", 6, 0)
    drop_relocate()
}
/call .*@tn__gc_log\(/ && mutant("barrier") {
    next
}
/call .*@tn__gc_move\(ptr %/ && mutant("barrier") {
    sub(/@tn__gc_move\(ptr %[A-Za-z0-9_.]+/, "@tn__gc_move(ptr null")
}
wanted != ""
