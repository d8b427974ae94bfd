# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# lit suites: tests/tool (the command), tests/ir (passes). tests/run calls lit with BUILD and LLVM_BIN set; by hand:
#   BUILD=build LLVM_BIN=$(llvm-config-22 --bindir) $(llvm-config-22 --bindir)/lit -v tests/tool

import os
import platform
import shutil
import sys

import lit.formats

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(top, os.environ["BUILD"])
llvm_bin = os.environ["LLVM_BIN"]

config.name = "tenon"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".ll", ".test", ".c", ".s"]
config.excludes = ["Inputs", "data"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join([llvm_bin, os.environ["PATH"]])
config.environment["BUILD"] = build
config.environment["TENON_VERIFY_IR"] = "1"
for variable in ("TENON_TEST_MEM", "TENON_CPU", "TENON_CPU_TARGET"):
    config.environment.pop(variable, None)

# On another machine, $EMULATOR runs the command and what it makes (%run), and compilers make programs for it.
host = os.environ.get("HOST", "")
run = os.environ["EMULATOR"] + " " if host else ""
target = " --target=" + host if host else ""
config.available_features.add((host or platform.machine()).split("-")[0] + "-host")

# A command that hangs ends its test, not the whole run.
limit = "timeout --foreground " + ("300 " if host else "60 ")
config.substitutions += [
    ("%tenon", limit + run + os.path.join(build, "tenon")),
    ("%run ", run),
    ("%{medium}", "" if host else "-mcmodel=medium"),  # only of x86-64
    ("%{build}", build),
    ("%clang", os.path.join(llvm_bin, "clang") + target),
    ("%cc", os.environ.get("CC", "gcc")),
    ("%python", sys.executable),
    ("%split-file", os.path.join(llvm_bin, "split-file")),
    ("%include", os.path.join(top, "include")),
]

for target in os.environ.get("TARGETS", "X86 AArch64 RISCV").split():
    config.available_features.add(target.lower())
for feature, program in (("lua", "lua5.4"), ("gdb", "gdb"), ("zsh", "zsh"), ("fish", "fish")):
    if shutil.which(program):
        config.available_features.add(feature)
if shutil.which("localedef") and os.path.exists("/usr/share/i18n/locales/de_DE"):
    config.available_features.add("localedef")
