; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Lines of a function without a file, and of files without a folder or a name.
target triple = "x86_64-linux-gnu"

define i32 @nowhere() !dbg !10 {
  ret i32 1, !dbg !11
}

define i32 @whole() !dbg !12 {
  ret i32 2, !dbg !13
}

define i32 @nameless() !dbg !14 {
  ret i32 3, !dbg !15
}

define i32 @elsewhere() !dbg !16 {
  ret i32 4, !dbg !17
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "names.c", directory: "/first")
!3 = !DIFile(filename: "/second/whole.h", directory: "")
!4 = !DIFile(filename: "", directory: "/third")
!5 = !DIFile(filename: "last.h", directory: "/fourth")
!10 = distinct !DISubprogram(name: "nowhere", unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocation(line: 11, scope: !10)
!12 = distinct !DISubprogram(name: "whole", file: !3, line: 20, scopeLine: 20, unit: !0, spFlags: DISPFlagDefinition)
!13 = !DILocation(line: 21, scope: !12)
!14 = distinct !DISubprogram(name: "nameless", file: !4, line: 30, scopeLine: 30, unit: !0,
                             spFlags: DISPFlagDefinition)
!15 = !DILocation(line: 31, scope: !14)
!16 = distinct !DISubprogram(name: "elsewhere", file: !5, line: 40, scopeLine: 40, unit: !0,
                             spFlags: DISPFlagDefinition)
!17 = !DILocation(line: 41, scope: !16)
