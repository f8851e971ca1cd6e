#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/statistics.h"
#include "evidence/evidence.h"

namespace burnish::workspace {

/// memory/v<N>.json: what is known of a version. A superset of the fields that existing agent
/// skills write (docs/workspace.md lists each with its unit and origin). Numbers are absent, not
/// zero, when they were not measured.
struct Record {
  struct Performance {
    std::optional<double> latency_us, tflops, bandwidth_gbps;
    std::optional<double> tflops_peak_utilization_pct, bandwidth_peak_utilization_pct;
    std::map<std::string, double> latency_us_by_shape;
    std::optional<double> speedup_over_previous, speedup_over_baseline;
    std::optional<Interval> interval;  ///< of speedup_over_previous
    std::string verdict;               ///< baseline, improved, regressed, inconclusive
    std::string method, device;
    std::string latency_delta, tflops_delta, bandwidth_delta;  ///< as existing skills write them
  };
  struct Optimization {
    std::string action_category, action_description, expected_impact, risks_and_rollback;
    std::map<std::string, std::string> parameters;  ///< tunables that this version set
    std::string agent;
    bool enabler = false;
  };
  struct ProfileEvidence {
    std::string tool_used, evidence_summary, bottleneck_type, evidence_chain;
    std::vector<std::string> findings;  ///< ids
    std::string pointer;                ///< profiles/v3/evidence.json
  };
  /// What an agent tried within the iteration, in its own words.
  struct Experiment {
    std::optional<std::int64_t> index;
    std::string name, hypothesis, change, evidence, result, decision;
  };
  struct Experience {
    std::optional<std::int64_t> experiment_count, recorded_experiment_count;
    std::vector<Experiment> experiments;
  };
  struct Correctness {
    std::optional<double> rel_err;
    std::string status;  ///< PASS, FAIL, TIMEOUT_FAIL, or empty
    std::string why;
  };
  struct IsaProgress {
    std::string metric, target, current;
    bool met = false;
  };
  struct Search {
    std::string source, layer, query, finding, actionability;
    bool is_new = false;
  };
  /// error_type: compilation, runtime, accuracy, performance, isa, attribution, timeout, or empty.
  struct Pitfall {
    std::string error_type, error_message, root_cause, fix_applied, lesson;
  };
  struct Source {
    std::string source_type, path_or_url, description;
  };
  struct Gate {
    std::string result;  ///< PASS, FAIL, TIMEOUT_FAIL, or empty
    std::string failure_reason;
    std::map<std::string, std::string> parts;  ///< correctness, performance, isa, attribution
  };
  struct Direction {
    std::string direction, rationale;
  };

  int number = 0;       ///< N of v<N>
  std::string version;  ///< "v3"; imported records may carry a longer name
  int parent = -1;      ///< the version that it changed
  bool masked = false;
  std::string timestamp;
  std::string artefact_hash;  ///< every file of the candidate, options, tunables
  Performance performance;
  Optimization optimization;
  ProfileEvidence profile_evidence;
  Experience experience;
  Correctness correctness;
  std::vector<IsaProgress> isa_metric_progress;
  std::vector<Search> search_log;
  std::vector<Pitfall> pitfalls_and_fixes;
  std::vector<Source> references;
  Gate quality_gate;
  std::vector<Direction> open_directions;
  std::optional<std::string> git_commit_hash;  ///< resolved from git when read, never stored
  Json other() const;                          ///< fields of other tools, kept as they were
  void set_other(const Json& fields);

 private:
  std::string other_text_;
};

/// Errors: bad_input naming file and JSON pointer. Unknown keys at the top level are kept in
/// other(); elsewhere they are errors unless `Tolerate::odd_values` (import), which keeps every odd
/// value in other() under its pointer instead of refusing it.
enum class Tolerate { nothing, odd_values };
Result<Record> record_from_json(const Json& json, const std::string& file, Tolerate tolerate);
/// JSON as Python writes it: the bare words NaN and Infinity, which JSON does not have, are read as
/// strings.
Result<Json> parse_python_json(std::string_view text, const std::string& file);
/// record_from_json() from the file's text; with `Tolerate::odd_values` as Python writes it.
Result<Record> record_from_text(std::string_view text, const std::string& file, Tolerate tolerate);
Json to_json(const Record& record);

/// N of "v<N>" or "v<N>_and_more"; absent when it is neither.
std::optional<int> version_number(std::string_view version);

/// A field as `memory update` and the schema see it.
struct RecordField {
  enum class Kind {
    text,
    choice,
    number,
    integer,
    flag,
    loose,  ///< text, or a number that becomes text
    texts,  ///< array of strings
    numbers,
    words,     ///< object with any keys, of numbers or of strings
    interval,  ///< {"low": number, "high": number}, or null
    list,      ///< array of objects
  };
  std::string
      path;  ///< "performance.latency_us"; fields of a list's elements: "search_log.*.query"
  Kind kind;
  std::vector<std::string> allowed;  ///< of a choice, the empty string aside
};
const std::vector<RecordField>& record_fields();

}  // namespace burnish::workspace
