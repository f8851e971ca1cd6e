#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <string_view>

#include "base/text.h"
#include "cli/version.h"

namespace burnish::cli {

struct Arguments::State {
  CLI::App* app = nullptr;
  CLI::Option* last = nullptr;
  std::optional<Action>* chosen = nullptr;
  std::map<std::string, std::vector<std::string>*>* trailing = nullptr;  ///< by verb
};

Arguments::Arguments(std::shared_ptr<State> state) : state_(std::move(state)) {}

Arguments& Arguments::positional(const std::string& name, std::string& value,
                                 const std::string& help) {
  state_->last = state_->app->add_option(name, value, help);
  return *this;
}
Arguments& Arguments::positionals(const std::string& name, std::vector<std::string>& values,
                                  const std::string& help) {
  state_->last = state_->app->add_option(name, values, help);
  return *this;
}
Arguments& Arguments::required() {
  state_->last->required();
  return *this;
}
Arguments& Arguments::trailing(std::vector<std::string>& values) {
  (*state_->trailing)[state_->app->get_name()] = &values;
  return *this;
}
Arguments& Arguments::option(const std::string& name, std::string& value, const std::string& help) {
  state_->last = state_->app->add_option(name, value, help);
  return *this;
}
Arguments& Arguments::option(const std::string& name, std::int64_t& value,
                             const std::string& help) {
  state_->last = state_->app->add_option(name, value, help)->capture_default_str();
  return *this;
}
Arguments& Arguments::option(const std::string& name, double& value, const std::string& help) {
  state_->last = state_->app->add_option(name, value, help)->capture_default_str();
  return *this;
}
Arguments& Arguments::option(const std::string& name, std::optional<std::int64_t>& value,
                             const std::string& help) {
  state_->last = state_->app->add_option(name, value, help);
  return *this;
}
Arguments& Arguments::option(const std::string& name, std::optional<double>& value,
                             const std::string& help) {
  state_->last = state_->app->add_option(name, value, help);
  return *this;
}
Arguments& Arguments::options(const std::string& name, std::vector<std::string>& values,
                              const std::string& help) {
  state_->last = state_->app->add_option(name, values, help);
  return *this;
}
Arguments& Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  state_->last = state_->app->add_flag(name, value, help);
  return *this;
}
Arguments& Arguments::device_option(Common& common) {
  state_->last =
      state_->app
          ->add_option("--device", common.device, "cuda:0, hip:1, opencl:0, opencl:pocl or auto")
          ->capture_default_str();
  return *this;
}

Arguments Arguments::verb(const std::string& name, const std::string& help) {
  auto state = std::make_shared<State>();
  state->app = state_->app->add_subcommand(name, help)->fallthrough();
  state->chosen = state_->chosen;
  state->trailing = state_->trailing;
  state_->app->require_subcommand(1);
  return Arguments(std::move(state));
}

void Arguments::action(Action action) {
  state_->app->callback(
      [chosen = state_->chosen, action = std::move(action)] { *chosen = action; });
}

struct CommandLine::State {
  CLI::App app{
      "burnish takes a GPU kernel that is right and makes it fast, one measured step at a time."};
  std::optional<Arguments::Action> chosen;
  std::map<std::string, std::vector<std::string>*> trailing;
};

CommandLine::CommandLine(Common& common) : state_(std::make_unique<State>()) {
  CLI::App& app = state_->app;
  app.name("burnish");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("burnish ") + kVersion);
  app.add_option("-C", common.folder, "the workspace (default: this folder)");
  app.add_flag("--json", common.json, "print one JSON value on stdout and nothing else there");
  app.add_flag("-q,--quiet", common.quiet, "print results only");
  app.add_flag("-v,--verbose", common.verbose, "print more");
  app.add_option("--color", common.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--cards", common.cards,
                 "a folder of your own cards, beside those that burnish.toml names")
      ->allow_extra_args(false);
}

CommandLine::~CommandLine() = default;

Arguments CommandLine::verb(const std::string& name, const std::string& help) {
  auto state = std::make_shared<Arguments::State>();
  state->app = state_->app.add_subcommand(name, help)->fallthrough();
  state->chosen = &state_->chosen;
  state->trailing = &state_->trailing;
  return Arguments(std::move(state));
}

namespace {

/// Every verb and option that could have been meant.
void collect_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  for (const auto* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(child->get_name());
    collect_names(*child, names);
  }
}

/// The verb, or the verb's verb, that the line came to.
const CLI::App* deepest(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? &app : deepest(*verbs[0]);
}

}  // namespace

Result<std::optional<Arguments::Action>> CommandLine::parse(int argc, char** argv) {
  CLI::App& app = state_->app;
  // CLI11 gives what stands behind "--" to the whole program, not to its verb.
  const auto dashes = std::find(argv, argv + argc, std::string_view("--"));
  for (auto word = argv; word != dashes; ++word) {
    const auto verb = state_->trailing.find(*word);
    if (verb == state_->trailing.end()) continue;
    if (dashes != argv + argc) verb->second->assign(dashes + 1, argv + argc);
    argc = static_cast<int>(dashes - argv);
    break;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    // "check --version v3" must not look as if v3 had been checked.
    if (const auto verbs = app.get_subcommands(); !verbs.empty()) {
      return bad_input(fmt::format("{} has no option --version", verbs[0]->get_name()))
          .with_hint(
              "versions of a kernel stand alone: `burnish check v3`, `burnish memory read "
              "v3`; burnish's own is `burnish --version`");
    }
    app.exit(version, std::cout, std::cerr);
    return std::optional<Arguments::Action>();
  } catch (const CLI::Success& help) {
    app.exit(help, std::cout, std::cerr);
    return std::optional<Arguments::Action>();
  } catch (const CLI::ParseError& error) {
    std::vector<std::string> names;
    collect_names(app, names);
    std::string hint =
        "`burnish --help` lists the verbs, `burnish VERB --help` the arguments of one";
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.size() < 2 || std::find(names.begin(), names.end(), word) != names.end()) continue;
      if (const auto near = nearest(word.substr(0, word.find('=')), names);
          near && *near != word.substr(0, word.find('='))) {
        hint = "did you mean " + *near + "?";
        break;
      }
    }
    // CLI11 misses a verb before it looks at what stands in its place.
    std::string message = error.what();
    if (const CLI::App* asked = deepest(app); asked->get_require_subcommand_min() > 0) {
      const auto extra = app.remaining(true);
      if (!extra.empty()) {
        message = fmt::format("{} has no {} \"{}\"", asked->get_name(),
                              extra[0].starts_with('-') ? "option" : "verb", extra[0]);
      } else if (asked->get_subcommands().empty()) {
        std::vector<std::string> verbs;
        for (const auto* verb : asked->get_subcommands([](const CLI::App*) { return true; }))
          verbs.push_back(verb->get_name());
        message = fmt::format("{} needs a verb: {}", asked->get_name(), join(verbs, ", "));
      }
    }
    return bad_input(message).with_hint(hint);
  }
  return state_->chosen;
}

}  // namespace burnish::cli
