/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's own options. They are variables of the whole process, and LLVM ends it where it does not know one or its
 * value, so names are looked up first, and values are set under tn__contain. */

#include <atomic>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include "codegen/llvm/arguments.h"
#include "codegen/llvm/fatal.h"

using namespace llvm;

static std::string taken;
static StringSet<> names;
static std::atomic<bool> settled;

const char *tn__llvm_arguments_taken()
{
    return taken.c_str();
}

void tn__llvm_arguments_settle()
{
    settled = true;
}

const char *tn__llvm_argument_unknown()
{
    for (const auto &option : cl::getRegisteredOptions())
        if (option.second->getNumOccurrences() && !names.contains(option.first))
            return option.first.data();
    return nullptr;
}

/* ---- options without effect ---- */

/* "NAME*" stands for all names that begin so. */
struct row {
    const char *name, *why;
};

static const char ends[] = "it prints and ends the program", timed[] = "observers time passes, --time-passes in tenon",
                  told[] = "observers get remarks, --remarks in tenon", uncounted[] = "releases of LLVM count nothing",
                  unread[] = "no part of LLVM that Tenon runs reads it";

static const row without_effect[] = {
    {"help*", ends},
    {"h", ends},
    {"version", ends},
    {"time-passes*", timed},
    {"sort-timers", timed},
    {"track-memory", timed},
    {"info-output-file", timed},
    {"pass-remarks*", told},
    {"stats*", uncounted},
    {"enable-machine-outliner", "the machine outliner is always off"},
    {"emit-bb-hash", "blocks are not hashed"},
    {"agg-antidep-debugdiv", unread},
    {"asan-debug", unread},
    {"asan-instrument-address-spaces", unread},
    {"callgraph-*", unread},
    {"cdsort-*", unread},
    {"cfg-*", unread},
    {"crash-diagnostics-dir", unread},
    {"ctx-profile-printer-level", unread},
    {"da-*", unread},
    {"enable-memprof-indirect-call-support", unread},
    {"enable-name-compression", unread},
    {"enable-vtable-*", unread},
    {"generate-merged-base-profiles", unread},
    {"icp-max-prom", unread},
    {"icp-minimum-count-threshold", unread},
    {"icp-remaining-percent-threshold", unread},
    {"icp-total-percent-threshold", unread},
    {"import-constants-with-refs", unread},
    {"ir-sim-calls-by-name", unread},
    {"ir2vec-*", unread},
    {"misched-dump-schedule-trace*", unread},
    {"module-summary-*", unread},
    {"no-ir-sim-*", unread},
    {"no-warn-sample-unused", unread},
    {"only-simple-regions", unread},
    {"pipeliner-show-mask", unread},
    {"postra-sched-debugdiv", unread},
    {"profile-isfs", unread},
    {"profile-symbol-list-cutoff", unread},
    {"propagate-attrs", unread},
    {"sample-profile-check-*", unread},
    {"sample-profile-max-propagate-iterations", unread},
    {"simplify-mir", unread},
    {"static-func-*", unread},
    {"use-ctx-profile", unread},
    {"verify-loop-lcssa", unread},
};

static bool matches(const row &row, StringRef name)
{
    StringRef pattern = row.name;
    return pattern.consume_back("*") ? name.starts_with(pattern) : name == pattern;
}

/* ---- setting ---- */

namespace {
struct request {
    const char *text;
    void (*ignored)(void *context, const char *reason);
    void *context;
    tn_error *err;
};
} // namespace

/* What is wrong with an option, or "". */
static std::string reason_against(StringRef word)
{
    StringRef name = word.ltrim('-').split('=').first;
    if (!word.starts_with("-") || !cl::getRegisteredOptions().contains(name))
        return "LLVM has no option '" + word.str() + "'";
    const row *found = find_if(without_effect, [name](const row &row) { return matches(row, name); });
    return found == std::end(without_effect) ? ""
                                             : "LLVM's option '" + word.str() + "' has no effect (" + found->why + ")";
}

static bool set_one(const std::string &word)
{
    const char *const argv[] = {"LLVM", word.c_str()};
    std::string problems; /* but not those of values, which LLVM prints */
    raw_string_ostream stream(problems);
    if (!cl::ParseCommandLineOptions(2, argv, "", &stream))
        return false;
    taken += (taken.empty() ? "" : " ") + word;
    names.insert(StringRef(word).ltrim('-').split('=').first);
    return true;
}

static int set_all(void *context)
{
    auto &request = *static_cast<struct request *>(context);
    SmallVector<StringRef, 8> words;
    StringRef(request.text).split(words, ' ', -1, /*KeepEmpty=*/false);
    if (!words.empty() && settled)
        return tn__fail(request.err, TN_EINVAL, "LLVM's options are set before anything is compiled");
    for (StringRef word : words) {
        std::string reason = reason_against(word);
        if (reason.empty() && !set_one(word.str()))
            return tn__fail(request.err, TN_EINVAL, "LLVM's option '%s' does not take this value", word.str().c_str());
        if (!reason.empty() && request.ignored)
            request.ignored(request.context, reason.c_str());
    }
    return 0;
}

int tn_codegen_llvm_options(const char *text, void (*ignored)(void *context, const char *reason), void *context,
                            tn_error *err)
{
    request request = {text ? text : "", ignored, context, err};
    int code = tn__contain(set_all, &request, err);
    return code == TN_EFATAL ? TN_EINVAL : code; /* some options end the process where they do not take a value */
}
