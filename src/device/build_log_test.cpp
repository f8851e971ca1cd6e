#include "device/build_log.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace burnish::device {
namespace {

Source kernel() {
  Source source;
  source.language = "opencl";
  source.file = "kernel.cl";
  return source;
}

TEST(Diagnostics, AllCompilersAreUnderstood) {
  struct Case {
    const char* line;
    const char* place;
    const char* severity;
    const char* message;
  };
  const Case cases[] = {
      // PoCL 3.1
      {"error: kernel.cl:2:24: use of undeclared identifier 'x'", "kernel.cl:2:24", "error",
       "use of undeclared identifier 'x'"},
      {"warning: parts/a.h:1:159: implicit conversion", "parts/a.h:1:159", "warning",
       "implicit conversion"},
      // clang, gcc, the AMD and the Intel driver
      {"kernel.cl:7:3: fatal error: 'x.h' file not found", "kernel.cl:7:3", "error",
       "'x.h' file not found"},
      {"<kernel>:7:3: warning: unused variable 'a'", "kernel.cl:7:3", "warning",
       "unused variable 'a'"},
      {"input.cl:1:60: error: expected ';'", "kernel.cl:1:60", "error", "expected ';'"},
      // nvcc and NVRTC
      {"kernel.cl(12): error: identifier \"y\" is undefined", "kernel.cl:12", "error",
       "identifier \"y\" is undefined"},
      {"kernel.cl(3): warning #177-D: variable \"z\" was declared but never referenced",
       "kernel.cl:3", "warning", "variable \"z\" was declared but never referenced"},
      {"kernel.cl(1): catastrophic error: cannot open source file \"x.h\"", "kernel.cl:1", "error",
       "cannot open source file \"x.h\""},
      // ptxas
      {"ptxas error   : Entry function 'k' uses too much shared data (0x1a000 bytes)", "kernel.cl",
       "error", "Entry function 'k' uses too much shared data (0x1a000 bytes)"},
      {"ptxas /tmp/t.ptx, line 21; error   : Feature 'mma' requires .target sm_80", "kernel.cl",
       "error", "Feature 'mma' requires .target sm_80"},
  };
  for (const Case& one : cases) {
    const std::vector<Diagnostic> found = parse_diagnostics(one.line, kernel());
    ASSERT_EQ(found.size(), 1u) << one.line;
    EXPECT_EQ(found[0].place.to_string(), one.place) << one.line;
    EXPECT_EQ(found[0].severity, one.severity) << one.line;
    EXPECT_EQ(found[0].message, one.message) << one.line;
  }
}

TEST(Diagnostics, ProseIsNone) {
  EXPECT_TRUE(parse_diagnostics("Device pthread failed to build the program\n"
                                "1 error generated.\nptxas info    : 0 bytes gmem\n"
                                "    ^~~~\nsome:thing:else\n\n:::::\n(((\n12:\n",
                                kernel())
                  .empty());
}

TEST(Diagnostics, HostileLogsAreReadInTime) {
  std::string log(3u << 20, ':');
  for (std::size_t i = 0; i < log.size(); i += 3) log[i] = '1';
  EXPECT_LT(parse_diagnostics(log, kernel()).size(), 2u);
  EXPECT_TRUE(parse_diagnostics(std::string("error: \0:1:2", 11), kernel()).size() <= 1);
}

TEST(SourceNames, TemporariesBecomeTheUsersFiles) {
  Source source = kernel();
  source.also["parts/half.h"] = "";
  EXPECT_EQ(with_source_names("error: /tmp/x/pocl/tempfile_W9enM3.cl:1:2: a\n"
                              "error: /tmp/s/include/parts/half.h:3:4: b\n"
                              "In file included from ./include/parts/half.h:1:\n",
                              source, "/tmp/s/include"),
            "error: kernel.cl:1:2: a\nerror: parts/half.h:3:4: b\n"
            "In file included from parts/half.h:1:\n");
}

TEST(CompilerInput, MacrosComeFirstAndLinesStay) {
  Source source = kernel();
  source.macros = {{"TILE", "16"}, {"TYPE", "unsigned int"}};
  source.text =
      "\xef\xbb\xbf"
      "int a;";
  const Result<std::string> text = compiler_input(source);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, "#define TILE 16\n#define TYPE unsigned int\n#line 1 \"kernel.cl\"\nint a;\n");
  for (const char* name : {"", "4x", "A B", "A(x)", "A\nint b;"}) {
    source.macros = {{name, "1"}};
    EXPECT_FALSE(compiler_input(source).has_value()) << name;
  }
  source.macros = {{"A", "1\nint b;"}};
  EXPECT_FALSE(compiler_input(source).has_value());
}

TEST(Includes, StayInTheirFolder) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  Source source = kernel();
  source.also["deep/er/x.h"] = "int x;";
  ASSERT_TRUE(write_includes(source, folder->path() / "include").has_value());
  EXPECT_TRUE(real_file_system().exists(folder->path() / "include/deep/er/x.h"));
  for (const char* name : {"/etc/x.h", "../x.h", "a/../../x.h", ""}) {
    source.also = {{name, ""}};
    EXPECT_FALSE(write_includes(source, folder->path() / "include").has_value()) << name;
  }
}

TEST(BuildError, SaysTheFirstErrorAndShowsTheLog) {
  BuildReport report;
  report.log = "kernel.cl:2:1: warning: w\nkernel.cl:3:4: error: first\nkernel.cl:9:9: error: x\n";
  report.diagnostics = parse_diagnostics(report.log, kernel());
  const Error error = build_error(kernel(), report);
  EXPECT_EQ(error.kind, ErrorKind::refused);
  EXPECT_EQ(error.place->to_string(), "kernel.cl:3:4");
  EXPECT_EQ(error.message, "kernel.cl does not compile: first");
  EXPECT_EQ(error.hint, "1 more in the build log");
  EXPECT_TRUE(contains(error.to_string(), "warning: w"));
}

}  // namespace
}  // namespace burnish::device
