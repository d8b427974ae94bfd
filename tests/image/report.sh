# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The page of `tenon build --report`: each byte of the file in one row of each table, whatever kind of file it is, with
# names that would be HTML, and saved objects by type.

. tests/build/check
. tests/image/support/saved_code.bash

values+=(--value the_entry=root:entry)
for part in values objects; do
    managed -fPIC $source/$part.c -o "$work/$part.bc" || exit 1
done
cat >"$work/odd.ll" <<'END'
@"</style>" = constant [64 x i8] zeroinitializer
define i32 @"</script><script>alert(1)</script>"(i32 %n) noinline {
  %r = mul i32 %n, 3
  ret i32 %r
}
define i32 @"a&b<i>\22'\C3\A9\FF\03"(i32 %n) noinline {
  %r = call i32 @"</script><script>alert(1)</script>"(i32 %n)
  %s = add i32 %r, 1
  ret i32 %s
}
define i32 @main(i32 %argc, ptr %argv) {
  %r = call i32 @"a&b<i>\22'\C3\A9\FF\03"(i32 %argc)
  %s = load volatile i8, ptr @"</style>"
  %t = zext i8 %s to i32
  %u = mul i32 %r, %t
  ret i32 %u
}
END
printf 'int given(int x) { return x * 7; }\n' >"$work/given.c" &&
    "$CC" -O1 -fPIC -c "$work/given.c" -o "$work/given.o" &&
    "$CC" -rdynamic $source/values_host.c -Iinclude -Isrc "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" -lpthread \
        -o "$work/host" && LISTS=500 "$work/host" save "$work/heap" own || exit 1

cat >"$work/page.py" <<'END'
"""page.py PAGE FILE CHECK...: the tables of a page, and whether expressions over them are true."""
import os, subprocess, sys
from html.parser import HTMLParser

class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables, self.tags, self.boxes = {}, [], []
        self.text = self.rows = self.row = None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "table":
            self.rows = self.tables[attributes["id"]] = []
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th", "title", "h1"):
            self.text = ""

    def handle_data(self, data):
        if self.text is not None:
            self.text += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.row.append(self.text)
        elif tag == "tr":
            self.rows.append(self.row)
        elif tag == "title":
            self.boxes.append(self.text)
        if tag in ("td", "th", "title", "h1"):
            self.text = None

source = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(source)
size = os.path.getsize(sys.argv[2])
table = {}
for name, (head, *rows) in page.tables.items():
    table[name] = [dict(zip(head, row)) for row in rows]
    assert sum(int(row["Bytes"]) for row in table[name]) == size, name
    assert all(int(row["Bytes"]) > 0 and int(row["Parts"]) > 0 for row in table[name]), name
assert sorted(table) == ["function", "kind", "leaves", "package", "section", "target", "type"], sorted(table)
leaves = table["leaves"]
places = ("Package", "Kind", "Section", "Symbol", "Target", "Type")
assert len({tuple(leaf[place] for place in places) for leaf in leaves}) == len(leaves), "a leaf is there twice"
# It loads nothing, and has one script, the last thing on the page, whatever names there are.
assert not [tag for tag, a in page.tags if tag in ("link", "img", "iframe", "object", "embed", "base")]
assert not [a for tag, a in page.tags if {"src", "href", "onclick", "onload"} & a.keys()]
assert [tag for tag, a in page.tags].count("script") == 1 and source.count("<script>") == 1
assert source.rstrip().endswith("</script>\n</body></html>"), source[-100:]

def named(which, name):
    """The bytes of the row with this name; 0: there is none."""
    return sum(int(row["Bytes"]) for row in table[which] if row["Name"] == name)

def beginning(which, words):
    return sum(int(row["Bytes"]) for row in table[which] if row["Name"].startswith(words))

def symbols(*arguments):
    """Sizes by name, as nm has them."""
    lines = subprocess.run([os.environ["LLVM_BIN"] + "/llvm-nm", "--print-size", sys.argv[2], *arguments],
                           capture_output=True, check=True).stdout.decode("latin-1").splitlines()
    fields = [line.split(None, 3) for line in lines]
    return {f[3]: int(f[1], 16) for f in fields if len(f) == 4}

def section(name):
    lines = subprocess.run(["readelf", "--sections", "--wide", sys.argv[2]], capture_output=True).stdout.decode()
    sizes = [line.split("]")[1].split()[4] for line in lines.splitlines() if f" {name} " in line and "]" in line]
    return sum(int(s, 16) for s in sizes)

for check in sys.argv[3:]:
    if not eval(check):
        sys.exit(f"not so: {check}; {table['package']} {table['kind']} {table['type'][:9]}")
END

# page NAME KIND [OPTION...] -- CHECK...
page() {
    local name=$1 kind=$2
    shift 2
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    rm -f "$work/page.html"
    "$tenon" build --kind=$kind --report "$work/page.html" -o "$work/built" "${options[@]}" ||
        echo "not ok $name: no build"
    succeeds "$name" python3 "$work/page.py" "$work/page.html" "$work/built" "$@"
}

for kind in archive shared image exe; do
    page "odd names, $kind" $kind --name img --targets 'x86-64;x86-64-v3,clone_all' "$work/odd.ll" -- \
        'named("function", "</script><script>alert(1)</script>") > 0' \
        "named('function', 'a&b<i>\"\\'\\u00e9\\u00ff\\ufffd') > 0" \
        'named("target", "x86-64-v3") > 0 and named("target", "x86-64") > 0' \
        'named("package", "img") > 0' \
        '"alert(1)" in str(page.boxes) or size > 100000' \
        '[l["Kind"] for l in leaves if l["Symbol"] == "</style>"] == ["read-only data"]'
done
page "sizes are those of nm" exe --name img --targets 'x86-64;x86-64-v3,clone_all' "$work/odd.ll" -- \
    'named("target", "x86-64-v3") == sum(s for n, s in symbols().items() if n.endswith(".img.1"))' \
    'named("target", "x86-64-v3") > 0' 'named("package", "runtime") > 100000'

# A symbol that ends before it begins, and a name that is longer than its box and has no ASCII.
wide=$(printf '\346\227\245%.0s' {1..100})
cat >"$work/sizes.ll" <<END
module asm ".pushsection .text.odd,\\22ax\\22,@progbits"
module asm ".skip 16"
module asm ".type odd,@function"
module asm "odd: nop"
module asm ".size odd, 0xfffffffffffffff8"
module asm ".popsection"
@"$wide" = constant [100000 x i8] zeroinitializer
define i32 @main() {
  ret i32 0
}
END
page "sizes that are none" archive "$work/sizes.ll" -- \
    'named("function", "odd") == 1' '__import__("re").search("<text [^>]*>\u65e5+</text>", source)'

"$LLVM_BIN/clang" -O1 -emit-llvm -c -xc - -o "$work/main.bc" \
    <<<'int given(int); int main(void) { return given(6) - 42; }'
page "an object that is linked with it" exe "$work/main.bc" "$work/given.o" -- \
    'named("package", "given.o") == symbols()["given"]' 'named("package", "given.o") > 0'

for kind in archive image exe; do
    part=("$work/values.bc" "$work/objects.bc")
    [ $kind != exe ] || part=("$work/main.bc" "$work/given.o") # with objects that no code uses
    use=("${values[@]}")
    [ $kind != exe ] || use=()
    page "saved objects, $kind" $kind --objects "$work/heap" "${use[@]}" "${part[@]}" -- \
        'named("type", "struct node") > 0' 'named("type", "tenon.roots") > 0' \
        'named("kind", "saved objects") == beginning("section", ".tenon.")' \
        'not named("type", "objects of types that are not in the file")'
    [ $kind = archive ] || page "and their sections, $kind" $kind --objects "$work/heap" "${use[@]}" "${part[@]}" -- \
        'named("section", ".tenon.mutable") == section(".tenon.mutable") > 0' \
        'named("section", ".tenon.frozen") == section(".tenon.frozen") > 0'
done

some "it needs the whole" "$("$tenon" build --report "$work/page.html" --shard 0 -o "$work/shard" "$work/main.bc" 2>&1 |
    grep -e '--report is about an image as a whole')"
some "a page that cannot be written is an error" "$("$tenon" build --report "$work/no/page" -o "$work/built" \
    "$work/main.bc" 2>&1 | grep "cannot write '$work/no/page'")"
"$tenon" build --kind=exe --report "$work/first.html" -o "$work/built" "$work/odd.ll" &&
    "$tenon" build --threads 1 --kind=exe --report "$work/second.html" -o "$work/built" "$work/odd.ll"
succeeds "equal files have equal pages" cmp "$work/first.html" "$work/second.html"
