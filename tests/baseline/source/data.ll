; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Data of every kind: constants, sections, linkage, groups, names, lists.
target triple = "x86_64-linux-gnu"

%record = type { i8, i32, i64, ptr }
%packed = type <{ i8, ptr, i16 }>

$group = comdat any
$alone = comdat any
$other_name = comdat any

; numbers
@byte = global i8 -1
@bit = global i1 true
@half = global half 1.0
@bfloat = global bfloat 2.0
@odd = global i24 -2
@wide = global i128 -3
@wider = global i200 -4
@float = global float 1.5
@double = global double -2.5
@long_double = global x86_fp80 0xK3FFF8000000000000000
@quad = global fp128 0xL00000000000000003FFF000000000000
@zero = global i64 0
@zeros = global [100 x i32] zeroinitializer
@nothing = global [0 x i32] zeroinitializer
@undefined = global i32 undef
@poisoned = constant { i32, i32 } { i32 1, i32 poison }
@minus_zero = global double -0.0

; aggregates
@bytes = global [5 x i8] c"\00\01\FFz\00"
@words = constant [3 x i16] [i16 1, i16 2, i16 -1]
@record = global %record { i8 1, i32 2, i64 3, ptr @byte }
@packed = global %packed <{ i8 1, ptr @record, i16 -1 }>
@nested = constant [2 x { i8, [2 x i32] }] [{ i8, [2 x i32] } { i8 1, [2 x i32] [i32 2, i32 3] },
                                            { i8, [2 x i32] } { i8 4, [2 x i32] zeroinitializer }]
@vector = global <4 x i32> <i32 1, i32 2, i32 3, i32 4>
@odd_vector = global <3 x float> <float 1.0, float 2.0, float 3.0>
@pointers = global <2 x ptr> <ptr @byte, ptr null>
@empty = global {} zeroinitializer

; addresses
declare void @function()
@elsewhere = external global i32
@may_lack = extern_weak global i32
@hidden_elsewhere = external hidden global i32
@to_function = global ptr @function
@to_elsewhere = constant ptr @elsewhere
@to_weak = constant ptr @may_lack
@to_hidden = global ptr @hidden_elsewhere
@to_itself = global ptr @to_itself
@inside = global ptr getelementptr inbounds (%record, ptr @record, i64 0, i32 2)
@before = global ptr getelementptr (i8, ptr @bytes, i64 -8)
@far = global ptr getelementptr (i8, ptr @bytes, i64 6000000000)
@as_number = global i64 ptrtoint (ptr @zeros to i64)
@sum = global i64 add (i64 ptrtoint (ptr @zeros to i64), i64 12)
@from_number = global ptr inttoptr (i64 4096 to ptr)
@to_local = global ptr @local
@to_private = global ptr @private
@distances = constant [2 x i32] [
    i32 trunc (i64 sub (i64 ptrtoint (ptr @function to i64), i64 ptrtoint (ptr @distances to i64)) to i32),
    i32 trunc (i64 sub (i64 ptrtoint (ptr @record to i64),
        i64 ptrtoint (ptr getelementptr ([2 x i32], ptr @distances, i64 0, i64 1) to i64)) to i32)]
@wide_distance = constant { i32, i64 } { i32 1,
    i64 sub (i64 ptrtoint (ptr @elsewhere to i64), i64 ptrtoint (ptr @wide_distance to i64)) }

; linkage and visibility
@local = internal global i32 7
@private = private global i32 8
@weak = weak global i32 9
@weak_odr = weak_odr constant i32 10
@linkonce = linkonce global i32 11
@common = common global [10 x i64] zeroinitializer, align 32
@common_nothing = common global [0 x i64] zeroinitializer
@hidden = hidden global i32 12
@protected = protected global i32 13
@hidden_weak = weak hidden global i32 14
@available = available_externally global i32 15
@to_available = global ptr @available

; constants that linkers may merge
@string = private unnamed_addr constant [6 x i8] c"hello\00"
@aligned_string = private unnamed_addr constant [6 x i8] c"hallo\00", align 16
@wide_string = private unnamed_addr constant [3 x i16] [i16 104, i16 105, i16 0]
@wider_string = internal unnamed_addr constant [3 x i32] [i32 104, i32 105, i32 0]
@four = private unnamed_addr constant i32 1234
@eight = private unnamed_addr constant double 3.25
@sixteen = private unnamed_addr constant [2 x i64] [i64 1, i64 2]
@thirty_two = private unnamed_addr constant [4 x i64] [i64 1, i64 2, i64 3, i64 4]
@no_string = private unnamed_addr constant [3 x i8] c"abc"
@strings = constant [9 x ptr] [ptr @string, ptr @aligned_string, ptr @wide_string, ptr @wider_string, ptr @four,
                               ptr @eight, ptr @sixteen, ptr @thirty_two, ptr @no_string]

; alignment
@aligned = global i8 1, align 64
@aligned_zero = internal global i8 0, align 4096
@less_aligned = global i64 1, align 1

; thread-local
@thread = thread_local global i32 1
@thread_zero = internal thread_local global i64 0
@thread_local_exec = thread_local(localexec) global i32 2
@thread_weak = weak thread_local global i32 3
@uses_thread_zero = thread_local global ptr @thread_only
@thread_only = internal global i32 4

; sections
@in_section = global i32 1, section "own"
@zero_in_section = global i32 0, section "own"
@constant_in_section = constant i32 2, section "own_constants"
@string_in_section = private unnamed_addr constant [3 x i8] c"ab\00", section "own_strings"
@to_string_in_section = global ptr @string_in_section
@pointer_in_section = constant ptr @in_section, section "own_pointers"
@thread_in_section = thread_local global i32 5, section "own_thread"
@packed_in_section = global i64 3, section "own_packed", align 2
@note = constant [4 x i8] c"abcd", section ".note.own"
@early = constant ptr @function, section ".init_array.00099"
@no_list = constant i32 6, section ".init_array_of_others"
@not_written = private constant i32 1, section "llvm.metadata"

; groups
@group = linkonce_odr constant i32 1, comdat
@group_member = linkonce_odr global ptr @group, comdat($group)
@group_zero = linkonce_odr global i64 0, comdat($group)
@alone = weak_odr global [3 x ptr] [ptr @group, ptr @alone, ptr null], comdat
@of_other_name = linkonce_odr thread_local global i32 1, comdat($other_name)
@named_in_group = linkonce_odr constant i32 2, section "own", comdat($group)
@string_in_group = linkonce_odr unnamed_addr constant [3 x i8] c"xy\00", comdat($group)

; what linkers keep, or keep with something
@kept = internal global i32 1
@kept_constant = constant [2 x i8] c"ab", section "own_constants"
@with_record = global i32 1, section "with", !associated !0
@with_alias = global i32 2, section "with", !associated !1
@llvm.used = appending global [2 x ptr] [ptr @kept, ptr @kept_constant], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr @local], section "llvm.metadata"

; lists of functions
@llvm.global_ctors = appending global [5 x { i32, ptr, ptr }] [
    { i32, ptr, ptr } { i32 65535, ptr @function, ptr null }, { i32, ptr, ptr } { i32 101, ptr @function, ptr null },
    { i32, ptr, ptr } { i32 65535, ptr @second, ptr @group }, { i32, ptr, ptr } { i32 101, ptr @second, ptr null },
    { i32, ptr, ptr } { i32 65535, ptr @second, ptr @elsewhere }]
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 5, ptr @second, ptr null }]
declare void @second()

; other names
@alias = alias i32, ptr @byte
@alias_inside = weak hidden alias i64, getelementptr inbounds (%record, ptr @record, i64 0, i32 2)
@alias_of_alias = internal alias i32, ptr @alias
@alias_of_private = alias i16, ptr @private
@alias_of_thread = thread_local alias i32, ptr @thread
@function_as_bytes = alias void (), ptr @bytes
@to_alias = global [3 x ptr] [ptr @alias, ptr @alias_of_alias, ptr getelementptr (i8, ptr @alias, i64 1)]
@"strange \22name\22" = global i32 1
@"\01plain" = global i32 2
@0 = private global i32 3
@to_unnamed = global [2 x ptr] [ptr @0, ptr @"\01plain"]

!0 = !{ptr @record}
!1 = !{ptr @alias}
