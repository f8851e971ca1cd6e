// What a task's reference.cpp includes. It defines
//
//   void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out);
//
// with dims["M"] a whole number, in["A"] the elements of a tensor as doubles, row-major, and
// out["C"] where to write them. Every element of every output must be written. An exception is
// reported as the failure of the reference. burnish::parallel(n, f) calls f(i) for every i below n
// on all cores; f must not throw.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace burnish {

namespace detail {

template <class Map>
const typename Map::mapped_type& find(const Map& map, const std::string& name, const char* what) {
  auto found = map.find(name);
  if (found != map.end()) return found->second;
  std::string known;
  for (const auto& entry : map) known += (known.empty() ? "" : ", ") + entry.first;
  throw std::out_of_range("the task has no " + std::string(what) + " named '" + name +
                          "'; it has: " + (known.empty() ? "none" : known));
}

}  // namespace detail

class Dims {
 public:
  std::int64_t operator[](const std::string& name) const {
    return static_cast<std::int64_t>(detail::find(values, name, "dimension"));
  }
  // A dimension that is no whole number.
  double real(const std::string& name) const { return detail::find(values, name, "dimension"); }
  std::map<std::string, double> values;
};

class Inputs {
 public:
  const double* operator[](const std::string& name) const {
    return detail::find(values, name, "input").data();
  }
  std::int64_t size(const std::string& name) const {
    return static_cast<std::int64_t>(detail::find(values, name, "input").size());
  }
  std::map<std::string, std::vector<double>> values;
};

class Outputs {
 public:
  double* operator[](const std::string& name) {
    return const_cast<double*>(detail::find(values, name, "output").data());
  }
  std::int64_t size(const std::string& name) const {
    return static_cast<std::int64_t>(detail::find(values, name, "output").size());
  }
  std::map<std::string, std::vector<double>> values;
};

template <class Function>
void parallel(std::int64_t count, Function&& function) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (auto i = next++; i < count; i = next++) function(i);
  };
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::int64_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
}

}  // namespace burnish

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out);
