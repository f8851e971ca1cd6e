#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <system_error>

#include "base/clock.h"
#include "base/data.h"
#include "base/hash.h"
#include "base/text.h"
#include "measure/inputs.h"
#include "measure/problem.h"

namespace burnish::measure {
namespace {

constexpr std::chrono::milliseconds kCompileDeadline{120'000};
constexpr std::chrono::milliseconds kComputeDeadline{600'000};
/// Results that took less than this to compute are not worth a file.
constexpr std::chrono::milliseconds kWorthKeeping{50};
constexpr std::uint64_t kCacheLimit = 512u << 20;
/// Larger ones take as long to write and read as most take to compute.
constexpr std::uint64_t kLargestKept = 64u << 20;
constexpr std::uint32_t kLongestMessage = 1u << 16;

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to.append(text);
}

void put_shape(std::string& to, const Tensor& tensor) {
  put(to, static_cast<std::uint32_t>(tensor.shape.size()));
  for (const std::int64_t size : tensor.shape) put(to, size);
}

std::string_view as_text(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::vector<double> as_doubles(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

/// The last lines of what a program said, for messages.
std::string tail(const std::string& text) {
  auto lines = split_lines(trim(text));
  const std::size_t first = lines.size() > 6 ? lines.size() - 6 : 0;
  std::vector<std::string> kept;
  for (std::size_t i = first; i < lines.size(); ++i) kept.emplace_back(lines[i]);
  return to_valid_utf8(join(kept, "\n"));
}

/// Frees the oldest results when they have grown past the limit. A cache that cannot be trimmed is
/// no reason to stop.
void trim_cache(const fs::path& folder) {
  struct Entry {
    fs::path path;
    fs::file_time_type time;
    std::uint64_t size;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    entries.push_back({entry.path(), entry.last_write_time(ignored), entry.file_size(ignored)});
    total += entries.back().size;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const Entry& entry : entries) {
    if (total <= kCacheLimit) break;
    fs::remove(entry.path, ignored);
    total -= entry.size;
  }
}

/// A reference that runs as a program which answers one request after another.
class ProgramReference : public Reference {
 public:
  ProgramReference(std::string file, std::string identity, fs::path cache, ProcessSpec spec)
      : file_(std::move(file)),
        identity_(std::move(identity)),
        cache_(std::move(cache)),
        spec_(std::move(spec)) {}

  Result<Values> compute(const Problem& problem, const Values& inputs) override {
    BURNISH_TRY_ASSIGN(const std::string request, encode(problem, inputs));
    const fs::path kept = cache_.empty() ? fs::path() : cache_ / key(request);
    if (!kept.empty() && real_file_system().exists(kept)) {
      if (auto content = real_file_system().read(kept)) {
        auto values = decode(problem, *content);
        if (values) return values;
      }
    }
    const auto start = real_clock().steady();
    BURNISH_TRY_ASSIGN(const std::string answer, ask(problem, request));
    auto values = decode(problem, answer);
    if (!kept.empty() && answer.size() <= kLargestKept &&
        real_clock().steady() - start > kWorthKeeping) {
      trim_cache(cache_);
      BURNISH_TRY(real_file_system().write(kept, answer));
    }
    return values;
  }

 private:
  std::string key(const std::string& request) const {
    return Hasher().add("reference", identity_).add("request", request).digest() + ".f64";
  }

  Result<std::string> encode(const Problem& problem, const Values& inputs) const {
    std::string request;
    put(request, static_cast<std::uint32_t>(problem.dims.size()));
    for (const auto& [name, value] : problem.dims) {
      put_text(request, name);
      put(request, value);
    }
    std::uint32_t input_count = 0, output_count = 0;
    for (const Tensor& tensor : problem.tensors) {
      if (is_input(tensor)) ++input_count;
      if (is_output(tensor)) ++output_count;
    }
    put(request, input_count);
    for (const Tensor& tensor : problem.tensors) {
      if (!is_input(tensor)) continue;
      auto found = inputs.find(tensor.name);
      if (found == inputs.end() ||
          found->second.size() != static_cast<std::size_t>(tensor.elements())) {
        return bug(fmt::format("the reference was asked without input {}", tensor.name));
      }
      put_text(request, tensor.name);
      put_shape(request, tensor);
      request.append(as_text(found->second));
    }
    put(request, output_count);
    for (const Tensor& tensor : problem.tensors) {
      if (!is_output(tensor)) continue;
      put_text(request, tensor.name);
      put_shape(request, tensor);
    }
    return request;
  }

  static std::size_t answer_size(const Problem& problem) {
    std::size_t size = 0;
    for (const Tensor& tensor : problem.tensors) {
      if (is_output(tensor)) size += static_cast<std::size_t>(tensor.elements()) * sizeof(double);
    }
    return size;
  }

  Result<Values> decode(const Problem& problem, std::string_view answer) const {
    if (answer.size() != answer_size(problem)) {
      return bug(fmt::format("a kept result of {} has the wrong size", file_));
    }
    Values values;
    for (const Tensor& tensor : problem.tensors) {
      if (!is_output(tensor)) continue;
      const std::size_t size = static_cast<std::size_t>(tensor.elements()) * sizeof(double);
      values[tensor.name] = as_doubles(answer.substr(0, size));
      answer.remove_prefix(size);
    }
    return values;
  }

  Result<std::string> ask(const Problem& problem, const std::string& request) {
    if (!child_) {
      BURNISH_TRY_ASSIGN(auto child, ChildProcess::start(spec_));
      child_ = std::make_unique<ChildProcess>(std::move(child));
    }
    if (auto sent = child_->write(request, kComputeDeadline); !sent) return failed(sent.error());
    auto status = child_->read(1, kComputeDeadline);
    if (!status) return failed(status.error());
    if ((*status)[0] != 0) {
      auto length = child_->read(sizeof(std::uint32_t), kComputeDeadline);
      if (!length) return failed(length.error());
      std::uint32_t size = 0;
      std::memcpy(&size, length->data(), sizeof size);
      auto message = child_->read(std::min(size, kLongestMessage), kComputeDeadline);
      if (!message) return failed(message.error());
      if (size > kLongestMessage) child_.reset();
      return refused(fmt::format("the reference failed at {}: {}", describe(problem.dims),
                                 to_valid_utf8(*message)))
          .at({file_, 0, 0});
    }
    auto answer = child_->read(answer_size(problem), kComputeDeadline);
    if (!answer) return failed(answer.error());
    return answer;
  }

  Error failed(const Error& error) {
    if (error.kind == ErrorKind::timeout) {
      child_.reset();
      return timed_out(fmt::format("the reference did not finish within {} s",
                                   kComputeDeadline.count() / 1000))
          .at({file_, 0, 0});
    }
    const std::string said = tail(child_->errors());
    const std::string end = child_->finish().describe();
    child_.reset();
    return refused(fmt::format("the reference {}{}{}", end, said.empty() ? "" : ": ", said))
        .at({file_, 0, 0});
  }

  static std::string describe(const Variables& dims) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : dims) parts.push_back(name + "=" + number_text(value));
    return join(parts, " ");
  }

  std::string file_, identity_;
  fs::path cache_;
  ProcessSpec spec_;
  std::unique_ptr<ChildProcess> child_;
};

/// The contents of `file` and of the files beside it that it includes by #include "…", so that a
/// change in any of them gives another program.
Result<void> add_sources(const fs::path& file, std::set<fs::path>& seen, Hasher& hasher) {
  if (!seen.insert(file).second) return {};
  BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(file, 16u << 20));
  hasher.add(file.filename().string(), text);
  for (std::string_view line : split_lines(text)) {
    line = trim(line);
    if (line.empty() || line[0] != '#') continue;
    const auto open = line.find('"');
    const auto close = line.rfind('"');
    if (!contains(line, "include") || open == std::string_view::npos || close <= open) continue;
    const fs::path other =
        file.parent_path() / std::string(line.substr(open + 1, close - open - 1));
    if (real_file_system().exists(other)) BURNISH_TRY(add_sources(other, seen, hasher));
  }
  return {};
}

Result<std::shared_ptr<Reference>> open_cpp(const fs::path& file, const fs::path& cache_folder,
                                            ProcessRunner& runner) {
  const auto compiler = find_program({"c++", "g++", "clang++"});
  if (!compiler) {
    return environment_error("no C++ compiler is on PATH to compile the reference")
        .with_hint("apt-get install g++");
  }
  const std::vector<std::string> flags = {"-std=c++20", "-O2", "-ffp-contract=off", "-pthread"};
  BURNISH_TRY_ASSIGN(const DataFile header, data_file("reference/burnish_reference.h"));
  BURNISH_TRY_ASSIGN(const DataFile main, data_file("reference/main.cpp"));
  Hasher hasher;
  std::set<fs::path> seen;
  hasher.add("header", header.content).add("main", main.content).add("flags", join(flags, " "));
  hasher.add("compiler", fs::canonical(*compiler).string());
  BURNISH_TRY(add_sources(file, seen, hasher));
  const std::string identity = hasher.digest();

  const fs::path program = cache_folder / "programs" / identity;
  if (!real_file_system().exists(program)) {
    BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("burnish-reference"));
    BURNISH_TRY(real_file_system().write(folder.path() / "burnish_reference.h", header.content));
    BURNISH_TRY(real_file_system().write(folder.path() / "main.cpp", main.content));
    ProcessSpec spec;
    spec.argv = {compiler->string()};
    spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
    const std::string made = (folder.path() / "reference").string();
    for (const std::string& argument :
         {"-I" + folder.path().string(), "-I" + file.parent_path().string(), file.string(),
          (folder.path() / "main.cpp").string(), std::string("-o"), made}) {
      spec.argv.push_back(argument);
    }
    spec.deadline = kCompileDeadline;
    BURNISH_TRY_ASSIGN(const ProcessResult result, runner.run(spec));
    if (!result.ok()) {
      const auto lines = split_lines(trim(result.errors));
      std::string first = result.describe();
      for (const std::string_view line : lines) {
        if (contains(line, "error:") || contains(line, "undefined reference")) {
          first = std::string(line);
          break;
        }
      }
      return bad_input(fmt::format("the reference does not compile: {}", to_valid_utf8(first)))
          .at({file.string(), 0, 0})
          .with_hint(
              "it must define void reference(const burnish::Dims&, const burnish::Inputs&, "
              "burnish::Outputs&); see docs/workspace.md");
    }
    BURNISH_TRY_ASSIGN(const std::string bytes, real_file_system().read(made));
    BURNISH_TRY(real_file_system().write(program.string() + ".new", bytes));
    std::error_code error;
    fs::permissions(program.string() + ".new",
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read, error);
    if (!error) fs::rename(program.string() + ".new", program, error);
    if (error) {
      return environment_error(fmt::format("the compiled reference cannot be kept as {}: {}",
                                           program.string(), error.message()));
    }
  }
  ProcessSpec spec;
  spec.argv = {program.string()};
  spec.output_limit = 1u << 30;  // an answer comes in one piece
  return std::make_shared<ProgramReference>(file.string(), identity, cache_folder / "results",
                                            std::move(spec));
}

Result<std::shared_ptr<Reference>> open_python(const fs::path& file, const fs::path& cache_folder,
                                               ProcessRunner& runner) {
  // A python3 of the user's own often comes first on PATH and may lack numpy.
  std::vector<std::string> tried;
  std::optional<fs::path> python;
  std::string version;
  for (const auto& candidate : {find_program({"python3"}), find_program({"/usr/bin/python3"})}) {
    if (!candidate || python) continue;
    ProcessSpec spec;
    spec.argv = {candidate->string(), "-c",
                 "import sys, numpy; print(sys.version, numpy.__version__)"};
    BURNISH_TRY_ASSIGN(const ProcessResult result, runner.run(spec));
    tried.push_back(candidate->string());
    if (!result.ok()) continue;
    python = candidate;
    version = result.output;
  }
  if (!python) {
    return environment_error(tried.empty()
                                 ? std::string("no python3 is on PATH to run the reference")
                                 : fmt::format("the reference needs numpy, which {} cannot import",
                                               join(tried, " and ")))
        .at({file.string(), 0, 0})
        .with_hint("apt-get install python3-numpy");
  }
  BURNISH_TRY_ASSIGN(const DataFile script, data_file("reference/run_reference.py"));
  Hasher hasher;
  std::set<fs::path> seen;
  hasher.add("script", script.content).add("python", version);
  BURNISH_TRY(add_sources(file, seen, hasher));
  ProcessSpec spec;
  spec.argv = {python->string(), "-c", script.content, file.string()};
  spec.extra_environment = {{"PYTHONDONTWRITEBYTECODE", "1"}};
  spec.output_limit = 1u << 30;  // an answer comes in one piece
  return std::make_shared<ProgramReference>(file.string(), hasher.digest(),
                                            cache_folder / "results", std::move(spec));
}

}  // namespace

Result<std::shared_ptr<Reference>> open_reference(const fs::path& file,
                                                  const fs::path& cache_folder,
                                                  ProcessRunner& runner) {
  if (!real_file_system().exists(file)) {
    return bad_input("the reference does not exist").at({file.string(), 0, 0});
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(file, error);
  const fs::path cache = cache_folder / "reference";
  BURNISH_TRY(real_file_system().make_folder(cache / "results"));
  BURNISH_TRY(real_file_system().make_folder(cache / "programs"));
  if (file.extension() == ".cpp") return open_cpp(absolute, cache, runner);
  if (file.extension() == ".py") return open_python(absolute, cache, runner);
  return bad_input("a reference is a .cpp or a .py file").at({file.string(), 0, 0});
}

}  // namespace burnish::measure
