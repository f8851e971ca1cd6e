#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/bounds.h"
#include "measure/inputs.h"

namespace burnish::measure {

/// Inputs with the outputs that the reference gives for them.
struct Drawn {
  Family family = Family::normal;
  std::uint64_t seed = 0;
  Values inputs, expected;
  std::map<std::string, std::vector<std::byte>> bytes;  ///< inputs as buffers hold them
};

/// Draws inputs and asks the reference; keeps account of its time.
class Oracle {
 public:
  Oracle(Problem problem, Reference& reference)
      : problem_(std::move(problem)), reference_(reference) {}

  const Problem& problem() const { return problem_; }
  Reference& reference() { return reference_; }
  /// Absent when the family does not apply: the reference is not finite there, and the task does
  /// not allow that. Errors: refused when that happens with ordinary inputs.
  Result<std::optional<Drawn>> draw(Family family, std::uint64_t seed);
  /// The outputs for `drawn.inputs`, which the caller made, and the bytes.
  Result<void> complete(Drawn& drawn);
  /// How far each element of the outputs moves, by root mean square, when every input moves by a
  /// random share of at most `relative` of itself, divided by that share: the size of what a right
  /// kernel sums and cancels there.
  Result<Values> sensitivity(const Drawn& drawn, double relative);
  double seconds() const { return seconds_; }

 private:
  Result<Values> ask(const Values& inputs);
  bool finite(const Values& outputs) const;
  Problem problem_;
  Reference& reference_;
  double seconds_ = 0;
};

/// The two patterns that outputs, scratch and guards are filled with: a NaN, and a number between 6
/// and 8, as f32; both are different in every byte. What is added to the second shows in it, while
/// arithmetic hands the bits of the first on.
struct Poisons {
  std::uint32_t first, second;
};
Poisons draw_poisons(Generator& generator);

struct JudgeContext {
  Oracle* oracle = nullptr;  ///< asked about sensitivity, and to explain, when the run seems wrong
  const Values* stale = nullptr;                 ///< outputs for the inputs of the launch before
  const std::vector<Check>* baseline = nullptr;  ///< checks of the baseline to be held against
  std::string name;                              ///< of the check, to find the baseline's
  /// Whether elements that hold the poison were never written is judged from this run alone, or is
  /// known from two (unwritten()): arithmetic hands the bits of a NaN on.
  enum class Holes { judged, known } holes = Holes::judged;
};

/// What lies outside the buffers and the inputs must be as they were; "" when they are.
Result<std::string> trespassed(const Problem& problem, const Drawn& drawn,
                               const device::RunResult& run, std::uint32_t poison);

/// Judges one run in full.
Result<Check> judge(const Problem& problem, const Drawn& drawn, const device::RunResult& run,
                    std::uint32_t poison, const JudgeContext& context);

/// Elements that hold their poison in both runs were never written; "" when there are none.
Result<std::string> unwritten(const Problem& problem, const device::RunResult& first,
                              const device::RunResult& second, const Poisons& poisons);

/// The first output that differs between two runs on the same inputs, as a sentence; "" when none.
std::string difference(const Problem& problem, const device::RunResult& first,
                       const device::RunResult& second);

std::vector<device::Buffer> buffers(const Problem& problem);

/// Whether an error from a session is the candidate's doing (and not a lack of the machine).
bool is_fault_of_candidate(const Error& error);
Verdict verdict_of(const Error& error);
/// One line for Check::why.
std::string one_line(const Error& error);

}  // namespace burnish::measure
