#include "device/ceilings.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "device/testing/fixture.h"

namespace burnish::device {
namespace {

using hardware::Ceiling;

class CeilingsOfPocl : public testing::PoclTest {};

TEST_F(CeilingsOfPocl, AreMeasuredInTime) {
  const auto started = std::chrono::steady_clock::now();
  const Result<std::vector<Ceiling>> ceilings = measure_ceilings(*device_, {3u << 20, 100'000});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  ASSERT_TRUE(ceilings.has_value()) << ceilings.error().to_string();
  for (const Ceiling& ceiling : *ceilings) {
    std::printf("%-24s %10s %s\n", ceiling.name.c_str(),
                with_prefix(ceiling.value, ceiling.unit).c_str(), ceiling.source.c_str());
    EXPECT_EQ(ceiling.kind, "measured");
    EXPECT_GT(ceiling.value, 1e7) << ceiling.name;
    EXPECT_LT(ceiling.value, 1e15) << ceiling.name;
    EXPECT_FALSE(ceiling.source.empty());
  }
  std::printf("in %.2f s\n", took.count());
  const Result<Ceiling> f32 = compute_ceiling(*ceilings, "f32");
  const Result<Ceiling> f64 = compute_ceiling(*ceilings, "f64");
  ASSERT_TRUE(f32.has_value() && f64.has_value());
  // One core of any CPU of the last decade does more than this with its vector unit, and no scalar
  // loop does.
  EXPECT_GT(f32->value, 20e9);
  EXPECT_GT(f32->value, 1.2 * f64->value);
  const Result<Ceiling> small = copy_ceiling(*ceilings, 100'000);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->name, "copy 97.7 KiB");
  EXPECT_EQ(copy_ceiling(*ceilings, 3u << 20)->name, "copy 3 MiB");
  EXPECT_EQ(copy_ceiling(*ceilings, 3u << 20, Caches::cold)->name, "copy 3 MiB cold");
}

TEST(ChoosingACeiling, TakesTheNearestSizeAndTheMathPath) {
  const std::vector<Ceiling> ceilings = {
      {"fma f32", "FLOP/s", 2e11, "measured", ""},
      {"tensor bf16", "FLOP/s", 9e14, "measured", ""},
      {"copy 64 KiB", "B/s", 1e11, "measured", ""},
      {"copy 64 KiB cold", "B/s", 2e10, "measured", ""},
      {"copy 1.5 MiB", "B/s", 8e10, "measured", ""},
      {"copy 2 GiB", "B/s", 3e10, "measured", ""},
      {"copy of nothing", "B/s", 1, "measured", ""},
      {"copy 3 bananas", "B/s", 1, "measured", ""},
  };
  EXPECT_EQ(copy_ceiling(ceilings, 1)->name, "copy 64 KiB");
  EXPECT_EQ(copy_ceiling(ceilings, 0)->name, "copy 64 KiB");
  EXPECT_EQ(copy_ceiling(ceilings, 1e6)->name, "copy 1.5 MiB");
  EXPECT_EQ(copy_ceiling(ceilings, 1e9)->name, "copy 2 GiB");
  EXPECT_EQ(copy_ceiling(ceilings, 1e9, Caches::cold)->name, "copy 64 KiB cold");
  EXPECT_EQ(copy_ceiling({ceilings[2]}, 1e9, Caches::cold)->name, "copy 64 KiB");
  EXPECT_FALSE(copy_ceiling({ceilings[0]}, 1e6).has_value());
  EXPECT_FALSE(copy_ceiling({ceilings[0]}, 1e6, Caches::cold).has_value());
  EXPECT_EQ(compute_ceiling(ceilings, "f32")->name, "fma f32");
  EXPECT_EQ(compute_ceiling(ceilings, "bf16-tensor")->name, "tensor bf16");
  EXPECT_EQ(compute_ceiling(ceilings, "f16")->name, "fma f32");
  const Result<Ceiling> none = compute_ceiling(ceilings, "f64");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::environment);
  EXPECT_TRUE(contains(none.error().message, "tensor bf16")) << none.error().message;
}

}  // namespace
}  // namespace burnish::device
