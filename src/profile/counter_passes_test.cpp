#include "profile/counter_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace burnish::profile {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using Passes = std::vector<std::vector<std::string>>;

Passes plan(const std::string& arch) {
  auto passes = plan_counter_passes(arch);
  EXPECT_TRUE(passes) << (passes ? "" : passes.error().to_string());
  return passes ? *passes : Passes();
}

std::set<std::string> all_of(const Passes& passes) {
  std::set<std::string> all;
  for (const auto& pass : passes) all.insert(pass.begin(), pass.end());
  return all;
}

/// The run that counts all of these.
bool together(const Passes& passes, const std::vector<std::string>& counters) {
  return std::any_of(passes.begin(), passes.end(), [&](const auto& pass) {
    return std::all_of(counters.begin(), counters.end(), [&](const std::string& counter) {
      return std::find(pass.begin(), pass.end(), counter) != pass.end();
    });
  });
}

TEST(CounterPasses, EachRunKeepsToThePlacesOfItsBlocksAndRunsAreAsFewAsCanBe) {
  const std::map<std::string, int> places = {{"SQ", 8}, {"TCC", 4}, {"TCP", 4},
                                             {"TA", 2}, {"SPI", 2}, {"GRBM", 2}};
  for (const char* arch : {"gfx908", "gfx90a", "gfx942", "gfx950"}) {
    const Passes passes = plan(arch);
    std::map<std::string, int> events;
    std::set<std::string> seen;
    for (const auto& pass : passes) {
      std::map<std::string, int> used;
      EXPECT_THAT(pass, Contains("GRBM_GUI_ACTIVE")) << arch;
      for (const std::string& counter : pass) {
        const std::string block = counter.substr(0, counter.find('_'));
        ASSERT_TRUE(places.count(block)) << counter;
        EXPECT_LE(++used[block], places.at(block)) << arch << " " << counter;
        if (counter == "GRBM_GUI_ACTIVE") continue;
        EXPECT_TRUE(seen.insert(counter).second) << counter << " is counted twice";
        ++events[block];
      }
    }
    int fewest = 1;
    for (const auto& [block, count] : events)
      fewest = std::max(fewest, (count + places.at(block) - 1) / places.at(block));
    EXPECT_EQ(passes.size(), static_cast<std::size_t>(fewest)) << arch;
  }
}

TEST(CounterPasses, CountersAreThoseOfTheArchitecture) {
  const auto mi300 = all_of(plan("gfx942")), mi350 = all_of(plan("gfx950")),
             mi200 = all_of(plan("gfx90a"));
  EXPECT_THAT(mi300, Contains("TCC_BUBBLE_sum"));
  EXPECT_THAT(mi350, Contains("TCC_EA0_RDREQ_128B_sum"));
  EXPECT_THAT(mi350, Not(Contains("TCC_BUBBLE_sum")));
  EXPECT_THAT(mi350, Contains("SQ_INSTS_VALU_MFMA_MOPS_F6F4"));
  EXPECT_THAT(mi300, Not(Contains("SQ_INSTS_VALU_MFMA_MOPS_F6F4")));
  EXPECT_THAT(mi200, Contains("TCC_EA_RDREQ_sum"));
  EXPECT_THAT(mi200, Not(Contains("TCC_EA0_RDREQ_sum")));
  EXPECT_THAT(mi200, Not(Contains("TCC_EA0_ATOMIC_sum")));
  // What the tool derives, or counts in a pass of a certain kind, is had from counters instead.
  for (const auto& counters : {mi300, mi350, mi200}) {
    for (const std::string& counter : counters) {
      EXPECT_THAT(counter, Not(HasSubstr(".")));
      EXPECT_NE(counter, "FETCH_SIZE");
    }
    EXPECT_THAT(counters, Contains("SQ_WAVE_CYCLES")) << "of the achieved occupancy";
    EXPECT_THAT(counters, Contains("SQ_WAVES")) << "of the check on the waves";
  }
}

TEST(CounterPasses, WhatOneFormulaReadsIsCountedTogether) {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const Passes passes = plan(arch);
    EXPECT_TRUE(together(passes, {"TCC_HIT_sum", "TCC_MISS_sum"})) << arch;
    EXPECT_TRUE(together(passes, {"SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT"})) << arch;
    EXPECT_TRUE(together(passes, {"TCC_EA0_WRREQ_64B_sum", "TCC_EA0_WRREQ_sum"})) << arch;
    EXPECT_TRUE(together(passes, {"SQ_INSTS", "SQ_BUSY_CU_CYCLES"})) << arch;
  }
}

TEST(CounterPasses, AnUnknownArchitectureIsNoGuess) {
  for (const char* arch : {"gfx1100", ""}) {
    const auto passes = plan_counter_passes(arch);
    ASSERT_FALSE(passes);
    EXPECT_EQ(passes.error().kind, ErrorKind::environment);
    EXPECT_FALSE(passes.error().hint.empty());
  }
}

}  // namespace
}  // namespace burnish::profile
