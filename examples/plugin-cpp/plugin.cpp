/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An ordinary C++ plugin: strings, containers and streams of the standard library, and exceptions both ways. */

#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

extern "C" int host_price(const char *article);

extern "C" int plugin_total(const char *order)
{
    std::map<std::string, int> articles;
    std::istringstream words(order);
    for (std::string word; words >> word;)
        articles[word]++;
    int total = 0;
    for (const auto &[article, count] : articles) {
        try {
            total += count * host_price(article.c_str());
        } catch (const std::out_of_range &error) {
            std::cout << "plugin: the host has " << error.what() << std::endl;
        }
    }
    if (!total)
        throw std::invalid_argument("an order of " + std::to_string(articles.size()) + " articles without a price");
    return total;
}
