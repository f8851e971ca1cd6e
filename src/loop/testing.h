#pragma once

// For tests: a workspace whose kernel runs on the fake device, with rules that always find the two
// categories that its tunables answer.

#include <cstdlib>
#include <memory>
#include <string>

#include "loop/loop.h"
#include "loop/subject.h"
#include "measure/fake_device.h"

namespace burnish::loop {

inline const char* const kTask = R"(name = "scale"
description = "y = 2 x"
[kernel]
language = "opencl"
file = "kernel.cl"
launch = "launch.toml"
[reference]
file = "reference.cpp"
[[tensor]]
name = "x"
dtype = "f32"
shape = ["N"]
role = "in"
[[tensor]]
name = "y"
dtype = "f32"
shape = ["N"]
role = "out"
[[workload]]
name = "small"
dims = {N = 96}
[work]
flops = "N"
bytes = "8 * N"
math = "f32"
[stop]
speedup = 1000
max_iterations = 8
[[tunable]]
name = "VEC"
values = [1, 2, 4]
initial = 1
category = "vectorized-access"
[[tunable]]
name = "TILE"
values = [1, 2]
initial = 1
category = "tiling"
)";

inline const char* const kLaunch = R"([[kernel]]
name = "scale"
grid = ["N"]
block = [1]
arguments = [{tensor = "x"}, {tensor = "y"}, {scalar = "N", dtype = "i32"}]
)";

inline const char* const kReference = R"(#include "burnish_reference.h"
void reference(const burnish::Dims& d, const burnish::Inputs& in, burnish::Outputs& out) {
  for (auto i = 0 * d["N"]; i < d["N"]; ++i) out["y"][i] = 2 * in["x"][i];
}
)";

inline const char* const kRules = R"([[rule]]
id = "narrow"
category = "vectorized-access"
severity = "high"
needs = ["time.device"]
when = "time.device > 0"
headroom = "4"
because = "one element at a time"
action = "use vectors"
cards = ["explicit-vector-types"]
source = "test"
[[rule]]
id = "untiled"
category = "tiling"
severity = "high"
needs = ["time.device"]
when = "time.device > 0"
headroom = "3"
because = "no reuse"
action = "tile"
cards = ["tile-for-cache"]
source = "test"
)";

inline const char* const kCeilings = R"([
 {"name": "copy 4 KiB", "unit": "B/s", "value": 1e8, "kind": "measured", "source": "test"},
 {"name": "fma f32", "unit": "FLOP/s", "value": 1e9, "kind": "measured", "source": "test"}
])";

/// VEC = 4 doubles the speed, TILE = 2 triples it; `wrong` makes every VEC above 1 compute
/// nonsense.
class ScaleDevice : public measure::FakeDevice {
 public:
  ScaleDevice() {
    time = [](const std::string& program, const device::RunRequest& request) {
      const double vec = program.find("VEC=4") != std::string::npos   ? 2
                         : program.find("VEC=2") != std::string::npos ? 1.5
                                                                      : 1;
      const double tile = program.find("TILE=2") != std::string::npos ? 3 : 1;
      return 1e-3 / vec / tile * request.repetitions;
    };
  }
  bool wrong = false;

  Result<std::unique_ptr<device::Session>> open(const device::Source& source,
                                                const device::Limits& limits) override {
    device::Source named = source;
    for (const auto& [name, value] : source.macros) named.text += " " + name + "=" + value;
    const bool spoil = wrong && named.text.find("VEC=1") == std::string::npos;
    if (source.macros.contains("VEC"))
      programs[named.text] = {{"scale", [spoil](const measure::FakeCall& call) -> Result<void> {
                                 const float* x = call.pointer<float>(0);
                                 float* y = call.pointer<float>(1);
                                 for (std::int64_t i = 0; i < call.integer(2); ++i)
                                   y[i] = spoil && i == 5 ? 0 : 2 * x[i];
                                 return {};
                               }}};
    return FakeDevice::open(named, limits);
  }
};

class SilentObserver : public Observer {
 public:
  void stage(Stage, int) override {}
  void note(const std::string& text) override { notes.push_back(text); }
  void progress(const std::string&) override {}
  std::vector<std::string> notes;
};

/// Everything a loop test needs, in a temporary folder.
class Scene {
 public:
  ~Scene() { unsetenv("BURNISH_DATA"); }
  Scene()
      : folder_(TemporaryFolder::make("burnish-loop").value()),
        override_((setenv("BURNISH_DATA", (folder_.path() / "data").c_str(), 1), write_data(), 0)),
        cards(knowledge::CardBase::load().value()),
        rules(evidence::Rules::load().value()),
        random(7) {}

  Tools tools() { return {device, cards, rules, random, observer}; }
  fs::path workspace() const { return folder_.path() / "w"; }
  fs::path folder() const { return folder_.path(); }
  /// Makes the workspace, with ceilings as if they were measured: the fake device has none.
  void create() {
    auto made = workspace::Workspace::create(workspace(), folder_.path() / "task", {});
    if (!made) throw std::runtime_error(made.error().to_string());
    const auto file = ceilings_file(*made, device.info());
    if (!file || !real_file_system().write(*file, kCeilings))
      throw std::runtime_error("cannot write the ceilings");
  }

 private:
  void write_data() {
    auto& files = real_file_system();
    const auto put = [&](const fs::path& path, const char* text) {
      if (!files.write(folder_.path() / path, text)) throw std::runtime_error("cannot write");
    };
    put("task/burnish.toml", kTask);
    put("task/kernel.cl", "scale kernel\n");
    put("task/launch.toml", kLaunch);
    put("task/reference.cpp", kReference);
    put("data/rules/cpu.toml", kRules);
    put("data/rules/common.toml", "");
  }
  TemporaryFolder folder_;
  int override_;

 public:
  ScaleDevice device;
  knowledge::CardBase cards;
  evidence::Rules rules;
  measure::FixedRandom random;
  SilentObserver observer;
};

}  // namespace burnish::loop
