#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "measure/compare.h"
#include "measure/verify.h"

namespace burnish::cheats {

/// The tasks that candidates of the suite claim to solve.
measure::Task matmul();          ///< C[M,N] = A[M,K] B[K,N] + bias[N], f32
measure::Task softmax();         ///< Y[R,C] = softmax of the rows of X[R,C], f32
measure::Task sum();             ///< s[1] = sum of x[N], f32
measure::Task gather();          ///< Y[N,D] = T[V,D] at rows I[N], f32 and i32
measure::Task sparse_gather();   ///< gather() of few rows of a large table
measure::Task scale();           ///< X[N] = X[N] · f[0] + 1 in place, f32
measure::Task axpy_bf16();       ///< Y[N] = a[0] X[N] + Y0[N], bf16
measure::Task dot_i8();          ///< C[M,N] = A[M,K] B[N,K], i8 to i32
measure::Task layernorm();       ///< Y[R,C] = (X - mean) / sqrt(variance + 1e-5), f32
measure::Task clamp();           ///< Y[N] = max(X[N], 0), f32; NaN and Inf as in the reference
measure::Task repeatable_sum();  ///< sum(), the same to the bit every time

using Extent = std::function<std::int64_t(const Variables& dims)>;
std::int64_t dim(const Variables& dims, const char* name);

/// One launch: a kernel, its grid in work-groups and block in work-items (one or two dimensions),
/// and its arguments by name, separated by spaces: tensors, scratch buffers, dimensions (as int).
struct Launch {
  std::string kernel;
  std::vector<Extent> grid;
  std::vector<std::int64_t> block;
  std::string arguments;
  std::function<bool(const Variables& dims)> when = {};  ///< absent: always
};
/// Conditions on a dimension for Launch::when.
std::function<bool(const Variables&)> below(const char* name, std::int64_t limit);
std::function<bool(const Variables&)> from(const char* name, std::int64_t limit);

/// A candidate of the suite.
struct Entry {
  std::string name;       ///< of the test
  std::string catalogue;  ///< number in the catalogue of cheats, or "" for an honest one
  measure::Task (*task)();
  std::string source;  ///< OpenCL C
  std::vector<Launch> launches;
  std::string why;  ///< a regular expression that the reason must match; "" when it must pass
  std::vector<std::pair<std::string, Extent>> scratch;  ///< name, bytes
  std::vector<std::string> options;
};

inline void PrintTo(const Entry& entry, std::ostream* stream) { *stream << entry.name; }

measure::Candidate candidate(const Entry& entry);

/// Seeds of the whole suite: $BURNISH_CHEATS_SEED tries other inputs and shapes.
std::uint64_t seed();
/// The OpenCL device that the suite runs on: a CPU, so that it runs everywhere.
const Result<std::unique_ptr<device::Device>>& opencl();

class NeedsOpenCl : public testing::Test {
 protected:
  void SetUp() override {
    if (!opencl()) GTEST_SKIP() << opencl().error().to_string();
  }
};

/// Grid of `per` items a group along a dimension.
Extent groups(const char* name, std::int64_t per);
Extent fixed(std::int64_t count);

std::vector<Entry> cheats();
std::vector<Entry> honest();

}  // namespace burnish::cheats
