# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Code whose types have changed since the objects that it uses were saved: refused when it is built together with the
# objects, and when it is opened beside them.

. tests/build/check
. tests/image/support/saved_code.bash

first='extern struct node first_node;
long use(void)
{
    long count = 0;
    for (struct node tn_ref *at = (struct node tn_ref *)&first_node; at; at = at->next)
        count++;
    return count;
}'
makes='struct node tn_ref *make(void) { return tn_new(struct node); }'
node='struct node { struct node tn_ref *next; long value; }; TN_TYPE(struct node, next);'
arrays='struct nodes { size_t length; struct node tn_ref *items[]; }; TN_ARRAY_OF_REFERENCES(struct nodes, items);'

"$CC" -Iinclude -Isrc -rdynamic $source/values_host.c "$BUILD/tests/gc/copying.o" \
    "$BUILD/libtenon.a" -lpthread -o "$work/host" &&
    "$work/host" save "$work/heap" || exit 1

cat >"$work/linked.c" <<'END'
#include <stdio.h>
#include "tenon_heap.h"
#include "tenon_image.h"
extern const char tn_image[];
int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .heaps = tn_image_heaps()};
    struct tn_image *list, *code;
    struct tn_error err = {.text = "no heap"};
    int failed = tn_heap_create(NULL, &options.heap, &err) || tn_image_open(argv[argc - 1], &options, &list, &err);
    options.images = &list;
    options.image_count = 1;
    failed = failed || tn_image_open_linked(tn_image, &options, &code, &err);
    return failed && puts(err.text);
}
END

# refused NAME TEXT COMMAND...: the command fails, and says that.
refused() {
    local name=$1 text=$2 status
    shift 2
    "$@" >"$work/got" 2>&1
    status=$?
    if [ "$status" = 1 ] && grep -qF -- "$text" "$work/got"; then
        echo "ok $name"
    else
        echo "not ok $name: status $status $(head -n 1 "$work/got")"
    fi
}

# compiled CODE...
compiled() {
    printf '%s\n' '#include "tenon_managed.h"' "$@" "$main" >"$work/code.c"
    managed -fPIC "$work/code.c" -o "$work/code.bc" || echo "not ok clang: $(cat "$work/code.c")"
}
main='__attribute__((weak)) int main(void) { return 0; }'
root=(--value first_node=root:first)
type=(--value 'tn_type_of_node=type:struct node')
with_objects() { "$tenon" build --objects "$work/heap" "${root[@]}" -o "$work/image" "$@" "$work/code.bc"; }
apart() { "$tenon" build --depends "$work/heap" "${root[@]}" -o "$work/image" "$@" "$work/code.bc"; }

# changed NAME TYPE TEXT CODE...: the type differs from the saved one as the text says.
changed() {
    local name=$1 of=$2 text=$3 kind
    shift 3
    compiled "$@"
    refused "$name" "its code has another type '$of' than the saved objects: $text" with_objects "${type[@]}"
    refused "$name, without its value" "its code has another type '$of' than the saved objects: $text" with_objects
    refused "$name, an executable" "its code has another type '$of' than the saved objects: $text" \
        with_objects --kind=exe
    refused "$name, a shard" "its code has another type '$of' than the saved objects: $text" \
        with_objects --shards 2 --shard 0
    for kind in image shared; do
        succeeds "$name, apart, $kind" apart --kind=$kind "${type[@]}"
        refused "$name, it is opened, $kind" "TN_ENOTSUP: $work/image: its code has another type '$of' than the \
objects of 'list': $text" "$work/host" run "$work/heap" "$work/image"
    done
    succeeds "$name, apart, an archive" apart "${type[@]}" -o "$work/image.a"
    succeeds "$name, it is linked in" "$CC" -Iinclude "$work/linked.c" "$work/image.a" "$BUILD/libtenon.a" \
        -lpthread -o "$work/linked"
    refused "$name, it is opened, linked in" "tn_image: its code has another type '$of' than the objects of 'list': \
$text" "$work/linked" "$work/heap"
    succeeds "$name, apart, without its value" apart --kind=image
    refused "$name, it is opened, without its value" "its code has another type '$of'" \
        "$work/host" run "$work/heap" "$work/image"
}

changed "exchanged members" 'struct node' "'references' differs (only the second has one at offset 0)" \
    'struct node { long value; struct node tn_ref *next; }; TN_TYPE(struct node, next);' "$first" "$makes"
changed "a member more" 'struct node' "'size' differs (24 and 16)" \
    'struct node { struct node tn_ref *next; long value, more; }; TN_TYPE(struct node, next);' "$first" "$makes"
changed "a second reference" 'struct node' "'references' differs (only the first has one at offset 8)" \
    'struct node { struct node tn_ref *next, *other; }; TN_TYPE(struct node, next, other);' "$first"
changed "a member less" 'struct node' "'size' differs (8 and 16)" \
    'struct node { struct node tn_ref *next; }; TN_TYPE(struct node, next);' "$first"
changed "another alignment" 'struct node' "'alignment' differs (16 and 8)" \
    'struct node { _Alignas(16) struct node tn_ref *next; long value; }; TN_TYPE(struct node, next);' "$first"
changed "no reference" 'struct node' "'kind' differs (leaf and fixed)" \
    'struct node { long next, value; }; TN_LEAF(struct node);' \
    'extern struct node first_node; long use(void) { return ((struct node tn_ref *)&first_node)->value; }'
changed "an array of numbers" 'struct nodes' "'kind' differs (leaf and references)" \
    "$node struct nodes { size_t length; long items[]; }; TN_ARRAY_OF_LEAVES(struct nodes, items);" "$first"
changed "an array behind more" 'struct nodes' "'size' differs (16 and 8)" \
    "$node struct nodes { size_t length, more; struct node tn_ref *items[]; };" \
    "TN_ARRAY_OF_REFERENCES(struct nodes, items);" "$first"

# A value may have another name than the type that the code calls it.
compiled 'struct list { struct list tn_ref *next; }; TN_TYPE(struct list, next);' "${first//struct node/struct list}"
refused "a type of another name" "another type 'struct node' than the saved objects: 'size' differs (8 and 16)" \
    with_objects --value 'tn_type_of_list=type:struct node'
succeeds "without the value it is another type" with_objects

# ---- what has not changed ----

compiled "$node $arrays" "$first" "$makes" 'struct own { long number; }; TN_LEAF(struct own);'
succeeds "the same types, and others" with_objects "${type[@]}"
succeeds "the same types, without values" with_objects
some "the image says what it was compiled with" "$("$tenon" inspect "$work/image" |
    grep -A 3 "^its code's types" | grep -c "^  'struct nodes\?', [a-z]*, [0-9]* bytes" | grep -x 2)"
main='int main(void) { return (int)use() % 99 + 1; }' # 100 nodes
compiled "$node" "$first"
succeeds "a program with them" "$tenon" build --kind=exe --objects "$work/heap" "${root[@]}" "${type[@]}" \
    -o "$work/exe" "$work/code.bc"
"$work/exe"
none "it runs" "$([ $? = 2 ] || echo no)"
