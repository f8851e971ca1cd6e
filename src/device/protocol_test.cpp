#include "device/protocol.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace burnish::device {
namespace {

TEST(Frames, HeadsAreBounded) {
  const std::string frame = encode_frame("{}", "abc");
  ASSERT_EQ(frame.size(), kFrameHead + 5);
  const Result<FrameSizes> sizes = decode_frame_head(frame.substr(0, kFrameHead));
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(sizes->json, 2u);
  EXPECT_EQ(sizes->attachment, 3u);
  EXPECT_FALSE(decode_frame_head(std::string(8, '\xff')).has_value());
  EXPECT_FALSE(decode_frame_head("short").has_value());
}

TEST(Messages, PlansSurviveWithEveryKindOfArgument) {
  KernelLaunch launch;
  launch.kernel = "k";
  launch.grid = {7, 8, 9};
  launch.block = {32, 2, 1};
  launch.cluster = {2, 1, 1};
  launch.shared_bytes = 100'000;
  Argument::TensorMap map;
  map.buffer = "x";
  map.dtype = DType::bf16;
  map.shape = {64, 128};
  map.strides = {256};
  map.box = {64, 8};
  map.element_strides = {1, 1};
  map.swizzle = "128B";
  map.interleave = "none";
  map.l2_promotion = "256B";
  map.fill = "zero";
  launch.arguments = {{Argument::Pointer{"x"}},
                      {Argument::Scalar{DType::f32, -std::numeric_limits<double>::infinity()}},
                      {Argument::Scalar{DType::f64, 0.1}},
                      {Argument::Local{4096}},
                      {Argument::Bytes{{std::byte{0}, std::byte{255}, std::byte{16}}}},
                      {map}};
  LaunchPlan plan;
  plan.launches = {launch, launch};
  const Result<Json> read = parse_json(dump_json_line(to_json(plan)), "test");
  ASSERT_TRUE(read.has_value());
  const Result<LaunchPlan> again = plan_from(*read);
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(dump_json_line(to_json(*again)), dump_json_line(to_json(plan)));
  const KernelLaunch& got = again->launches.at(1);
  EXPECT_EQ(got.grid, launch.grid);
  EXPECT_EQ(got.cluster, launch.cluster);
  EXPECT_EQ(std::get<Argument::Scalar>(got.arguments.at(1).value).value,
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<Argument::Scalar>(got.arguments.at(2).value).value, 0.1);
  EXPECT_EQ(std::get<Argument::Bytes>(got.arguments.at(4).value).bytes,
            std::get<Argument::Bytes>(launch.arguments.at(4).value).bytes);
  EXPECT_EQ(std::get<Argument::TensorMap>(got.arguments.at(5).value).strides, map.strides);
}

TEST(Messages, ErrorsSurvive) {
  const Error error = refused("no").at({"kernel.cl", 3, 4}).with_hint("try").in("outer");
  const Error again = error_from(error_json(error).at("error"));
  EXPECT_EQ(again.kind, ErrorKind::refused);
  EXPECT_EQ(again.to_string(), error.to_string());
}

TEST(Messages, ImplausibleTimesAreRefused) {
  Times times;
  times.device_seconds = 1e-3;
  times.launch_seconds = {1e-3};
  times.timer = "test";
  ASSERT_TRUE(times_from(to_json(times)).has_value());
  times.device_seconds = -1;
  EXPECT_FALSE(times_from(to_json(times)).has_value());
  times.device_seconds = 1;
  times.launch_seconds = {-1e-9};
  EXPECT_FALSE(times_from(to_json(times)).has_value());
  // JSON has no infinity: it arrives as null.
  times.launch_seconds = {std::numeric_limits<double>::infinity()};
  EXPECT_FALSE(times_from(Json::parse(to_json(times).dump())).has_value());
}

TEST(Messages, ForeignFormsAreErrors) {
  for (const char* text : {"{}", "[]", "3", "{\"launches\": [{}]}", "{\"launches\": {\"a\": 1}}",
                           "{\"launches\": [{\"kernel\": \"k\", \"grid\": [1, 2]}]}"}) {
    const Result<Json> json = parse_json(text, "test");
    ASSERT_TRUE(json.has_value()) << text;
    EXPECT_FALSE(times_from(*json).has_value()) << text;
    EXPECT_FALSE(outcome_from(*json).has_value()) << text;
    EXPECT_FALSE(device_info_from(*json).has_value()) << text;
    if (std::string_view(text) != "{}") {
      EXPECT_FALSE(plan_from(*json).has_value()) << text;
    }
  }
}

}  // namespace
}  // namespace burnish::device
