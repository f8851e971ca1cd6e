#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "measure/problem.h"

namespace burnish::measure {

enum class Verdict { pass, fail, timeout };  ///< prints as PASS, FAIL, TIMEOUT_FAIL
const char* to_string(Verdict verdict);

struct WorstElement {
  std::string tensor;
  std::vector<std::int64_t> index;
  double got = 0, want = 0, bound = 0;
};

struct Errors {
  double max_abs = 0, max_rel = 0;
  double slice = 0;   ///< largest relative error (2-norm) of any slice along the leading dimensions
  double global = 0;  ///< relative error of the whole tensor, 2-norm
  std::string worst_slice;  ///< "C[17, :]"
};

/// One check: one workload (or one of the judge's own shapes) with one seed and family of inputs.
struct Check {
  std::string name;  ///< "square-1024", "ragged 1: M=37 N=1 K=129"
  std::uint64_t seed = 0;
  std::string inputs;  ///< family: "normal", "zeros", "impulses", …
  Verdict verdict = Verdict::pass;
  Errors errors;
  std::vector<WorstElement> worst;
  std::vector<std::int64_t> histogram;  ///< of error/bound by decade, from ≤ 1e-6 up to > 1
  std::string why;                      ///< names what is wrong and where; empty when it passed
};

struct Verification {
  Verdict verdict = Verdict::pass;
  std::vector<Check> checks;
  std::string why;  ///< of the first failure
  /// Set when the candidate's crash or hang left the device unable to run a known-good kernel.
  std::string device_problem;
  double seconds = 0;  ///< of these, the three below
  double reference_seconds = 0, build_seconds = 0, run_seconds = 0;
};

struct VerifyOptions {
  int seeds = 2;                                              ///< a workload
  enum class Shapes { workloads, all } shapes = Shapes::all;  ///< all: the judge's own as well
  enum class Inputs { normal, all } inputs = Inputs::all;
  /// Errors of the baseline at the same workloads, to bound the candidate's by (docs/judging.md).
  std::vector<Check> baseline;
};

/// Builds and judges a candidate. An Error means that judging was not possible (no device, broken
/// reference); what the candidate did wrong, not compiling included, is in the result.
Result<Verification> verify(device::Device& device, const Task& task, const Candidate& candidate,
                            const device::Limits& limits, const VerifyOptions& options,
                            Random& random);

/// A device that checks every access of the kernels that run on it, and says what it found in
/// Session::messages().
struct Sanitizer {
  std::string name;
  std::unique_ptr<device::Device> device;
};
/// Those for such a device: the simulator oclgrind for OpenCL, the Compute Sanitizer's memcheck and
/// racecheck for CUDA. Errors: environment, naming what is not installed.
Result<std::vector<Sanitizer>> open_sanitizers(const device::DeviceInfo& info,
                                               const device::DeviceOptions& options);
/// One launch under a sanitizer, which is up to 1,000 times slower, with ordinary inputs at the
/// smallest problem there is: finds reads and writes outside buffers, and data races. Check::inputs
/// is "sanitizer". An error (the problem is too large, or the launch did not end or failed without
/// a finding) is not put down to the candidate: its outputs were judged on the device.
Result<Check> sanitize(const Sanitizer& sanitizer, const Task& task, const Candidate& candidate,
                       device::Limits limits, Random& random);

/// Judges one run of a session that is open already.
Result<Check> check_run(const Problem& problem, const Values& inputs, const Values& expected,
                        const device::RunResult& run, std::uint32_t poison);

/// A null candidate that passed, or an input that does not matter: what makes the task weak.
struct Weakness {
  std::string what;  ///< "zeros pass", "input bias does not influence any output"
  std::string workload;
  std::string tighten;
};

struct Lint {
  std::vector<Weakness> weaknesses;
  std::vector<std::string> tried;
};

/// Judges the task itself: null candidates (zeros, constants, inputs copied to outputs, stale
/// output, a truncated reduction) must fail, and every input must influence an output. Needs no
/// device.
Result<Lint> lint(const Task& task, Random& random);

Json to_json(const Verification& verification);
Json to_json(const Lint& lint);

}  // namespace burnish::measure
