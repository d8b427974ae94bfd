#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# SQLite as images once more, optimised; also on emulated CPUs.

level=-O2
. "$(dirname "$0")/../image_sqlite.sh"
on_cpus image_sqlite "$out/ordinary"
