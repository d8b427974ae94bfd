# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/link/instance/instance_storm.c compiled for AArch64, where loads that acquire and stores that release are
# instructions of their own.

qemu-aarch64-static "$BUILD/tests/models/qemu/instance_storm-aarch64"
