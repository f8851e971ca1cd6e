#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/data.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/json.h"
#include "base/metric.h"
#include "hardware/roofline.h"
#include "isa/isa.h"
#include "profile/profile.h"

namespace burnish::evidence {

/// The categories of design §5.
const std::vector<std::string>& categories();

/// What a rule concluded: evidence → inference → action, bounded.
struct Finding {
  std::string id;  ///< the rule's
  std::string category;
  std::string severity;  ///< "high", "medium", "low", "info"
  /// Upper bound on the speed-up that mending this alone can give; ≥ 1. Never above the roofline
  /// gap `100 / roofline.utilization_pct` when that is known: no single mend can beat the ceiling.
  double headroom = 1;
  std::string arithmetic;             ///< how the bound was worked out, with its numbers
  std::vector<std::string> evidence;  ///< names of the metrics that it rests on
  std::string because;                ///< the sentence, numbers filled in
  std::string action;
  std::vector<std::string> cards;
  std::string location;      ///< source line, address or loop; empty when unknown
  std::string source;        ///< where the rule or its threshold comes from
  std::string explained_by;  ///< the finding that this one is only a symptom of; empty: none
};

/// A rule that could not be evaluated, and what would make it so.
struct Missing {
  std::string rule;
  std::vector<std::string> metrics;
  std::string collect;
};

struct Verdicts {
  /// Ranked: ceilings first, then by headroom, then what another finding explains. Findings that
  /// the roofline caps at the same bound keep the order of their own bounds.
  std::vector<Finding> findings;
  std::vector<Missing> missing;
};

/// What the rules look at: one kernel's metrics and which family they are of.
struct Subject {
  MetricSet metrics;
  std::string vendor;  ///< "nvidia", "amd", "cpu"; empty: unknown
  std::string arch;
};

/// Rules as data (data/rules/*.toml; docs/rules.md describes the keys).
class Rules {
 public:
  /// The compiled-in rules with the overrides of $BURNISH_DATA. Errors are located in the file.
  static Result<Rules> load();
  /// The rules of these files. Ids are unique over all of them.
  static Result<Rules> parse(const std::vector<DataFile>& files);
  Rules(Rules&&) noexcept;
  Rules& operator=(Rules&&) noexcept;
  ~Rules();

  Verdicts evaluate(const Subject& subject) const;
  std::vector<std::string> ids() const;
  /// What a rule would find: what needs no profile, so without bound, sentence and place. Errors:
  /// bad_input for an unknown id, with the nearest.
  Result<Finding> finding(const std::string& id) const;
  /// Every metric name that some rule reads; the lint holds it against what readers produce.
  std::vector<std::string> metrics() const;

 private:
  struct State;
  explicit Rules(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// "{shared.conflict_ways:.1f}-way on {shared.conflicts:n}" with the metrics' values filled in.
/// Formats: `n` thousands separators, `.<d>f`, `%` (a ratio as per cent), `p` SI prefix with unit.
/// Errors: an unknown format; an absent metric prints as "unknown".
Result<std::string> fill(const std::string& sentence, const MetricSet& metrics);

/// One kernel with everything known of it.
struct KernelEvidence {
  std::string name;
  profile::Launch launch;
  profile::DeviceFacts device;
  std::string id;  ///< what tells this launch from others of the kernel; empty when there is one
  MetricSet metrics;
  Verdicts verdicts;
  std::vector<profile::VendorRule> vendor_rules;
  std::vector<std::string> statements;  ///< implausible numbers, disagreements
};

struct Evidence {
  std::vector<profile::Artefact> artefacts;
  std::vector<KernelEvidence> kernels;
  std::vector<std::string> warnings;
};

/// "nvidia", "amd" or "cpu"; empty for an architecture that is not known.
std::string vendor_of_arch(std::string_view arch);

/// Reads any mix of profiler artefacts and code, joins what concerns the same kernel, and evaluates
/// the rules. Needs no GPU and no workspace.
Result<Evidence> gather(const std::vector<fs::path>& files, const Rules& rules,
                        ProcessRunner& runner);

/// Adds the vendor's model of occupancy (hardware/occupancy.h) to the metrics of a kernel whose
/// threads a block and registers are among them; `shared_bytes` are a block's, static and dynamic.
void model_occupancy(KernelEvidence& kernel, std::int64_t shared_bytes);

/// The shapes of docs/cli.md.
Json to_json(const Evidence& evidence);
Json to_json(const KernelEvidence& kernel);
Json to_json(const Finding& finding);
Json to_json(const Metric& metric);
Result<Finding> finding_from_json(const Json& json, const std::string& file);

}  // namespace burnish::evidence
