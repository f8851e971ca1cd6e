// Whether evidence leads to the card that an expert would take: tests/retrieval/cases.toml says for
// each real profile or piece of machine code which, why, and who chose.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "base/toml.h"
#include "evidence/evidence.h"
#include "isa/pocl_fixture.h"
#include "knowledge/knowledge.h"

namespace burnish::knowledge {
namespace {

const fs::path kFolder = fs::path(BURNISH_SOURCE_DIR) / "tests/retrieval";
constexpr std::size_t kFirst = 3;
constexpr double kShare = 0.95;

struct Case {
  std::string profile, opencl, hip, target, kernel, why, chosen;
  std::vector<std::string> expect;
  std::array<std::size_t, 2> local{64, 1};
};

Result<std::vector<Case>> read_cases() {
  const fs::path file = kFolder / "cases.toml";
  BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(file));
  BURNISH_TRY_ASSIGN(TomlFields fields, TomlFields::parse(text, file.string()));
  std::vector<Case> cases;
  for (TomlFields& table : fields.tables("case")) {
    Case one;
    one.profile = table.string("profile", "");
    one.opencl = table.string("opencl", "");
    one.hip = table.string("hip", "");
    one.target = table.string("target", "");
    one.kernel = table.string("kernel");
    one.why = table.string("why");
    one.chosen = table.string("chosen");
    one.expect = table.strings("expect");
    const auto local = table.values("local");
    for (std::size_t i = 0; i < local.size() && i < 2; ++i) {
      one.local[i] = static_cast<std::size_t>(std::get<std::int64_t>(local[i]));
    }
    cases.push_back(std::move(one));
  }
  BURNISH_TRY(fields.finish());
  return cases;
}

/// Reads each artefact once; builds what is built at test time.
class Artefacts {
 public:
  explicit Artefacts(const evidence::Rules& rules) : rules_(rules) {}

  /// Absent when this machine cannot produce the artefact (no PoCL, no clang, no fixtures).
  std::optional<evidence::KernelEvidence> kernel(const Case& one) {
    const auto path = artefact(one);
    if (!path) return std::nullopt;
    auto [entry, fresh] = read_.try_emplace(path->string());
    if (fresh) {
      auto gathered = evidence::gather({*path}, rules_, real_process_runner());
      if (!gathered) {
        ADD_FAILURE() << path->string() << ": " << gathered.error().to_string();
        return std::nullopt;
      }
      entry->second = std::move(*gathered);
    }
    for (const evidence::KernelEvidence& kernel : entry->second.kernels) {
      if (contains(kernel.name, one.kernel)) return kernel;
    }
    ADD_FAILURE() << "no kernel '" << one.kernel << "' in " << path->string();
    return std::nullopt;
  }

 private:
  std::optional<fs::path> artefact(const Case& one) {
    if (!one.opencl.empty()) return pocl(one);
    if (!one.hip.empty()) return amd(one);
    const std::string_view shared = "shared:";
    const fs::path path =
        one.profile.starts_with(shared)
            ? fs::path(BURNISH_SHARED_DIR) / "fixtures" / one.profile.substr(shared.size())
            : kFolder / one.profile;
    if (!fs::exists(path)) return std::nullopt;
    return path;
  }

  static std::optional<fs::path> pocl(const Case& one) {
    if (!isa::Pocl::get().missing().empty()) return std::nullopt;
    const auto source = real_file_system().read(kFolder / one.opencl);
    if (!source) return std::nullopt;
    const auto object = isa::Pocl::get().build(*source, one.kernel, 256, {256, 4}, one.local);
    if (!object) {
      ADD_FAILURE() << object.error().to_string();
      return std::nullopt;
    }
    return *object;
  }

  std::optional<fs::path> amd(const Case& one) {
    const auto clang = find_program({"clang-22", "clang++-22"});
    if (!clang) return std::nullopt;
    if (!folder_) {
      auto folder = TemporaryFolder::make();
      if (!folder) return std::nullopt;
      folder_.emplace(std::move(*folder));
    }
    const fs::path listing = folder_->path() / (one.target + ".s");
    if (fs::exists(listing)) return listing;
    ProcessSpec spec;
    spec.argv = {clang->string(),
                 "-x",
                 "hip",
                 "--offload-arch=" + one.target,
                 "--cuda-device-only",
                 "-nogpulib",
                 "-nogpuinc",
                 "-O3",
                 "-S",
                 "-o",
                 listing.string(),
                 (kFolder / one.hip).string()};
    const auto result = real_process_runner().run(spec);
    if (!result || !result->ok()) {
      ADD_FAILURE() << (result ? result->errors : result.error().to_string());
      return std::nullopt;
    }
    return listing;
  }

  const evidence::Rules& rules_;
  std::optional<TemporaryFolder> folder_;
  std::map<std::string, evidence::Evidence> read_;
};

TEST(Retrieval, TheExpertsCardIsAmongTheFirstThree) {
  const auto cases = read_cases();
  ASSERT_TRUE(cases) << cases.error().to_string();
  const auto rules = evidence::Rules::load();
  ASSERT_TRUE(rules) << rules.error().to_string();
  const auto base = CardBase::load();
  ASSERT_TRUE(base) << base.error().to_string();
  Artefacts artefacts(*rules);
  int tried = 0;
  int held = 0;
  std::string missed;
  for (const Case& one : *cases) {
    for (const std::string& id : one.expect) EXPECT_TRUE(base->find(id)) << id;
    const auto kernel = artefacts.kernel(one);
    if (!kernel) continue;
    ++tried;
    const auto hits = base->for_evidence(subject_of(*kernel), kernel->verdicts, {}, 8);
    std::size_t rank = 0;
    while (rank < hits.size() &&
           std::find(one.expect.begin(), one.expect.end(), hits[rank].id) == one.expect.end()) {
      ++rank;
    }
    if (rank < std::min(kFirst, hits.size())) {
      ++held;
      continue;
    }
    missed += "\n" + one.kernel + " wants " + join(one.expect, ", ") + " (" + one.why + ")\n" +
              to_text(hits);
    for (const evidence::Finding& finding : kernel->verdicts.findings) {
      missed += "       finding " + finding.id + ": " + finding.because + "\n";
    }
  }
  std::printf("%d of %d cases hold; %zu are listed\n", held, tried, cases->size());
  if (tried == 0) GTEST_SKIP() << "no artefact is there";
  EXPECT_GE(cases->size(), 40u);
  EXPECT_GE(static_cast<double>(held), kShare * tried) << missed;
}

}  // namespace
}  // namespace burnish::knowledge
