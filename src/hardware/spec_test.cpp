#include "hardware/spec.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "base/text.h"

namespace burnish::hardware {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Sources one_source() {
  Sources sources;
  EXPECT_TRUE(
      sources.add("[sheet]\ntitle = \"Sheet\"\naddress = \"https://x.org\"\ndate = \"2025\"\n",
                  "sources.toml"));
  return sources;
}

std::string card(const std::string& values) {
  return "id = \"x\"\nname = \"X\"\naliases = []\nvendor = \"generic\"\narch = \"cpu\"\nfamily = "
         "\"cpu\"\nvalue = [\n" +
         values + "]\n";
}

std::string value(const std::string& name, const std::string& number) {
  return "{ name = \"" + name + "\", value = " + number +
         ", unit = \"1\", kind = \"datasheet\", source = \"sheet\" },\n";
}

TEST(Spec, EveryCardIsReadAndHoldsToPhysics) {
  const auto specs = load_specs();
  ASSERT_TRUE(specs) << specs.error().to_string();
  EXPECT_GE(specs->size(), 23u);
  for (const Spec& spec : *specs) {
    EXPECT_THAT(check_physics(spec), IsEmpty()) << spec.file;
    for (const SpecValue& entry : spec.values) {
      EXPECT_FALSE(entry.source.empty()) << spec.id << " " << entry.name;
      EXPECT_THAT(spec_kinds(), Contains(entry.kind)) << spec.id << " " << entry.name;
    }
  }
}

// Each row is a trap of existing tables (sparse as dense, another product's row, a wrong cache).
TEST(Spec, FiguresThatOtherTablesGetWrong) {
  const auto at = [](const char* gpu, const char* name) {
    const auto spec = find_spec(gpu);
    EXPECT_TRUE(spec) << gpu;
    return spec ? spec->number(name).value_or(-1) : -1;
  };
  EXPECT_NEAR(at("h100-sxm", "bf16.matrix_flops"), 989.4e12, 1e12);
  EXPECT_NEAR(at("h100-sxm", "tf32.matrix_flops"), 494.7e12, 1e12);
  EXPECT_NEAR(at("l4", "bf16.matrix_flops"), 121e12, 1e12);
  EXPECT_NEAR(at("l4", "dram.bandwidth"), 300e9, 1e9);
  EXPECT_NEAR(at("mi355x", "bf16.matrix_flops"), 2.5e15, 0.02e15);
  EXPECT_NEAR(at("mi300x", "tf32.matrix_flops"), 653.7e12, 1e12);
  EXPECT_NEAR(at("rtx-4090", "fp8_fp32acc.matrix_flops"), 330.3e12, 1e12);
  EXPECT_NEAR(at("b300", "int8.matrix_ops"), 153.5e12, 1e12);
  EXPECT_EQ(at("h200", "l2.bytes"), 60 * 1024 * 1024);
  EXPECT_EQ(at("b300", "sm.count"), 148);
  EXPECT_EQ(at("mi355x", "shared.bytes_per_sm"), 160 * 1024);
  EXPECT_NEAR(at("b200", "fp4.matrix_flops"), 9e15, 0.1e15);
}

TEST(Spec, AbsentAndUnsupportedAreNoNumbers) {
  const auto a100 = find_spec("a100-sxm4-80gb");
  ASSERT_TRUE(a100);
  ASSERT_TRUE(a100->find("fp8.matrix_flops"));
  EXPECT_EQ(a100->find("fp8.matrix_flops")->text, "not supported");
  EXPECT_FALSE(a100->number("fp8.matrix_flops"));
  EXPECT_FALSE(a100->number("tmem.bytes_per_sm"));
}

TEST(Spec, FindsByTheNamesThatDriversPrint) {
  const std::map<std::string, std::string> names = {
      {"NVIDIA H200", "h200"},
      {"nvidia h200", "h200"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"AMD Instinct MI300X", "mi300x"},
      {" mi355x ", "mi355x"},
  };
  for (const auto& [name, id] : names) {
    const auto spec = find_spec(name);
    ASSERT_TRUE(spec) << name;
    EXPECT_EQ(spec->id, id) << name;
  }
}

TEST(Spec, AnUnlistedNameIsUnknownAndNeverTheNearest) {
  for (const char* name : {"H300", "NVIDIA H200 NVL", "RTX 5080", "MI300", "gfx942", ""}) {
    const auto spec = find_spec(name);
    ASSERT_FALSE(spec) << name << " became " << spec->id;
    EXPECT_EQ(spec.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(spec.error().message, HasSubstr("unknown")) << name;
  }
  EXPECT_THAT(find_spec("NVIDIA H200 NVL").error().hint, HasSubstr("h200"));
  EXPECT_THAT(find_spec("MI300").error().hint, HasSubstr("mi300x"));
}

TEST(Spec, ANameOfSeveralProductsIsRefused) {
  const auto spec = find_spec("A100");
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().message, HasSubstr("a100-sxm4-40gb"));
}

TEST(Spec, PhysicsCatchesWhatIsWrong) {
  const Sources sources = one_source();
  const auto complaints = [&](const std::string& values) {
    const auto spec = parse_spec(card(values), "x.toml", sources);
    EXPECT_TRUE(spec) << spec.error().to_string();
    return spec ? join(check_physics(*spec), "\n") : "";
  };
  const std::string base =
      value("sm.count", "100") + value("clock.max", "1e9") + value("fp32.flops_per_clock", "256");
  EXPECT_EQ(complaints(base + value("fp32.flops", "25.6e12")), "");
  EXPECT_THAT(complaints(base + value("fp32.flops", "51.2e12")), HasSubstr("make 25.6 T"));
  EXPECT_THAT(complaints(value("fp32.flops_per_clock", "250") + value("fp32.flops", "1")),
              HasSubstr("no power of two"));
  EXPECT_THAT(
      complaints(value("bf16.matrix_flops", "100") + value("bf16.matrix_flops_sparse", "300")),
      HasSubstr("sparse"));
  EXPECT_THAT(complaints(value("bf16.matrix_flops", "100") + value("fp8.matrix_flops", "400")),
              HasSubstr("fp8.matrix_flops is 4.00"));
  EXPECT_THAT(complaints(value("dram.bandwidth", "2e12") + value("dram.clock", "1e9") +
                         value("dram.bus_width", "4096") + value("dram.transfers_per_clock", "2")),
              HasSubstr("clock × transfers × width"));
  EXPECT_THAT(complaints(value("sm.count", "1") + value("sm.count", "2")), HasSubstr("twice"));
  EXPECT_THAT(complaints(value("sm.count", "0")), HasSubstr("positive"));
}

TEST(Spec, MistakesAreLocated) {
  const Sources sources = one_source();
  const auto unknown = parse_spec(
      card("{ name = \"sm.count\", value = 1, unit = \"1\", kind = \"datasheet\", source = "
           "\"shet\" },\n"),
      "x.toml", sources);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().place->line, 8);
  EXPECT_THAT(unknown.error().hint, HasSubstr("sheet"));
  const auto none =
      parse_spec(card("{ name = \"sm.count\", value = 1, unit = \"1\", kind = \"datasheet\" },\n"),
                 "x.toml", sources);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("needs a source"));
  const auto derived =
      parse_spec(card("{ name = \"sm.count\", value = 1, unit = \"1\", kind = \"derived\" },\n"),
                 "x.toml", sources);
  ASSERT_FALSE(derived);
  EXPECT_THAT(derived.error().message, HasSubstr("derived"));
  for (const char* text : {"", "id =", "id = 5", "value = [1]", "\xff\xfe"}) {
    const auto broken = parse_spec(text, "x.toml", sources);
    ASSERT_FALSE(broken) << text;
    EXPECT_EQ(broken.error().kind, ErrorKind::bad_input) << text;
    EXPECT_EQ(broken.error().place->file, "x.toml") << text;
  }
}

TEST(Spec, TextNamesEverySource) {
  const auto h200 = find_spec("h200");
  ASSERT_TRUE(h200);
  const std::string text = to_text(*h200);
  EXPECT_THAT(text, HasSubstr("60 MiB"));
  EXPECT_THAT(text, HasSubstr("4.80 TB/s"));
  EXPECT_THAT(text, HasSubstr("H200 datasheet"));
}

}  // namespace
}  // namespace burnish::hardware
