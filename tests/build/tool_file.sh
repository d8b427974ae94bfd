# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The tool is one static file that needs nothing beside it.

. tests/build/check

tool=$BUILD/tenon
segments=$(readelf --wide --program-headers "$tool")
sections=$(readelf --wide --sections "$tool")

some "it is a fixed-address program" "$(readelf --file-header "$tool" | grep 'Type: *EXEC')"
none "it names no dynamic loader and no shared library" "$(echo "$segments" | grep -E '^ *(INTERP|DYNAMIC) ')"
none "no segment is writable and executable" "$(echo "$segments" | grep -E '^ *[A-Z_]+ +0x.* (RWE|WE|RW ?E) ')"
some "its segments are found" "$(echo "$segments" | grep -E '^ *LOAD .* R E ')"
none "it is stripped" "$(echo "$sections" | grep -E ' \.debug_[a-z]+ ')$(nm "$tool" |
    grep -v -E ' __jit_debug_(register_code|descriptor)$')"
some "but for what debuggers look for" "$(nm "$tool" | grep -x '[0-9a-f]* . __jit_debug_register_code')"
some "its twin is not" "$(readelf --wide --sections "$tool.debug" | grep ' \.symtab ')"

# An empty root: no loader, no libraries, no /proc. Needs the right to chroot.
if [ "$(id -u)" = 0 ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$tool" "$work/tenon"
    succeeds "it runs where nothing else is" chroot "$work" /tenon --version
else
    echo "ok it runs where nothing else is # SKIP needs root"
fi
