/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Names as the source spells them: LLVM's demangler, and Rust's older names, which are those of C++ with a hash and
 * escapes (rustc-demangle, "legacy"). */

#include "codegen/llvm/demangle.h"

#include <cstring>
#include <new>
#include <string>

#include "llvm/Demangle/Demangle.h"

using namespace llvm;

namespace {

const struct {
    const char *escape, *text;
} escapes[] = {{"$SP$", "@"},  {"$BP$", "*"},  {"$RF$", "&"},  {"$LT$", "<"},  {"$GT$", ">"},  {"$LP$", "("},
               {"$RP$", ")"},  {"$C$", ","},   {"..", "::"},   {"$u20$", " "}, {"$u27$", "'"}, {"$u5b$", "["},
               {"$u5d$", "]"}, {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u7e$", "~"}, {"$u3b$", ";"}, {"$u2b$", "+"}};

/* "::h" and 16 hexadecimal digits. */
bool has_hash(const std::string &name)
{
    constexpr size_t digits = 16, size = digits + 3;
    return name.size() > size && name.compare(name.size() - size, 3, "::h") == 0 &&
           name.find_first_not_of("0123456789abcdef", name.size() - digits) == std::string::npos;
}

std::string unescape(const std::string &name)
{
    std::string text;
    for (size_t at = 0; at < name.size();) {
        size_t before = at;
        if (name[at] == '_' && name[at + 1] == '$' && (!at || name[at - 1] == ':'))
            at++;
        for (const auto &row : escapes) {
            if (name.compare(at, std::strlen(row.escape), row.escape) != 0)
                continue;
            text += row.text;
            at += std::strlen(row.escape);
            break;
        }
        if (at == before)
            text += name[at++];
    }
    return text;
}

} // namespace

bool tn__llvm_demangle(const char *name, size_t length, char *text, size_t size)
{
    constexpr size_t hash = 19;
    try {
        std::string result;
        if (!nonMicrosoftDemangle(std::string_view(name, length), result))
            return false;
        if (has_hash(result))
            result = unescape(result.substr(0, result.size() - hash));
        size_t copied = result.size() < size ? result.size() : size - 1;
        std::memcpy(text, result.data(), copied);
        text[copied] = '\0';
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    }
}
