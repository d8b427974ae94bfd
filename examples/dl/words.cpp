/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library in C++, as any compiler makes it: it needs libstdc++ and libgcc_s. */

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

static std::map<std::string, int> counts; // has a constructor and a destructor

static int count_of(const std::string &word)
{
    auto found = counts.find(word);
    if (found == counts.end())
        throw std::out_of_range(word);
    return found->second;
}

extern "C" const char *words()
{
    static std::string answer;
    std::istringstream text("a rose is a rose is a rose");
    for (std::string word; text >> word;)
        counts[word]++;
    std::ostringstream out;
    try {
        out << count_of("rose") << " roses";
        int tulips = count_of("tulip");
        out << ", " << tulips << " tulips";
    } catch (const std::out_of_range &none) {
        out << ", no " << none.what();
    }
    answer = out.str();
    return answer.c_str();
}
