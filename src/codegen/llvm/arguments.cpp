/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's own options, for the tool. They are variables of the whole process, and LLVM ends it where it does not know
 * one, so names are looked up first. */

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include "codegen/llvm/arguments.h"

using namespace llvm;

/* What would print and end the process. */
static const char *const refused[] = {"help", "help-hidden", "help-list", "help-list-hidden", "version", "h"};

static std::string taken;
static StringSet<> names;

const char *tn__llvm_arguments_taken()
{
    return taken.c_str();
}

bool tn__llvm_arguments(const char *text, void (*unknown)(const char *argument), char *message, size_t size)
{
    SmallVector<StringRef, 8> words;
    StringRef(text).split(words, ' ', -1, /*KeepEmpty=*/false);
    std::vector<std::string> kept = {"TENON_LLVM_ARGS"};
    auto &known = cl::getRegisteredOptions();
    for (StringRef word : words) {
        StringRef name = word.ltrim('-').split('=').first;
        if (word.starts_with("-") && known.contains(name) && !is_contained(refused, name))
            kept.push_back(word.str());
        else
            unknown(word.str().c_str());
    }
    if (kept.size() == 1)
        return true;
    std::vector<const char *> argv;
    for (const std::string &word : kept)
        argv.push_back(word.c_str());
    std::string problems;
    raw_string_ostream stream(problems);
    bool good = cl::ParseCommandLineOptions(static_cast<int>(argv.size()), argv.data(), "", &stream);
    taken = join(drop_begin(kept), " ");
    for (const std::string &word : drop_begin(kept))
        names.insert(StringRef(word).ltrim('-').split('=').first);
    strncpy(message, problems.c_str(), size - 1);
    message[size - 1] = '\0';
    return good;
}

const char *tn__llvm_argument_unknown()
{
    for (const auto &option : cl::getRegisteredOptions())
        if (option.second->getNumOccurrences() && !names.contains(option.first))
            return option.first.data();
    return nullptr;
}
