# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# IR that is nested n levels deep: awk -v kind=KIND -v n=N -f nested.awk

function times(text, count,    whole) {
    for (whole = ""; count; count = int(count / 2)) {
        if (count % 2)
            whole = whole text
        text = text text
    }
    return whole
}
function wrap(begin, middle, end) { return times(begin, n) middle times(end, n) }
function row(format, from, to,    i, step) {
    step = from < to ? 1 : -1
    for (i = from; i != to + step; i += step)
        printf format "\n", i, i - 1
}

BEGIN {
    print "@x = global i8 0"
    if (kind == "arrays") print "@g = external global " wrap("[1 x ", "i8", "]")
    if (kind == "vectors") print "@g = external global " wrap("<1 x ", "i8", ">")
    if (kind == "structs") print "@g = external global " wrap("{", "i8", "}")
    if (kind == "packed") print "@g = external global " wrap("<{", "i8", "}>")
    if (kind == "named" || kind == "numbered") {
        mark = kind == "named" ? "%%\"a\\5f%d\" = type { %%a_%d }" : "%%%d = type { %%0%d }"
        print kind == "named" ? "%a_0 = type { i8 }" : "%0 = type { i8 }"
        row(mark, 1, n)
        print "@g = external global " (kind == "named" ? "%a_" : "%") n
    }
    if (kind == "backwards") {
        row("%%t%d = type <{ i8, %%t%d }>", n, 1)
        print "%t0 = type { i8 }\n@g = external global %t" n
    }
    if (kind == "gep") print "@g = global ptr " wrap("getelementptr (i8, ptr ", "@x", ", i64 1)")
    if (kind == "sub")
        print "@g = global i64 " wrap("sub (i64 ", "ptrtoint (ptr @x to i64)", ", i64 ptrtoint (ptr @y to i64))") \
            "\n@y = global i8 0"
    if (kind == "aliases") row("@a%d = alias i8, ptr @a%d", n, 1)
    if (kind == "aliases") print "@a0 = global i8 0"
    if (kind == "ifuncs") row("@a%d = ifunc i8, ptr @a%d", n, 1)
    if (kind == "ifuncs") print "define ptr @a0() {\n  ret ptr null\n}"
    if (kind == "inline") print "!0 = " wrap("!{", "", "}") "\n!n = !{!0}"
    if (kind == "metadata") { row("!%d = !{!%d}", 1, n); print "!0 = !{}\n!n = !{!" n "}" }
    if (kind == "forward") { row("!%d = !{!%d}", n, 1); print "!0 = !{}\n!n = !{!" n "}" }
    if (kind == "circle") { row("!%d = distinct !{!%d}", 1, n); print "!0 = !{!" n "}\n!n = !{!" n "}" }
    if (kind == "attached") {
        row("!%d = !{!%d}", 1, n)
        print "!0 = !{}\ndefine void @f() {\n  ret void, !my !" n "\n}"
    }
    if (kind == "scopes") {
        print "define void @f() !dbg !1 {\n  ret void, !dbg !0\n}\n!llvm.dbg.cu = !{!2}\n!llvm.module.flags = !{!3}"
        print "!0 = !DILocation(scope: !" n + 6 ", line: 1)"
        print "!1 = distinct !DISubprogram(name: \"f\", file: !4, unit: !2, spFlags: DISPFlagDefinition, type: !5)"
        print "!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !4, emissionKind: FullDebug)"
        print "!3 = !{i32 2, !\"Debug Info Version\", i32 3}\n!4 = !DIFile(filename: \"f.c\", directory: \"/\")"
        print "!5 = !DISubroutineType(types: !{})\n!6 = distinct !DILexicalBlock(scope: !1, file: !4)"
        row("!%d = distinct !DILexicalBlock(scope: !%d, file: !4)", 7, n + 6)
    }
    if (kind == "open") print times("(", n)
    if (kind == "values") {
        print "define ptr @f(ptr %v0) {"
        row("  %%v%d = getelementptr i8, ptr %%v%d, i64 1", 1, n)
        print "  ret ptr %v" n "\n}"
    }
}
