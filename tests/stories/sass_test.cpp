// What the SASS of the two stories says, step by step: examples/depthwise_conv3d/cuda and
// examples/topk_sigmoid/cuda for sm_90a. Needs nvcc, and nvdisasm or cuobjdump, but no GPU; no time
// is claimed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "device/cuda_compile.h"
#include "report/demo.h"
#include "story.h"

namespace burnish::stories {
namespace {

using testing::ElementsAre;

constexpr char kArch[] = "sm_90";
/// The compiler that the tables in docs/case-studies are made with; numbers are exact for this one.
constexpr char kTablesBy13[] = "nvcc 13.0 Build cuda_13.0.r13.0/compiler.36424714_0";

template <const char* kExample>
class SassTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda_compiler_identity().starts_with("nvcc"))
      GTEST_SKIP() << "no nvcc and host compiler on PATH";
    if (!find_program({"nvdisasm", "cuobjdump"}, {"/usr/local/cuda/bin"}))
      GTEST_SKIP() << "neither nvdisasm nor cuobjdump on PATH";
  }
  static Story& story() {
    static Story story = Story::read(kExample, "cuda", {});
    return story;
  }
  static const Compiled& step(const std::string& name) { return story().compiled(name, kArch); }
  static std::int64_t lanes(const Compiled& at, const char* kind) {
    const auto found = at.kernel.cross_lane.find(kind);
    return found == at.kernel.cross_lane.end() ? 0 : found->second;
  }
  static void hold_table(const std::string& what) {
    if (device::cuda_compiler_identity() != kTablesBy13) return;
    const std::string text = fmt::format(
        "nvcc 13.0, {}. From `instructions` on one turn of the hot loop is counted, but for what "
        "moves between lanes.\n\n{}",
        what, report::markdown(report::machine_code(story().all({kArch}))));
    const fs::path page =
        fs::path(BURNISH_SOURCE_DIR) / "docs/case-studies" / fmt::format("{}.md", kExample);
    EXPECT_EQ(differs(page, "SASS", text), "");
  }
};

constexpr char kTopK[] = "topk_sigmoid", kDepthwise[] = "depthwise_conv3d";
using TopKSass = SassTest<kTopK>;
using DepthwiseSass = SassTest<kDepthwise>;

TEST_F(TopKSass, WhatMovesBetweenLanes) {
  EXPECT_THAT(story().steps(),
              ElementsAre("00", "01-shared", "02-shuffle", "03-packed-key", "04-rows-a-warp",
                          "05-sorted-lanes", "06-merged-lists", "07-groups"));
  EXPECT_GT(step("00").metric("isa.loop.vmem_load"), 0);

  const auto& shared = step("01-shared");
  EXPECT_EQ(shared.metric("isa.loop.vmem_load"), 0);
  EXPECT_GT(shared.metric("isa.loop.lds_store"), 0);
  EXPECT_GT(shared.metric("isa.loop.barrier"), 0);
  EXPECT_EQ(lanes(shared, "shuffle") + lanes(shared, "redux"), 0);

  const auto& shuffle = step("02-shuffle");
  EXPECT_EQ(shuffle.metric("isa.lds_load") + shuffle.metric("isa.lds_store"), 0);
  EXPECT_GT(lanes(shuffle, "shuffle"), 0);
  EXPECT_EQ(lanes(shuffle, "shuffle") % 10, 0) << "five steps of value and index";
  EXPECT_LT(shuffle.metric("isa.loop.instructions"), shared.metric("isa.loop.instructions"));

  // One word of logit and index, reduced by the hardware; rounds are unrolled.
  for (const char* name : {"03-packed-key", "05-sorted-lanes"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(lanes(step(name), "shuffle"), 0);
    EXPECT_GT(lanes(step(name), "redux"), 0);
    EXPECT_EQ(step(name).metric("isa.lds_load"), 0);
  }
  // Four exchanges of one word among the 16 lanes of a row; two rows and more a warp have no redux.
  const auto& rows = step("04-rows-a-warp");
  EXPECT_EQ(lanes(rows, "redux"), 0);
  EXPECT_GT(lanes(rows, "shuffle"), 0);
  EXPECT_EQ(lanes(rows, "shuffle") % 4, 0);
  for (const char* name : {"04-rows-a-warp", "06-merged-lists", "07-groups"})
    EXPECT_GT(step(name).metric("isa.global_load_bits.128"), 0) << name;
}

TEST_F(TopKSass, Table) { hold_table("rows of 128 logits"); }

TEST_F(DepthwiseSass, WhatFeedsTheArithmetic) {
  EXPECT_GE(step("01-channels-last").metric("isa.global_load_bits.128"), 1);
  const auto& tile = step("02-shared-tile");
  const auto& rows = step("03-row-interleave");
  const auto per_fma = [](const Compiled& at) {
    return at.metric("isa.loop.lds_load") / at.metric("isa.loop.fma");
  };
  EXPECT_LT(per_fma(rows), 0.3 * per_fma(tile));
  EXPECT_LT(rows.metric("registers.used"), tile.metric("registers.used"));
  EXPECT_EQ(step("04-hints").metric("registers.used"), rows.metric("registers.used"));

  // 4 reads of shared memory a product; then a fragment serves nine, and with whole planes in
  // registers first 24 reads serve 36.
  EXPECT_EQ(step("06-sliding-planes").metric("isa.loop.lds_load"),
            4 * step("06-sliding-planes").metric("isa.loop.mma"));
  for (const char* name : {"07-rows-and-columns", "08-contiguous-planes"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(step(name).metric("isa.loop.mma"), 3 * 36);
    EXPECT_EQ(step(name).metric("isa.loop.lds_load"), 3 * 24);
    EXPECT_EQ(step(name).metric("isa.loop.tma_loads"), 3);
    EXPECT_EQ(step(name).kernel.spill_bytes, 0);
  }
  EXPECT_EQ(step("07-rows-and-columns").metric("isa.loop.tma_stores"), 3);
  EXPECT_EQ(step("08-contiguous-planes").metric("isa.loop.lds_store"), 0);
}

TEST_F(DepthwiseSass, Table) { hold_table("256 threads a block"); }

}  // namespace
}  // namespace burnish::stories
