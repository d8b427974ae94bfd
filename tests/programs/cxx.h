// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What both objects of the C++ test share; its templates and inline functions are in both.

#pragma once

#include <atomic>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

struct Noisy {
    std::string name;
    explicit Noisy(const char *text) : name(text)
    {
        std::cout << "made " << name << '\n';
    }
    ~Noisy()
    {
        std::cout << "gone " << name << std::endl;
    }
};

struct Refused : std::runtime_error {
    int number;
    explicit Refused(int n) : std::runtime_error("refused " + std::to_string(n)), number(n)
    {
    }
};

struct Counted {
    static inline std::atomic<int> made{0}, gone{0};
    Counted()
    {
        made++;
    }
    ~Counted()
    {
        gone++;
    }
    void touch()
    {
    }
};

template <class T> T total(const std::vector<T> &values)
{
    T sum{};
    for (const T &value : values)
        sum += value;
    return sum;
}

void throw_elsewhere(int number);
double total_elsewhere(const std::vector<double> &values);
