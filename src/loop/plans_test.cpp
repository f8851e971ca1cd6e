// Plans that the tuner makes from recorded situations (tests/plans): what an engineer reads is held
// as it is. BURNISH_UPDATE_PLANS=1 works the findings out anew from the recorded metrics and writes
// the plans; read the difference before it is committed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/toml.h"
#include "loop/loop.h"
#include "loop/situation.h"

namespace burnish::loop {
namespace {

const fs::path kPlans = fs::path(BURNISH_SOURCE_DIR) / "tests/plans";

std::string read(const fs::path& file) {
  auto text = real_file_system().read(file);
  EXPECT_TRUE(text) << text.error().to_string();
  return text ? *text : "";
}

/// What a folder of tests/plans holds; the situation points into it.
struct Recorded {
  fs::path folder;
  workspace::TaskSpec task;
  device::DeviceInfo device;
  knowledge::CardBase cards = knowledge::CardBase::load().value();
  std::unique_ptr<agent::Situation> situation;

  explicit Recorded(const fs::path& at) : folder(at) {
    task = workspace::parse_task(read(at / "burnish.toml"), (at / "burnish.toml").string()).value();
    auto fields =
        TomlFields::parse(read(at / "situation.toml"), (at / "situation.toml").string()).value();
    auto described = fields.table("device");
    device.name = described.string("name");
    device.vendor = described.string("vendor");
    device.arch = described.string("arch");
    const std::string launch = read(at / "launch.toml");
    const auto spec = workspace::parse_launch(launch, (at / "launch.toml").string(), task).value();
    const int parent = static_cast<int>(fields.integer("parent"));
    situation.reset(new agent::Situation{task,
                                         device,
                                         cards,
                                         static_cast<int>(fields.integer("version")),
                                         parent,
                                         fields.string("parent_hash"),
                                         {{task.launch_file, launch}},
                                         workspace::configuration(task, spec),
                                         {{}, device.vendor, device.arch},
                                         {},
                                         "profiles/v" + std::to_string(parent) + "/evidence.json",
                                         {}});
    EXPECT_TRUE(fields.finish());
    for (const auto& name : real_file_system().list(at / "memory")) {
      auto record = workspace::record_from_text(read(at / "memory" / name), name,
                                                workspace::Tolerate::nothing);
      EXPECT_TRUE(record) << record.error().to_string();
      if (record) situation->history.push_back(std::move(*record));
    }
    auto evidence = read_evidence(read(at / "evidence.json"), (at / "evidence.json").string());
    EXPECT_TRUE(evidence) << evidence.error().to_string();
    if (!evidence) return;
    situation->subject.metrics = std::move(evidence->metrics);
    situation->findings = std::move(evidence->findings);
  }

  void evaluate_anew() {
    const auto rules = evidence::Rules::load().value();
    situation->findings = rules.evaluate(situation->subject).findings;
    const fs::path file = folder / "evidence.json";
    Json json = parse_json(read(file), file.string()).value();
    json["kernels"][0]["findings"] = Json::array();
    for (const auto& finding : situation->findings)
      json["kernels"][0]["findings"].push_back(evidence::to_json(finding));
    ASSERT_TRUE(real_file_system().write(file, dump_json(json)));
  }
};

class Plans : public testing::TestWithParam<std::string> {};

TEST_P(Plans, AreThoseOfTheGoldenFiles) {
  Recorded recorded(kPlans / GetParam());
  const bool update = std::getenv("BURNISH_UPDATE_PLANS") != nullptr;
  if (update) recorded.evaluate_anew();
  const auto plan = agent::make_tuner()->plan(*recorded.situation);
  ASSERT_TRUE(plan && *plan);
  const std::string text = workspace::to_markdown(**plan);
  if (update) {
    ASSERT_TRUE(real_file_system().write(recorded.folder / "plan.md", text));
  }
  EXPECT_EQ(text, read(recorded.folder / "plan.md"));

  State state;
  state.next = Stage::plan;
  state.version = recorded.situation->version;
  state.incumbent = recorded.situation->parent;
  EXPECT_THAT(objections(**plan, state, *recorded.situation), testing::IsEmpty());
  EXPECT_TRUE(workspace::parse_plan(text, "plan.md"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("(s)")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("unknown")));
}

std::vector<std::string> recorded_plans() {
  std::vector<std::string> names;
  for (const auto& name : real_file_system().list(kPlans))
    if (fs::is_directory(kPlans / name)) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Plans, testing::ValuesIn(recorded_plans()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RecordedPlans, AreTen) { EXPECT_EQ(recorded_plans().size(), 10u); }

TEST(RecordedEvidence, OfAnotherShapeIsRefused) {
  for (const char* text : {"", "[]", "{\"kernels\": {}, \"x\": 1", "{\"kernels\": [1]}",
                           "{\"kernels\": [{\"metrics\": {\"a\": 1}}]}",
                           "{\"kernels\": [{\"findings\": [{\"id\": 1}]}]}",
                           "{\"kernels\": [{\"findings\": 3, \"metrics\": [1]}]}"}) {
    const auto read = read_evidence(text, "evidence.json");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_input) << text;
  }
}

// What a plan of an agent or a person may not be, on a recorded profile of an H200.
class Objections : public testing::Test {
 protected:
  Objections() : recorded(kPlans / "h200-transpose-v4") {
    state.next = Stage::plan;
    state.version = recorded.situation->version;
    state.incumbent = recorded.situation->parent;
    plan = *agent::make_tuner()->plan(*recorded.situation).value();
  }
  std::string said() const {
    std::string all;
    for (const auto& one : objections(plan, state, *recorded.situation)) all += one + "\n";
    return all;
  }
  Recorded recorded;
  State state;
  workspace::Plan plan;
};

TEST_F(Objections, AreNoneForTheTunersOwn) { EXPECT_EQ(said(), ""); }

TEST_F(Objections, ToAPlanWithoutAFindingOfThisVersion) {
  plan.findings.clear();
  EXPECT_THAT(said(), testing::HasSubstr("cites no finding of v3's profile"));
  plan.findings = {"cpu-divides"};
  EXPECT_THAT(said(), testing::HasSubstr("`cpu-divides` is no finding"));
}

TEST_F(Objections, ToAHardwareNumberThatNoCardHolds) {
  plan.expected = "the copy reaches 5.9 TB/s";
  EXPECT_THAT(said(), testing::HasSubstr("5.9 TB/s is in no card"));
  plan.expected = "the card says 4.8 TB/s, at 1,980 MHz, with 227 KiB of shared memory for a block";
  EXPECT_EQ(said(), "");
  plan.expected = "the clock is 2,620 MHz";
  EXPECT_THAT(said(), testing::HasSubstr("2,620 MHz"));
  plan.expected = "each SM has 320 KiB of shared memory";
  EXPECT_THAT(said(), testing::HasSubstr("320 KiB"));
  // A tile is the kernel's own, and 12 ways are no hardware number.
  plan.expected = "a tile of 320 KiB, 12-way, 3.5 times faster";
  EXPECT_EQ(said(), "");
  // Another product's number needs its card.
  plan.expected = "an MI300X has 5.3 TB/s";
  EXPECT_NE(said(), "");
  plan.search_log.push_back({"hardware:mi300x", "L1", "bandwidth", "5.3 TB/s", "", true});
  EXPECT_EQ(said(), "");
}

TEST_F(Objections, ToMoreThanOneCategory) {
  plan.category = "tiling, unrolling";
  EXPECT_THAT(said(), testing::HasSubstr("not one category"));
  plan.category = "bank-conflicts";
  plan.parameters["VEC"] = {"1", "2"};
  EXPECT_THAT(said(), testing::HasSubstr("VEC is a tunable of"));
}

TEST_F(Objections, ToARepeatUnlessItsRecordIsMasked) {
  workspace::Record record;
  record.number = 3;
  record.optimization.action_category = plan.category;
  record.optimization.action_description = plan.action;
  record.optimization.parameters["base"] = plan.parent_hash;
  for (const auto& [name, values] : plan.parameters) {
    std::string joined;
    for (const auto& value : values) joined += (joined.empty() ? "" : ",") + value;
    record.optimization.parameters["search." + name] = joined;
  }
  recorded.situation->history.push_back(record);
  EXPECT_THAT(said(), testing::HasSubstr("v3 tried the same"));
  // Without tunables the action tells, however it is spaced.
  plan.parameters.clear();
  plan.action = "  " + plan.action;
  EXPECT_THAT(said(), testing::HasSubstr("v3 tried the same"));
  recorded.situation->history.pop_back();  // masked: the situation does not hold it
  EXPECT_EQ(said(), "");
}

TEST_F(Objections, ToAPlanThatOnlyTheWebOrNothingNewBearsOut) {
  const auto cards = plan.search_log;
  plan.search_log = {{"web:https://example.org/swizzle", "L3", "swizzle", "an idea", "", true}};
  EXPECT_THAT(said(), testing::HasSubstr("the web alone"));
  // Calling it a card's layer does not help.
  plan.search_log[0].layer = "L1";
  EXPECT_THAT(said(), testing::HasSubstr("the web alone"));
  plan.search_log.push_back(cards[0]);
  EXPECT_EQ(said(), "");
  workspace::Record record;
  record.number = 2;
  record.search_log = cards;
  recorded.situation->history.push_back(record);
  EXPECT_THAT(said(), testing::HasSubstr("the web alone"));
  plan.search_log = cards;
  EXPECT_THAT(said(), testing::HasSubstr("no source (source, query, finding) that is new"));
}

TEST_F(Objections, ToSourcesThatAreNotThere) {
  plan.search_log.push_back({"card:swizzle-shared-memry", "L1", "q", "f", "", true});
  EXPECT_THAT(said(), testing::HasSubstr("`swizzle-shared-memory` is"));
  plan.search_log.back().source = "reference:kernels/none.cu";
  EXPECT_THAT(said(), testing::HasSubstr("in no folder of reference_projects"));
}

}  // namespace
}  // namespace burnish::loop
