#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workspace/workspace.h"

namespace burnish::workspace {

// The verbs of `burnish memory`. Those that write need a workspace that is open for writing; a
// change to a record whose version has a commit is committed at once, another waits for its
// version's.

enum class Overwrite { no, yes };
enum class Masked { refuse, show };

/// Makes memory/.
Result<void> memory_init(Workspace& workspace);
/// A record with nothing but its version and the time. Errors: bad_input when there is one already.
Result<Record> memory_create(Workspace& workspace, int version, Overwrite overwrite);
/// The whole record, or the value at a dotted path ("performance.latency_us"). Errors: refused for
/// a masked record unless it is asked for.
Result<Json> memory_read(const Workspace& workspace, int version, const std::string& field,
                         Masked masked);
/// All records, or the unmasked ones, sorted.
Result<std::vector<Record>> memory_list(const Workspace& workspace, Masked masked);
/// `assignments` are "dotted.path=value": "quality_gate.result=PASS", "search_log=[…]",
/// "performance.latency_us_by_shape.square=12.5". `null` makes a value unknown. All hold, or none.
/// Errors: bad_input for an unknown path (with the nearest), a value of the wrong type, or a word
/// that is not allowed (with those that are).
Result<Record> memory_update(Workspace& workspace, int version,
                             const std::vector<std::string>& assignments);
enum class Masking { mask, unmask };
/// All of them or none. Errors: refused for v0.
Result<std::vector<Record>> memory_mask(Workspace& workspace, const std::vector<int>& versions,
                                        Masking masking);
/// The newest unmasked record. Errors: refused when there is none.
Result<Record> memory_latest(const Workspace& workspace);

/// One line of `memory summary`.
struct MemoryRow {
  std::string version, category, gate, verdict, commit;
  bool masked = false;
  std::optional<double> latency_us, tflops, bandwidth_gbps, speedup_over_baseline;
};
Result<std::vector<MemoryRow>> memory_summary(const Workspace& workspace);
Json to_json(const std::vector<MemoryRow>& rows);

}  // namespace burnish::workspace
