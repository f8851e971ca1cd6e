#include "device/cuda_tensor_map.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace burnish::device {
namespace {

struct Option {
  std::string_view name;
  int value;
  std::int64_t bytes;
};
constexpr std::array<Option, 4> kSwizzles = {
    {{"none", 0, 0}, {"32B", 1, 32}, {"64B", 2, 64}, {"128B", 3, 128}}};
constexpr std::array<Option, 3> kInterleaves = {{{"none", 0, 0}, {"16B", 1, 16}, {"32B", 2, 32}}};
constexpr std::array<Option, 4> kPromotions = {
    {{"none", 0, 0}, {"64B", 1, 64}, {"128B", 2, 128}, {"256B", 3, 256}}};
constexpr std::array<Option, 2> kFills = {{{"zero", 0, 0}, {"nan", 1, 0}}};

template <std::size_t N>
Result<Option> find(const std::array<Option, N>& options, const std::string& name,
                    const char* what) {
  for (const Option& option : options) {
    if (option.name == name || (name.empty() && option.value == 0)) return option;
  }
  return refused(fmt::format("a tensor map has no {} \"{}\"", what, name));
}

/// CUtensorMapDataType. Types that TMA does not know are moved as unsigned integers of their size.
int data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
      return 7;
    case DType::f16:
      return 6;
    case DType::bf16:
      return 9;
    case DType::i64:
      return 5;
    case DType::i32:
      return 3;
    case DType::i16:
      return 1;
    case DType::fp8e4m3:
    case DType::fp8e5m2:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 0;
  }
  return 0;
}

Error broken(const Argument::TensorMap& map, std::string rule) {
  return refused(fmt::format("the tensor map of \"{}\": {}", map.buffer, rule));
}

}  // namespace

Result<void> check_tensor_map(const Argument::TensorMap& map) {
  const std::size_t rank = map.shape.size();
  const auto size = static_cast<std::int64_t>(size_of(map.dtype));
  if (rank < 1 || rank > 5)
    return broken(map, fmt::format("{} dimensions, 1 to 5 are allowed", rank));
  for (const auto& [name, extents] :
       {std::pair{"strides", &map.strides}, std::pair{"box", &map.box},
        std::pair{"element strides", &map.element_strides}}) {
    if (extents->size() != rank) {
      return broken(map, fmt::format("{} {} for {} dimensions", extents->size(), name, rank));
    }
  }
  BURNISH_TRY_ASSIGN(const Option swizzle, find(kSwizzles, map.swizzle, "swizzle"));
  BURNISH_TRY_ASSIGN(const Option interleave, find(kInterleaves, map.interleave, "interleave"));
  BURNISH_TRY_ASSIGN(const Option promotion, find(kPromotions, map.l2_promotion, "L2 promotion"));
  BURNISH_TRY_ASSIGN(const Option fill, find(kFills, map.fill, "fill"));
  (void)promotion;
  if (fill.value == 1 && !is_floating(map.dtype)) {
    return broken(map, "only floating-point elements can be filled with NaN");
  }
  if (interleave.value != 0 && rank < 3) {
    return broken(map, "an interleaved map has at least 3 dimensions");
  }
  if (map.strides[0] != size) {
    return broken(map, fmt::format("the innermost stride is {} bytes, an element has {}",
                                   map.strides[0], size));
  }
  const std::int64_t granule = interleave.value == 2 ? 32 : 16;
  for (std::size_t i = 0; i < rank; ++i) {
    if (map.shape[i] < 1 || map.shape[i] > (std::int64_t{1} << 32)) {
      return broken(
          map, fmt::format("dimension {} has {} elements, 1 to 2^32 are allowed", i, map.shape[i]));
    }
    if (map.box[i] < 1 || map.box[i] > 256) {
      return broken(map,
                    fmt::format("the box has {} elements in dimension {}, 1 to 256 are allowed",
                                map.box[i], i));
    }
    if (map.element_strides[i] < 1 || map.element_strides[i] > 8) {
      return broken(
          map, fmt::format("an element stride of {}, 1 to 8 are allowed", map.element_strides[i]));
    }
    if (i > 0 && (map.strides[i] % granule != 0 || map.strides[i] < 1 ||
                  map.strides[i] >= (std::int64_t{1} << 40))) {
      return broken(map, fmt::format("the stride of dimension {} is {} bytes, which must be a "
                                     "multiple of {}",
                                     i, map.strides[i], granule));
    }
  }
  const std::int64_t inner = map.box[0] * size;
  if (interleave.value == 0 && inner % 16 != 0) {
    return broken(map,
                  fmt::format("the box is {} bytes wide, which must be a multiple of 16", inner));
  }
  if (interleave.value == 0 && swizzle.value != 0 && inner > swizzle.bytes) {
    return broken(map, fmt::format("the box is {} bytes wide, a swizzle of {} takes at most {}",
                                   inner, swizzle.name, swizzle.bytes));
  }
  if (interleave.value == 2 && swizzle.value != 1) {
    return broken(map, "an interleave of 32B needs a swizzle of 32B");
  }
  return {};
}

Result<cu::TensorMap> encode_tensor_map(const CudaApi& api, const Argument::TensorMap& map,
                                        cu::Pointer address) {
  BURNISH_TRY(check_tensor_map(map));
  if (api.tensor_map_encode_tiled == nullptr) {
    return environment_error("the NVIDIA driver is too old for tensor maps (CUDA 12.0)");
  }
  const std::size_t rank = map.shape.size();
  std::array<std::uint64_t, 5> shape{}, strides{};
  std::array<std::uint32_t, 5> box{}, element_strides{};
  for (std::size_t i = 0; i < rank; ++i) {
    shape[i] = static_cast<std::uint64_t>(map.shape[i]);
    if (i > 0) strides[i - 1] = static_cast<std::uint64_t>(map.strides[i]);
    box[i] = static_cast<std::uint32_t>(map.box[i]);
    element_strides[i] = static_cast<std::uint32_t>(map.element_strides[i]);
  }
  cu::TensorMap encoded{};
  const cu::Status status = api.tensor_map_encode_tiled(
      &encoded, data_type(map.dtype), static_cast<std::uint32_t>(rank),
      reinterpret_cast<void*>(address), shape.data(), strides.data(), box.data(),
      element_strides.data(), find(kInterleaves, map.interleave, "")->value,
      find(kSwizzles, map.swizzle, "")->value, find(kPromotions, map.l2_promotion, "")->value,
      find(kFills, map.fill, "")->value);
  if (status != cu::kSuccess) {
    return broken(map, "the driver does not accept it: " + cuda_error_text(api, status));
  }
  return encoded;
}

}  // namespace burnish::device
