#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "workspace/workspace.h"

namespace burnish::workspace::testing {

/// The fenced block below "<!-- example: NAME -->" in docs/workspace.md.
inline std::string documented(const std::string& name) {
  const auto page =
      real_file_system().read(fs::path(BURNISH_SOURCE_DIR) / "docs/workspace.md").value();
  const std::size_t mark = page.find("<!-- example: " + name + " -->");
  if (mark == std::string::npos) return "";
  const std::size_t begin = page.find('\n', page.find("```", mark)) + 1;
  return page.substr(begin, page.find("```", begin) - begin);
}

/// A task as small as one can be.
inline const std::string kTask = R"(name = "copy"
[kernel]
language = "opencl"
file = "kernel.cl"
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
name = "main"
dims = {N = 1024}
[[workload]]
name = "ragged"
dims = {N = 1000}
[work]
flops = 0
bytes = "8 * N"
[[tunable]]
name = "WIDTH"
values = [1, 2, 4, 8]
initial = 1
category = "vectorized-access"
[[tunable]]
name = "FAST"
values = [false, true]
initial = false
category = "unrolling"
[[tunable]]
name = "TYPE"
values = ["float", "float4"]
initial = "float"
category = "vectorized-access"
[[tunable]]
name = "SCALE"
values = [1.0, 0.5]
initial = 1.0
category = "algorithm"
[[constraint]]
when = "WIDTH <= 4 or FAST"
why = "wide copies need the fast path"
)";

inline const std::string kLaunch = R"toml([[kernel]]
name = "copy"
grid = ["ceil_div(N, 64 * WIDTH)"]
block = [64]
arguments = [{tensor = "x"}, {tensor = "y"}, {scalar = "N"}]
)toml";

inline const std::string kKernel = "kernel void copy(global float* x, global float* y, int n) {}\n";

/// The folder that a workspace is made from.
inline void write_source(const fs::path& folder) {
  auto& files = real_file_system();
  ASSERT_TRUE(files.write(folder / "burnish.toml", kTask));
  ASSERT_TRUE(files.write(folder / "launch.toml", kLaunch));
  ASSERT_TRUE(files.write(folder / "kernel.cl", kKernel));
  ASSERT_TRUE(files.write(folder / "reference.cpp", "// the truth\n"));
}

inline TaskSpec small_task() {
  auto task = parse_task(kTask, "burnish.toml");
  EXPECT_TRUE(task) << task.error().to_string();
  return *task;
}

/// One malformed text and what is said of it.
struct Malformed {
  const char* name;
  std::string from, to;  ///< what is replaced in a good text, and by what
  int line, column;      ///< 0: not checked
  const char* message;   ///< a part of the message or of the hint
};

inline std::string broken(const std::string& good, const Malformed& one) {
  EXPECT_TRUE(contains(good, one.from)) << one.name << ": " << one.from;
  const std::size_t at = good.find(one.from);
  return good.substr(0, at) + one.to + good.substr(at + one.from.size());
}

template <class T>
void expect_malformed(const Result<T>& result, const Malformed& one, const std::string& file) {
  ASSERT_FALSE(result) << one.name;
  const Error& error = result.error();
  EXPECT_EQ(error.kind, ErrorKind::bad_input) << one.name;
  ASSERT_TRUE(error.place) << one.name << ": " << error.to_string();
  EXPECT_EQ(error.place->file, file) << one.name;
  if (one.line > 0) {
    EXPECT_EQ(error.place->line, one.line) << one.name << ": " << error.to_string();
  }
  if (one.column > 0) {
    EXPECT_EQ(error.place->column, one.column) << one.name << ": " << error.to_string();
  }
  EXPECT_TRUE(contains(error.to_string(), one.message)) << one.name << ": " << error.to_string();
}

}  // namespace burnish::workspace::testing
