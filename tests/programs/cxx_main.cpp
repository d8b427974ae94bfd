// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What C++ asks of a linker: static constructors and destructors in order, templates in COMDAT groups, exceptions
// inside an object, across objects and through frames of the host, thread_local objects with constructors, several
// threads.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cxx.h"

static Noisy first("first"), second("second");

static void print_map()
{
    std::map<std::string, int> lengths;
    for (const char *word : {"tenon", "mortise", "peg"})
        lengths[word] = int(std::string(word).size());
    for (const auto &[word, length] : lengths)
        std::cout << word << '=' << length << ' ';
    std::cout << total(std::vector<double>{1, 2.5, 3}) << ' ' << total_elsewhere({4, 5, 6}) << '\n';
}

static void catch_in_place()
{
    try {
        std::vector<int>().at(4);
    } catch (const std::out_of_range &) {
        std::cout << "caught out_of_range\n";
    }
}

static void catch_across_objects()
{
    try {
        throw_elsewhere(3);
    } catch (const Refused &e) {
        std::cout << "caught " << e.what() << " with " << e.number << '\n';
    }
}

// qsort belongs to the host: the exception passes its frame.
static void catch_through_host()
{
    int numbers[] = {3, 1, 2};
    try {
        Noisy unwound("unwound");
        std::qsort(numbers, 3, sizeof *numbers, [](const void *, const void *) -> int { throw Refused(7); });
    } catch (const Refused &e) {
        std::cout << "caught " << e.number << " through qsort\n";
    }
}

static thread_local std::vector<int> mine{40};
static thread_local Counted counted;

static int use_threads()
{
    std::mutex lock;
    int sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            for (int k = 0; k < 1000; k++)
                mine.push_back(k);
            counted.touch();
            try {
                throw_elsewhere(i);
            } catch (const Refused &e) {
                mine.push_back(e.number);
            }
            std::lock_guard<std::mutex> held(lock);
            sum += int(mine.size()) + total(mine);
        });
    for (auto &thread : threads)
        thread.join();
    return sum;
}

int main(int argc, char **argv)
{
    std::cout << "main with " << argc - 1 << " arguments" << (argc > 1 ? std::string(" ") + argv[1] : "") << '\n';
    print_map();
    catch_in_place();
    catch_across_objects();
    catch_through_host();
    std::cout << use_threads() << ' ' << Counted::made << ' ' << Counted::gone << '\n';
    std::string text(1000, 'x');
    auto owner = std::make_unique<Noisy>("owned");
    std::printf("%zu\n", text.size());
    return 7;
}
