#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "measure/judge.h"
#include "measure/shapes.h"
#include "measure/verify.h"

namespace burnish::measure {
namespace {

constexpr int kDraws = 2;  ///< a weakness must show with each

class Linter {
 public:
  Linter(const Task& task, Random& random) : task_(task), generator_(random.seed()) {}

  Result<Lint> run() {
    if (task_.workloads.empty()) return bad_input("the task has no workload");
    BURNISH_TRY_ASSIGN(const Workload smallest, smallest_workload(task_));
    // What an input does to the outputs is seen where the reference is quickest. Where it does
    // nothing, its part may be one that dimensions switch on.
    std::vector<Workload> workloads = task_.workloads;
    std::stable_partition(workloads.begin(), workloads.end(),
                          [&](const Workload& one) { return one.name == smallest.name; });
    for (const Workload& workload : workloads) {
      BURNISH_TRY_ASSIGN(Problem problem, task_.problem(workload.name, workload.dims));
      oracle_ = std::make_unique<Oracle>(std::move(problem), *task_.reference);
      draws_.clear();
      moves_.assign(kDraws, {});
      for (int i = 0; i < kDraws; ++i) {
        BURNISH_TRY_ASSIGN(auto drawn, oracle_->draw(Family::normal, generator_.next()));
        draws_.push_back(std::move(*drawn));
      }
      BURNISH_TRY(null_candidates());
      BURNISH_TRY(sensitivity());
    }
    for (auto& [name, weakness] : idle_) lint_.weaknesses.push_back(std::move(weakness));
    return std::move(lint_);
  }

 private:
  const Problem& problem() const { return oracle_->problem(); }

  /// Whether the judge would let `outputs` pass for those of a draw.
  Result<bool> passes(std::size_t draw, const Values& outputs) {
    const Drawn& drawn = draws_[draw];
    for (const Tensor& tensor : problem().tensors) {
      if (!is_output(tensor)) continue;
      const auto& want = drawn.expected.at(tensor.name);
      const auto got = rounded(tensor.dtype, outputs.at(tensor.name));
      const ErrorModel model = error_model(problem(), tensor, Rounding::random);
      const auto is_right = [&](std::span<const double> moves) {
        const auto bounds = element_bounds(model, tensor, want, moves);
        return compare(tensor, got, want, bounds, model, problem().tolerance.non_finite).right();
      };
      if (is_right({})) continue;
      if (model.spread == 0) return false;
      Values& moves = moves_[draw];
      if (moves.empty()) {
        BURNISH_TRY_ASSIGN(moves, oracle_->sensitivity(drawn, model.perturbation));
      }
      if (!is_right(moves.at(tensor.name))) return false;
    }
    return true;
  }

  /// Tries one null candidate: `make` gives its outputs for one draw, or nothing when it cannot be
  /// made for this task.
  template <class Make>
  Result<bool> try_candidate(const std::string& what, Make&& make) {
    bool all = true;
    for (std::size_t i = 0; all && i < draws_.size(); ++i) {
      std::optional<Values> outputs = make(i);
      if (!outputs) return false;
      BURNISH_TRY_ASSIGN(all, passes(i, *outputs));
    }
    note(what);
    if (all) weakness(what + " pass", advice());
    return all;
  }

  Result<void> null_candidates() {
    auto filled = [&](auto&& value) {
      return [&, value](std::size_t i) {
        Values outputs = draws_[i].expected;
        for (auto& [name, values] : outputs) {
          const double constant = value(values);
          std::fill(values.begin(), values.end(), constant);
        }
        return std::optional<Values>(std::move(outputs));
      };
    };
    const auto zeros = filled([](const std::vector<double>&) { return 0.0; });
    BURNISH_TRY_ASSIGN(const bool zeros_pass, try_candidate("zeros", zeros));
    BURNISH_TRY(try_candidate("ones", filled([](const std::vector<double>&) { return 1.0; })));
    BURNISH_TRY(try_candidate("outputs that are their mean everywhere",
                              filled([](const std::vector<double>& all) {
                                double sum = 0;
                                for (const double value : all) sum += value;
                                return all.empty() ? 0.0 : sum / static_cast<double>(all.size());
                              })));
    BURNISH_TRY(try_candidate("outputs for other inputs (a stale buffer)", [&](std::size_t i) {
      return std::optional<Values>(draws_[(i + 1) % draws_.size()].expected);
    }));
    // A kernel may do its work for one output and leave out another.
    const Values& expected = draws_[0].expected;
    for (const auto& [name, unused] : expected) {
      if (expected.size() < 2 || zeros_pass) break;
      BURNISH_TRY(try_candidate(fmt::format("zeros in output {} alone", name), [&](std::size_t i) {
        Values one = draws_[i].expected;
        std::fill(one[name].begin(), one[name].end(), 0.0);
        return std::optional<Values>(std::move(one));
      }));
    }
    for (const Tensor& input : problem().tensors) {
      if (!is_input(input)) continue;
      BURNISH_TRY(try_candidate(fmt::format("outputs copied from input {}", input.name),
                                [&](std::size_t i) -> std::optional<Values> {
                                  Values outputs = draws_[i].expected;
                                  const auto& given = draws_[i].inputs.at(input.name);
                                  for (auto& [name, values] : outputs) {
                                    if (values.size() != given.size()) return std::nullopt;
                                    values = given;
                                  }
                                  return outputs;
                                }));
    }
    return {};
  }

  /// Whether the outputs follow a change of the inputs beyond the tolerance, with any draw.
  template <class Change>
  Result<bool> matters(Change&& change) {
    for (std::size_t i = 0; i < draws_.size(); ++i) {
      Drawn changed;
      changed.inputs = draws_[i].inputs;
      change(changed.inputs);
      auto completed = oracle_->complete(changed);
      // A reference that refuses the changed inputs depends on them.
      if (!completed)
        return completed.error().kind == ErrorKind::refused ? Result<bool>(true)
                                                            : Result<bool>(completed.error());
      BURNISH_TRY_ASSIGN(const bool same, passes(i, changed.expected));
      if (!same) return true;
    }
    return false;
  }

  Result<void> sensitivity() {
    for (const Tensor& input : problem().tensors) {
      if (!is_input(input) || input.elements() == 0 || settled_.contains(input.name)) continue;
      note(fmt::format("input {} redrawn", input.name));
      if (input.draw.kind == Draw::Kind::constant) {
        settled_.insert(input.name);
        weakness(
            fmt::format("input {} is always drawn as {}: a kernel that has the constant built in "
                        "passes",
                        input.name, number_text(input.draw.constant)),
            fmt::format("draw {} from a distribution, or make it no input", input.name));
        continue;
      }
      BURNISH_TRY_ASSIGN(const bool any, matters([&](Values& inputs) {
                           inputs[input.name] = draw_tensor(input, generator_);
                         }));
      if (!any) {
        idle_.try_emplace(
            input.name,
            Weakness{fmt::format("input {} does not influence any output", input.name),
                     problem().workload,
                     "check in burnish.toml how the reference uses it and how it is drawn; " +
                         advice()});
        continue;
      }
      settled_.insert(input.name);
      idle_.erase(input.name);
      BURNISH_TRY(truncations(input));
    }
    return {};
  }

  /// Parts of an input that a kernel may leave out unnoticed: halves and tails along each axis.
  Result<void> truncations(const Tensor& input) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::int64_t size = input.shape[axis];
      if (size < 2) continue;
      for (const std::int64_t length : {std::max<std::int64_t>(size / 16, 1), size / 2}) {
        const std::string part =
            fmt::format("the last {} of dimension {} of input {}", length, axis, input.name);
        note("a reduction without " + part);
        BURNISH_TRY_ASSIGN(const bool any, matters([&](Values& inputs) {
                             clear_slice(input, inputs[input.name], axis, size - length, size);
                           }));
        if (!any) {
          weakness("outputs computed without " + part + " pass", advice());
          break;
        }
      }
    }
    return {};
  }

  /// What to change so that wrong outputs stand out.
  std::string advice() const {
    const Tolerance& tolerance = problem().tolerance;
    double size = 0;
    for (const Tensor& tensor : problem().tensors) {
      if (!is_output(tensor)) continue;
      for (const double value : draws_[0].expected.at(tensor.name)) {
        if (std::isfinite(value)) size = std::max(size, std::abs(value));
      }
    }
    if (tolerance.absolute && *tolerance.absolute * 100 > size) {
      return fmt::format(
          "tolerance.absolute is {} where the largest output is {}: leave it out, or "
          "set it below {}",
          number_text(*tolerance.absolute), number_text(size), number_text(size * 1e-3));
    }
    if (tolerance.relative && *tolerance.relative > 0.05) {
      return fmt::format(
          "tolerance.relative is {}: leave it out, or set it to what the precision "
          "needs",
          number_text(*tolerance.relative));
    }
    if (tolerance.accumulation > 1e6) {
      return fmt::format("tolerance.accumulation is {}: give the number of terms in one output",
                         number_text(tolerance.accumulation));
    }
    if (size == 0) return "all outputs are zero: draw inputs that make the operation do something";
    return "draw the inputs so that every part of them shows in the outputs";
  }

  void note(std::string tried) {
    if (std::find(lint_.tried.begin(), lint_.tried.end(), tried) == lint_.tried.end()) {
      lint_.tried.push_back(std::move(tried));
    }
  }

  void weakness(std::string what, std::string tighten) {
    lint_.weaknesses.push_back({std::move(what), problem().workload, std::move(tighten)});
  }

  const Task& task_;
  Generator generator_;
  std::unique_ptr<Oracle> oracle_;
  std::vector<Drawn> draws_;
  std::vector<Values> moves_;             ///< by draw: Oracle::sensitivity, once it is asked for
  std::set<std::string> settled_;         ///< inputs of which no more is asked
  std::map<std::string, Weakness> idle_;  ///< inputs that have done nothing so far
  Lint lint_;
};

}  // namespace

Result<Lint> lint(const Task& task, Random& random) { return Linter(task, random).run(); }

}  // namespace burnish::measure
