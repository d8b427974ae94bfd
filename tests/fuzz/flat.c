/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a flat file: what is not refused can be shown, and compiled as a whole and in parts; what is written of
 * it again reads as the same text. */

#include <string.h>

#include "baseline/file/file.h"
#include "fuzz.h"
#include "holds.h"
#include "tenon_build.h"

static const struct tn_compile_observer nothing = {.size = sizeof nothing};

/* Whether all of it was compiled. */
static bool compile(const void *bytes, size_t size, int whole)
{
    static const unsigned char digest[32];
    const struct tn_compiler *compiler = tn_baseline_compiler();
    const struct tn_compile_options options = {.size = sizeof options};
    const struct tn_ir ir = {.size = sizeof ir,
                             .name = "module",
                             .bytes = bytes,
                             .length = size,
                             .whole = whole,
                             .digest = digest,
                             .stays = 1};
    const struct tn_module_description *description;
    void *module;
    if (compiler->open(compiler->context, &ir, &options, &module, &description, NULL))
        return false;
    bool all = true;
    for (uint32_t part = 0; all && part < description->parts; part++) {
        struct tn_buffer object = {0};
        struct tn_compile_stats stats = {.size = sizeof stats};
        const struct tn_part_request request = {
            .size = sizeof request, .part = part, .name = "part", .observer = &nothing, .stats = &stats};
        all = !compiler->compile(module, &request, &object, NULL);
        tn_buffer_free(&object);
    }
    compiler->close(module);
    return all;
}

static void write_again(const struct tn__flat_file *file, struct tn_buffer *out)
{
    struct tn__flat_writer w = {0};
    struct tn__flat flat = {0};
    const struct tn__flat_pointer *pointers = file->pointers;
    for (uint32_t i = 0; i < file->function_count; i++) {
        holds(!tn__flat_read_function(file, i, &flat, NULL));
        tn__flat_write_function(&w, file->functions[i].symbol, &flat);
    }
    for (uint32_t i = 0; i < file->data_count; pointers += file->data[i++].pointer_count)
        tn__flat_write_data(&w, &file->data[i], pointers);
    for (uint32_t i = 0; i < file->symbol_count; i++)
        tn__flat_write_symbol(&w, &file->symbols[i]);
    holds(!tn__flat_write_end(&w, out, NULL));
    tn__flat_free(&flat);
    tn__flat_writer_free(&w);
}

static void compare(const struct tn__flat_file *file, const struct tn_buffer *text)
{
    struct tn_buffer again = {0}, second_text = {0};
    struct tn__flat_file second;
    write_again(file, &again);
    holds(!tn__flat_read(again.data, again.size, &second, NULL));
    holds(!tn__flat_text(&second, &second_text, NULL));
    holds(second_text.size == text->size && !memcmp(second_text.data, text->data, text->size));
    tn__flat_file_free(&second);
    tn_buffer_free(&again);
    tn_buffer_free(&second_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tn__flat_file file;
    struct tn_buffer text = {0};
    if (!tn__flat_read(bytes, size, &file, NULL)) {
        if (!tn__flat_text(&file, &text, NULL))
            compare(&file, &text);
        holds(compile(bytes, size, 1) == compile(bytes, size, 0));
    }
    tn_buffer_free(&text);
    tn__flat_file_free(&file);
    return 0;
}
