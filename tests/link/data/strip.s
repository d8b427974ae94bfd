# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What strip.c expects to be kept begins with live_, what has to go with dead_. live_start is the root.

.macro function name, flags="ax", more:vararg
    .section .text.\name, "\flags", @progbits \more
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
.endm

.macro end name
    xorl %eax, %eax
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

.macro datum name, target, flags="aw", more:vararg
    .section .data.\name, "\flags", @progbits \more
    .globl \name
    .type \name, @object
\name:
    .quad \target
    .size \name, 8
.endm

# By calls, addresses and section symbols.
function live_start
    call live_called
    leaq live_table(%rip), %rax
    leaq .text.live_by_section(%rip), %rax
end live_start
function live_called
end live_called
function live_by_section
end live_by_section
datum live_table, live_from_table
function live_from_table
    call weak_nothing
end live_from_table
    .weak weak_nothing

# A circle that nobody enters; nobody defines what it needs.
function dead_one
    call dead_two
end dead_one
function dead_two
    call dead_one
    call nowhere_defined
end dead_two

# Initializers and finalizers, and what says so itself.
    .section .init_array, "aw", @init_array
    .quad live_initializer
    .section .fini_array, "aw", @fini_array
    .quad live_finalizer
function live_initializer
end live_initializer
function live_finalizer
end live_finalizer
datum live_retained, live_from_retained, "awR"
function live_from_retained
end live_from_retained

# Groups go as a whole; sections go with those that they follow.
function live_in_group, "axG", , live_group, comdat
end live_in_group
datum live_of_group, 0, "awG", , live_group, comdat
function dead_in_group, "axG", , dead_group, comdat
end dead_in_group
datum dead_of_group, 0, "awG", , dead_group, comdat
function live_enters_group
    call live_in_group
end live_enters_group
datum live_enters, live_enters_group, "awR"
datum live_follower, live_from_follower, "awo", , .text.live_called
function live_from_follower
end live_from_follower
datum dead_follower, dead_from_follower, "awo", , .text.dead_one
function dead_from_follower
end dead_from_follower

# Exception tables go with their functions; what both name stays.
function live_catches
    .cfi_personality 0x9b, live_personality_pointer
    .cfi_lsda 0x1b, live_lsda
end live_catches
function dead_catches
    .cfi_personality 0x9b, live_personality_pointer
    .cfi_lsda 0x1b, dead_lsda
end dead_catches
datum live_lsda, live_type_of_lsda
datum live_type_of_lsda, 0
datum dead_lsda, dead_type_of_lsda
datum dead_type_of_lsda, 0
datum live_personality_pointer, live_personality
function live_personality
end live_personality
datum live_catcher, live_catches, "awR"

# Thread-local data and indirect functions.
    .section .tdata.live_thread, "awT", @progbits
    .globl live_thread
    .type live_thread, @object
live_thread:
    .quad 1
    .section .tdata.dead_thread, "awT", @progbits
    .globl dead_thread
    .type dead_thread, @object
dead_thread:
    .quad 2
function live_uses_thread
    movq live_thread@GOTTPOFF(%rip), %rax
end live_uses_thread
datum live_thread_user, live_uses_thread, "awR"
