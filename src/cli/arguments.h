#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace burnish::cli {

/// What every verb takes.
struct Common {
  std::string folder = ".";
  std::string device = "auto";
  std::string color = "auto";
  std::vector<std::string> cards;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

/// The arguments of one verb, declared by its file and filled when the command line is parsed. The
/// referenced variables must outlive parse().
class Arguments {
 public:
  using Action = std::function<Result<int>()>;

  Arguments& positional(const std::string& name, std::string& value, const std::string& help);
  Arguments& positionals(const std::string& name, std::vector<std::string>& values,
                         const std::string& help);
  Arguments& required();  ///< the argument declared last
  /// Takes all that stands behind "--".
  Arguments& trailing(std::vector<std::string>& values);
  Arguments& option(const std::string& name, std::string& value, const std::string& help);
  Arguments& option(const std::string& name, std::int64_t& value, const std::string& help);
  Arguments& option(const std::string& name, double& value, const std::string& help);
  Arguments& option(const std::string& name, std::optional<std::int64_t>& value,
                    const std::string& help);
  Arguments& option(const std::string& name, std::optional<double>& value, const std::string& help);
  Arguments& options(const std::string& name, std::vector<std::string>& values,
                     const std::string& help);
  Arguments& flag(const std::string& name, bool& value, const std::string& help);
  Arguments& device_option(Common& common);
  /// A verb below this one: `memory read`.
  Arguments verb(const std::string& name, const std::string& help);
  /// What runs when this verb was given.
  void action(Action action);

 private:
  friend class CommandLine;
  struct State;
  explicit Arguments(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// The whole command line.
class CommandLine {
 public:
  explicit CommandLine(Common& common);
  ~CommandLine();
  Arguments verb(const std::string& name, const std::string& help);
  /// The action of the verb given; absent when help or the version was asked for, and was printed.
  /// Errors: bad_input with the nearest right name.
  Result<std::optional<Arguments::Action>> parse(int argc, char** argv);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace burnish::cli
