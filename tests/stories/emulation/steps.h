#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace burnish::emulation {

/// An argument of a kernel: the buffer or the struct, or a number.
struct Argument {
  void* pointer = nullptr;
  double number = 0;
};
using Kernel = std::function<void(const std::vector<Argument>&)>;
/// What stands in a kernel's tensor map: bf16, innermost dimension first.
struct alignas(64) TensorMap {
  unsigned short* data = nullptr;
  std::array<std::int64_t, 3> shape{}, box{};
  std::array<char, 72> rest{};
};
static_assert(sizeof(TensorMap) == 128);
/// Step → its kernels by name.
using Steps = std::map<std::string, std::map<std::string, Kernel>>;
using Values = std::map<std::string, std::vector<double>>;

// Compiled for 256 threads, and for 64 and 128 experts.
Steps depthwise_conv3d_hip(int threads);
Steps depthwise_conv3d_cuda(int threads);
Steps topk_sigmoid_hip(int experts);
Steps topk_sigmoid_cuda(int experts);

/// The examples' references; `out` has the right sizes.
void reference_depthwise(const std::map<std::string, double>& dims, const Values& in, Values& out);
void reference_topk(const std::map<std::string, double>& dims, const Values& in, Values& out);

/// A kernel that takes its parameters from a list of arguments.
template <class... Parameters>
Kernel kernel_of(void (*function)(Parameters...)) {
  return [function](const std::vector<Argument>& arguments) {
    const auto take = [&]<class P>(std::type_identity<P>, std::size_t i) -> P {
      if constexpr (std::is_pointer_v<P>)
        return static_cast<P>(arguments.at(i).pointer);
      else if constexpr (std::is_class_v<P>)
        return *static_cast<const P*>(arguments.at(i).pointer);
      else
        return static_cast<P>(arguments.at(i).number);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      function(take(std::type_identity<Parameters>{}, I)...);
    }(std::index_sequence_for<Parameters...>{});
  };
}

}  // namespace burnish::emulation
