#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "device/device.h"
#include "device/executor.h"

namespace burnish::device {

// What the judge's process and a worker say to each other: frames over the worker's standard input
// and output. A frame is two little-endian u32 (bytes of JSON, bytes of attachment), the JSON
// object, the attachment. Each request has one reply, `{…}` or `{"error": {…}}`; `launch` has
// progress frames before its reply. Contents of buffers go through a shared memory file instead.
//
// A worker may run hostile machine code, so the judge believes nothing that a reply says beyond its
// form: lengths are bounded, numbers are checked, and what decides is computed from bytes read
// back.

constexpr std::size_t kFrameHead = 8;
constexpr std::uint64_t kLargestJson = 64u << 20;
constexpr std::uint64_t kLargestAttachment = 512u << 20;
/// The number under which a worker finds the shared memory file.
constexpr int kSharedMemory = 3;

std::string encode_frame(std::string_view json, std::string_view attachment);

struct FrameSizes {
  std::uint32_t json = 0, attachment = 0;
};
Result<FrameSizes> decode_frame_head(std::string_view head);

Json to_json(const DeviceInfo& info);
Json to_json(const Source& source);
Json to_json(const LaunchPlan& plan);
Json to_json(const std::vector<Placement>& placements);
Json to_json(const BuildOutcome& outcome);
Json to_json(const Times& times);
Json to_json(const MetricSet& metrics);

Result<DeviceInfo> device_info_from(const Json& json);
Result<Source> source_from(const Json& json);
Result<LaunchPlan> plan_from(const Json& json);
Result<std::vector<Placement>> placements_from(const Json& json);
Result<BuildOutcome> outcome_from(const Json& json);
Result<Times> times_from(const Json& json);
Result<MetricSet> metrics_from(const Json& json);
Error error_from(const Json& json);

}  // namespace burnish::device
