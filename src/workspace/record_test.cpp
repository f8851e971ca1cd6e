#include "workspace/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"

namespace burnish::workspace {
namespace {

std::string fixture(const std::string& name) {
  const fs::path path = fs::path(BURNISH_SHARED_DIR) / "fixtures/agents" / name;
  auto text = real_file_system().read(path);
  return text ? *text : "";
}

#define NEEDS_FIXTURE(text, name) \
  if (text.empty()) GTEST_SKIP() << "fixtures/agents/" << name << " is absent"

/// A record with something in every field, drawn from the seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}

  Record record() {
    Record r;
    r.number = static_cast<int>(generator_.below(2000));
    r.version = "v" + std::to_string(r.number) + (coin() ? "" : "_g11_full_profile");
    r.parent = static_cast<int>(generator_.below(5)) - 1;
    r.masked = coin();
    r.timestamp = text();
    r.artefact_hash = coin() ? "123e4567" : text();
    auto& p = r.performance;
    for (auto* value : {&p.latency_us, &p.tflops, &p.bandwidth_gbps, &p.tflops_peak_utilization_pct,
                        &p.bandwidth_peak_utilization_pct, &p.speedup_over_previous,
                        &p.speedup_over_baseline, &r.correctness.rel_err}) {
      if (coin()) *value = number();
    }
    for (std::uint64_t i = generator_.below(4); i > 0; --i)
      p.latency_us_by_shape[text()] = number();
    if (coin()) p.interval = Interval{number(), number()};
    p.verdict = one_of({"", "baseline", "improved", "regressed", "inconclusive"});
    for (auto* value : {&p.method, &p.device, &p.latency_delta, &p.tflops_delta, &p.bandwidth_delta,
                        &r.optimization.action_category, &r.optimization.action_description,
                        &r.optimization.expected_impact, &r.optimization.risks_and_rollback,
                        &r.optimization.agent, &r.profile_evidence.tool_used,
                        &r.profile_evidence.evidence_summary, &r.profile_evidence.bottleneck_type,
                        &r.profile_evidence.evidence_chain, &r.profile_evidence.pointer,
                        &r.correctness.why, &r.quality_gate.failure_reason}) {
      *value = text();
    }
    for (std::uint64_t i = generator_.below(4); i > 0; --i) {
      r.optimization.parameters[text()] = text();
      r.quality_gate.parts[text()] = text();
      r.profile_evidence.findings.push_back(text());
      r.experience.experiments.push_back(
          {coin() ? std::optional<std::int64_t>(static_cast<std::int64_t>(generator_.next()))
                  : std::nullopt,
           text(), text(), text(), text(), text(), text()});
      r.isa_metric_progress.push_back({text(), text(), text(), coin()});
      r.search_log.push_back({text(), text(), text(), text(), text(), coin()});
      r.pitfalls_and_fixes.push_back(
          {one_of({"", "compilation", "isa", "timeout"}), text(), text(), text(), text()});
      r.references.push_back({text(), text(), text()});
      r.open_directions.push_back({text(), text()});
    }
    r.optimization.enabler = coin();
    if (coin()) r.experience.experiment_count = static_cast<std::int64_t>(generator_.below(9));
    if (coin()) r.experience.recorded_experiment_count = INT64_MIN;
    r.correctness.status = one_of({"", "PASS", "FAIL", "TIMEOUT_FAIL"});
    r.quality_gate.result = one_of({"", "PASS", "FAIL", "TIMEOUT_FAIL"});
    if (coin()) r.git_commit_hash = text();
    Json other = Json::object();
    for (std::uint64_t i = generator_.below(3); i > 0; --i) {
      other["x" + text()] = Json{{"a", number()}, {"b", {1, nullptr, text()}}};
    }
    r.set_other(other);
    return r;
  }

 private:
  bool coin() { return generator_.below(2) == 1; }
  double number() {
    static const double odd[] = {0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, -1e-7, 3, 1e22};
    return coin() ? odd[generator_.below(8)] : std::exp(60 * (generator_.uniform() - 0.5));
  }
  std::string one_of(const std::vector<std::string>& words) {
    return words[generator_.below(words.size())];
  }
  std::string text() {
    static const std::string parts[] = {"a",    "\"",       "\\", "\n", "\t",
                                        "µ",    "日本",     "/",  "~",  ".",
                                        " ",    "Infinity", "{",  "]",  std::string(1, '\0'),
                                        "\x7f", "é",        "1e9"};
    std::string result;
    for (std::uint64_t i = generator_.below(6); i > 0; --i) result += parts[generator_.below(18)];
    return result;
  }
  Generator generator_;
};

TEST(Record, RoundTripLosesNothing) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Record record = Draw(seed).record();
    const std::string text = dump_json(to_json(record));
    const auto read = record_from_text(text, "v.json", Tolerate::nothing);
    ASSERT_TRUE(read) << "seed " << seed << ": " << read.error().to_string() << "\n" << text;
    EXPECT_EQ(read->number, record.number);
    EXPECT_EQ(dump_json(to_json(*read)), text) << "seed " << seed;
    // The writer is not its own witness: some values are compared by themselves.
    EXPECT_EQ(read->artefact_hash, record.artefact_hash);
    EXPECT_EQ(read->parent, record.parent);
    EXPECT_EQ(read->performance.latency_us, record.performance.latency_us);
    EXPECT_EQ(read->performance.latency_us_by_shape, record.performance.latency_us_by_shape);
    EXPECT_EQ(read->optimization.parameters, record.optimization.parameters);
    EXPECT_EQ(read->experience.experiments.size(), record.experience.experiments.size());
    EXPECT_EQ(read->search_log.size(), record.search_log.size());
    if (!record.search_log.empty()) {
      EXPECT_EQ(read->search_log[0].is_new, record.search_log[0].is_new);
    }
    EXPECT_EQ(read->quality_gate.parts, record.quality_gate.parts);
    EXPECT_EQ(read->git_commit_hash, record.git_commit_hash);
    EXPECT_EQ(read->other(), record.other());
  }
}

TEST(Record, NumbersThatAreNoneAreUnknown) {
  Record record;
  record.version = "v1";
  record.performance.latency_us = std::numeric_limits<double>::infinity();
  record.performance.tflops = std::nan("");
  const Json json = to_json(record);
  EXPECT_TRUE(json["performance"]["latency_us"].is_null());
  EXPECT_TRUE(json["performance"]["tflops"].is_null());
}

TEST(Record, VersionNames) {
  EXPECT_EQ(version_number("v0"), 0);
  EXPECT_EQ(version_number("v22_swiglu_scale_skip_negative"), 22);
  EXPECT_EQ(version_number("V3"), 3);
  for (const char* text : {"", "v", "3", "vx", "v3x", "v-1", "v99999999999999999999", " v1"}) {
    EXPECT_FALSE(version_number(text)) << text;
  }
}

TEST(Record, OddRecordOfASkillIsKeptWhole) {
  const std::string text = fixture("memory_v22_negative.json");
  NEEDS_FIXTURE(text, "memory_v22_negative.json");
  const auto record = record_from_text(text, "v22.json", Tolerate::odd_values);
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->number, 22);
  EXPECT_EQ(record->version, "v22_swiglu_scale_skip_negative");
  EXPECT_FALSE(record->performance.latency_us);  // nothing is guessed from other fields
  const Json json = parse_json(text, "v22.json").value();
  const Json other = record->other();
  for (const auto& [key, value] : json.items()) {
    if (key != "version") {
      EXPECT_EQ(other[key], value) << key;
    }
  }
  EXPECT_EQ(other.size(), json.size() - 1);
  // It stays readable, and whole, once it is one of our own.
  const auto again = record_from_text(dump_json(to_json(*record)), "v22.json", Tolerate::nothing);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->other(), other);
}

TEST(Record, TemplateOfTheSkillsHasOnlyKnownFields) {
  std::string text = fixture("v_iteration.schema.json");
  NEEDS_FIXTURE(text, "v_iteration.schema.json");
  text = replace_all(text, "\"v<N>\"", "\"v7\"");
  const auto strict = record_from_text(text, "t.json", Tolerate::nothing);
  ASSERT_FALSE(strict);
  EXPECT_TRUE(contains(strict.error().message, "/performance/latency_us_by_shape/<sid>"))
      << strict.error().to_string();
  const auto record = record_from_text(text, "t.json", Tolerate::odd_values);
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->number, 7);
  EXPECT_EQ(record->experience.experiments.at(0).name, "<experiment name>");
  EXPECT_EQ(record->experience.experiment_count, 0);
  EXPECT_EQ(record->open_directions.size(), 1u);
  std::set<std::string> odd;
  const Json other = record->other();
  for (const auto& [key, value] : other.items()) odd.insert(key);
  EXPECT_EQ(odd,
            (std::set<std::string>{"/performance/latency_us_by_shape/<sid>", "/correctness/status",
                                   "/quality_gate/result", "/pitfalls_and_fixes/0/error_type"}));
}

TEST(Record, OddValuesStandUnderTheirPointers) {
  const std::string text = R"({
    "version": "v5_g11_full_profile",
    "performance": {"latency_us": Infinity, "tflops": "fast", "latency_us_by_shape": {"a/b": NaN, "c": 2},
      "comparison_with_previous": {"latency_delta": -12.5, "tflops_delta": "about +3 %"}, "extra": [1]},
    "correctness": {"status": "BANANA", "rel_err": -Infinity},
    "quality_gate": {"result": "MISS"},
    "isa_metric_progress": [{"metric": "spills", "target": 0, "current": 3, "met": "no"}, "free text"],
    "open_directions": "try swizzling",
    "git_commit_hash": 1234567,
    "note": "NaN and \"Infinity\" in a string stay"
  })";
  const auto record = record_from_text(text, "v5.json", Tolerate::odd_values);
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->performance.latency_delta, "-12.5");
  EXPECT_EQ(record->performance.tflops_delta, "about +3 %");
  EXPECT_EQ(record->performance.latency_us_by_shape, (std::map<std::string, double>{{"c", 2}}));
  ASSERT_EQ(record->isa_metric_progress.size(), 1u);
  EXPECT_EQ(record->isa_metric_progress[0].target, "0");
  const Json other = record->other();
  EXPECT_EQ(other["/performance/latency_us"], "Infinity");
  EXPECT_EQ(other["/performance/tflops"], "fast");
  EXPECT_EQ(other["/performance/latency_us_by_shape/a~1b"], "NaN");
  EXPECT_EQ(other["/performance/extra"], Json::array({1}));
  EXPECT_EQ(other["/correctness/status"], "BANANA");
  EXPECT_EQ(other["/correctness/rel_err"], "-Infinity");
  EXPECT_EQ(other["/quality_gate/result"], "MISS");
  EXPECT_EQ(other["/isa_metric_progress/0/met"], "no");
  EXPECT_EQ(other["/isa_metric_progress/1"], "free text");
  EXPECT_EQ(other["/open_directions"], "try swizzling");
  EXPECT_EQ(other["/git_commit_hash"], 1234567);
  EXPECT_EQ(other["note"], "NaN and \"Infinity\" in a string stay");
  EXPECT_EQ(other.size(), 12u);
  const auto again = record_from_text(dump_json(to_json(*record)), "v5.json", Tolerate::nothing);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->other(), other);
}

TEST(Record, MalformedRecordsAreLocated) {
  struct Case {
    const char* text;
    int line;  ///< 0: the pointer in the message says where
    const char* message;
  };
  const std::vector<Case> cases = {
      {"", 1, "empty"},
      {"{\"version\": \"v1\"", 1, "not JSON"},
      {"{\n\"version\": \"v1\",\n\"masked\": NaN}", 3, "not JSON"},
      {"{\n\"version\": \"v1\",\n\"version\": \"v2\"}", 3, "occurs twice"},
      {"\xff\xfe", 1, "not JSON"},
      {"[]", 0, "a record is a JSON object"},
      {"{}", 0, "/version: expected \"v<N>\""},
      {R"({"version": 3})", 0, "/version: expected a string, found 3"},
      {R"({"version": "3"})", 0, "/version: expected \"v<N>\", found \"3\""},
      {R"({"version": "v1", "parent": 0})", 0, "/parent: expected a version"},
      {R"({"version": "v1", "masked": "yes"})", 0, "/masked: expected true or false"},
      {R"({"version": "v1", "performance": "fast"})", 0, "/performance: expected an object"},
      {R"({"version": "v1", "performance": {"latency_us": "12"}})", 0,
       "/performance/latency_us: expected a number, found \"12\""},
      {R"({"version": "v1", "performance": {"latency_ms": 12}})", 0,
       "did you mean \"latency_us\"?"},
      {R"({"version": "v1", "performance": {"latency_us_by_shape": {"a": "b"}}})", 0,
       "/performance/latency_us_by_shape/a: expected a number"},
      {R"({"version": "v1", "performance": {"interval": [1, 2]}})", 0,
       "/performance/interval: expected"},
      {R"({"version": "v1", "performance": {"interval": {"low": 1}}})", 0, "/performance/interval"},
      {R"({"version": "v1", "performance": {"verdict": "faster"}})", 0,
       "one of baseline, improved"},
      {R"({"version": "v1", "correctness": {"status": "PASSED"}})", 0, "did you mean \"PASS\"?"},
      {R"({"version": "v1", "quality_gate": {"result": "BLOCKED"}})", 0, "/quality_gate/result"},
      {R"({"version": "v1", "quality_gate": {"parts": {"isa": 1}}})", 0, "/quality_gate/parts/isa"},
      {R"({"version": "v1", "search_log": {}})", 0, "/search_log: expected an array of objects"},
      {R"({"version": "v1", "search_log": [{}, 3]})", 0, "/search_log/1: expected an object"},
      {R"({"version": "v1", "search_log": [{"new": 1}]})", 0,
       "/search_log/0/new: expected true or false"},
      {R"({"version": "v1", "search_log": [{"qeury": ""}]})", 0, "did you mean \"query\"?"},
      {R"({"version": "v1", "profile_evidence": {"findings": [1]}})", 0,
       "/profile_evidence/findings/0"},
      {R"({"version": "v1", "pitfalls_and_fixes": [{"error_type": "bad luck"}]})", 0,
       "/pitfalls_and_fixes/0/error_type"},
      {R"({"version": "v1", "experience": {"experiment_count": 1.5}})", 0, "a whole number"},
      {R"({"version": "v1", "git_commit_hash": 1234567})", 0,
       "/git_commit_hash: expected a string"},
  };
  for (const Case& one : cases) {
    const auto record = record_from_text(one.text, "memory/v1.json", Tolerate::nothing);
    ASSERT_FALSE(record) << one.text;
    EXPECT_EQ(record.error().kind, ErrorKind::bad_input) << one.text;
    ASSERT_TRUE(record.error().place) << one.text;
    EXPECT_EQ(record.error().place->file, "memory/v1.json") << one.text;
    EXPECT_EQ(record.error().place->line, one.line) << one.text;
    EXPECT_TRUE(contains(record.error().to_string(), one.message)) << one.text << "\n"
                                                                   << record.error().to_string();
  }
}

TEST(Record, HostileTextsEndInAnErrorOrARecord) {
  const std::string good = dump_json(to_json(Draw(1).record()));
  Generator generator(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text = good.substr(0, generator.below(good.size()) + 1);
    for (std::uint64_t n = generator.below(4); n > 0; --n) {
      text[generator.below(text.size())] = static_cast<char>(generator.below(256));
    }
    for (const Tolerate tolerate : {Tolerate::nothing, Tolerate::odd_values}) {
      const auto record = record_from_text(text, "r", tolerate);
      if (!record) {
        EXPECT_EQ(record.error().kind, ErrorKind::bad_input);
      }
    }
  }
  EXPECT_FALSE(record_from_text(std::string(100'000, '['), "r", Tolerate::odd_values));
}

// --- data/schemas/record.json ---

Json schema() {
  const auto path = fs::path(BURNISH_SOURCE_DIR) / "data/schemas/record.json";
  return parse_json(real_file_system().read(path).value(), path.string()).value();
}

void list_paths(const Json& node, const std::string& prefix, std::set<std::string>& paths) {
  for (const auto& [key, value] : node["properties"].items()) {
    const bool has_fields = value.contains("properties");
    if (!has_fields) paths.insert(prefix + key);
    if (has_fields) list_paths(value, prefix + key + ".", paths);
    if (value.contains("items") && value["items"].contains("properties")) {
      list_paths(value["items"], prefix + key + ".*.", paths);
    }
  }
}

TEST(RecordSchema, HasExactlyTheFieldsOfTheCodec) {
  std::set<std::string> in_schema, in_codec;
  list_paths(schema(), "", in_schema);
  for (const RecordField& field : record_fields()) in_codec.insert(field.path);
  EXPECT_EQ(in_schema, in_codec);
}

TEST(RecordSchema, IsWrittenDownInTheManual) {
  const std::string page =
      real_file_system().read(fs::path(BURNISH_SOURCE_DIR) / "docs/workspace.md").value();
  for (const RecordField& field : record_fields()) {
    const std::string path = replace_all(field.path, ".*.", "[].");
    EXPECT_TRUE(contains(page, "`" + path + "`")) << path;
  }
}

TEST(RecordSchema, AgreesWithTheCodecOnGoodAndBadRecords) {
  ProcessSpec probe;
  probe.argv = {"python3", "-c", "import jsonschema"};
  const auto probed = real_process_runner().run(probe);
  if (!probed || !probed->ok()) GTEST_SKIP() << "the Python package jsonschema is absent";
  // Each record is valid for both, or for neither.
  Json records = Json::array();
  Json expected = Json::array();
  const auto add = [&](const Json& json) {
    records.push_back(json);
    expected.push_back(record_from_json(json, "r", Tolerate::nothing).has_value());
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) add(to_json(Draw(seed).record()));
  const std::size_t good = records.size();
  const Json base = to_json(Draw(7).record());
  const std::vector<Json> odd_values = {3,
                                        1.5,
                                        "BANANA",
                                        true,
                                        nullptr,
                                        Json::array({1}),
                                        Json{{"zz", 1}},
                                        Json::array({Json{{"zz", 1}}})};
  for (const RecordField& field : record_fields()) {
    for (const Json& value : odd_values) {
      Json json = base;
      Json* at = &json;
      for (const std::string_view part : split(field.path, '.')) {
        if (part == "*") {
          if (at->empty()) at->push_back(Json::object());
          at = &(*at)[0];
        } else {
          at = &(*at)[std::string(part)];
        }
      }
      *at = value;
      add(json);
    }
  }
  ASSERT_TRUE(std::any_of(expected.begin() + static_cast<long>(good), expected.end(),
                          [](const Json& one) { return one == false; }));
  ProcessSpec spec;
  spec.argv = {"python3", "-c",
               "import sys, json, jsonschema\n"
               "s = json.load(open(sys.argv[1]))\n"
               "jsonschema.Draft202012Validator.check_schema(s)\n"
               "v = jsonschema.Draft202012Validator(s)\n"
               "print(json.dumps([v.is_valid(r) for r in json.load(sys.stdin)]))\n",
               (fs::path(BURNISH_SOURCE_DIR) / "data/schemas/record.json").string()};
  spec.input = dump_json_line(records);
  const auto result = real_process_runner().run(spec);
  ASSERT_TRUE(result && result->ok()) << (result ? result->errors : result.error().to_string());
  const Json verdicts = parse_json(result->output, "python").value();
  ASSERT_EQ(verdicts.size(), expected.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    EXPECT_EQ(verdicts[i], expected[i]) << dump_json_line(records[i]);
  }
}

}  // namespace
}  // namespace burnish::workspace
