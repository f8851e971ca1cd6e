#include "isa/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace burnish::isa {
namespace {

constexpr int kNone = -1;
/// How many enclosing loops list a block; bounds the size of the answer on hostile nesting.
constexpr int kListedLevels = 16;

using Classes = std::vector<std::string_view>;

constexpr std::array<std::string_view, 20> kGpuClasses{
    "valu",     "salu",      "fma",  "packed_fma", "matrix",     "vmem_load",   "vmem_store",
    "lds_load", "lds_store", "smem", "cross_lane", "convert",    "sfu",         "atomic",
    "barrier",  "wait",      "nop",  "branch",     "spill_load", "spill_store",
};
constexpr std::array<std::string_view, 15> kCpuClasses{
    "valu",      "salu",       "fma",        "packed_fma",  "scalar_fp",
    "vmem_load", "vmem_store", "cross_lane", "sfu",         "convert",
    "atomic",    "branch",     "spill_load", "spill_store", "call",
};

/// The classes that can occur on a target, known by its name.
Classes classes_of(std::string_view arch) {
  Classes classes;
  if (arch.starts_with("sm_") || arch.starts_with("gfx")) {
    classes.assign(kGpuClasses.begin(), kGpuClasses.end());
    // cp.async came with sm_80; LDS-direct loads with gfx9. The names "sm_75" and older, of equal
    // length, sort before.
    if (arch.starts_with("gfx") || arch.size() > 5 || arch >= "sm_80") {
      classes.push_back("async_copy");
    }
    if (arch.starts_with("gfx9")) classes.push_back("accum_move");
  } else if (arch.starts_with("x86-64")) {
    classes.assign(kCpuClasses.begin(), kCpuClasses.end());
  }
  return classes;
}

/// Which histogram an access of this class belongs to; empty: none.
std::string_view width_kind(std::string_view instruction_class) {
  if (instruction_class == "vmem_store") return "global_store";
  if (instruction_class == "lds_load") return "shared_load";
  if (instruction_class == "lds_store") return "shared_store";
  if (instruction_class == "atomic" || instruction_class == "smem" ||
      instruction_class.starts_with("spill_") || instruction_class.starts_with("local_")) {
    return {};
  }
  return "global_load";
}

/// The control-flow graph in compressed rows.
struct Graph {
  std::vector<std::size_t> first;  ///< of each node, and one past the last
  std::vector<int> to;
  std::pair<const int*, const int*> of(int node) const {
    const auto at = static_cast<std::size_t>(node);
    return {to.data() + first[at], to.data() + first[at + 1]};
  }
};

Graph invert(const Graph& graph, int nodes) {
  Graph inverse;
  inverse.first.assign(static_cast<std::size_t>(nodes) + 1, 0);
  for (const int node : graph.to) ++inverse.first[static_cast<std::size_t>(node) + 1];
  std::partial_sum(inverse.first.begin(), inverse.first.end(), inverse.first.begin());
  inverse.to.resize(graph.to.size());
  auto next = inverse.first;
  for (int node = 0; node < nodes; ++node) {
    for (auto [at, end] = graph.of(node); at != end; ++at) {
      inverse.to[next[static_cast<std::size_t>(*at)]++] = node;
    }
  }
  return inverse;
}

/// Dominator tree by Lengauer and Tarjan, with path compression and no recursion. Node 0 is a
/// virtual entry; all other nodes are reachable from it.
class Dominators {
 public:
  Dominators(const Graph& successors, const Graph& predecessors, int nodes)
      : order_(index(nodes), kNone),
        parent_(index(nodes), kNone),
        semi_(index(nodes)),
        idom_(index(nodes), kNone),
        ancestor_(index(nodes), kNone),
        label_(index(nodes)) {
    search(successors);
    std::iota(label_.begin(), label_.end(), 0);
    std::vector<std::vector<int>> bucket(index(nodes));
    for (int number = static_cast<int>(vertices_.size()) - 1; number > 0; --number) {
      const int node = vertices_[index(number)];
      for (auto [at, end] = predecessors.of(node); at != end; ++at) {
        if (order_[index(*at)] == kNone) continue;
        semi_[index(node)] = std::min(semi_[index(node)], semi_[index(evaluate(*at))]);
      }
      bucket[index(vertices_[index(semi_[index(node)])])].push_back(node);
      const int parent = parent_[index(node)];
      ancestor_[index(node)] = parent;
      for (const int other : bucket[index(parent)]) {
        const int best = evaluate(other);
        idom_[index(other)] = semi_[index(best)] < semi_[index(other)] ? best : parent;
      }
      bucket[index(parent)].clear();
    }
    for (std::size_t number = 1; number < vertices_.size(); ++number) {
      const int node = vertices_[number];
      if (idom_[index(node)] != vertices_[index(semi_[index(node)])]) {
        idom_[index(node)] = idom_[index(idom_[index(node)])];
      }
    }
    number_tree();
  }

  bool dominates(int above, int below) const {
    return enter_[index(above)] <= enter_[index(below)] &&
           leave_[index(below)] <= leave_[index(above)];
  }
  /// Depth-first number; a loop's header has a lower one than the headers inside it.
  int order(int node) const { return order_[index(node)]; }
  /// Whether the edge closes a cycle of the depth-first search.
  bool retreats(int from, int to) const {
    return order(to) <= order(from) && last_[index(to)] >= order(from);
  }

 private:
  static std::size_t index(int value) { return static_cast<std::size_t>(value); }

  void search(const Graph& successors) {
    last_.assign(order_.size(), 0);
    std::vector<std::pair<int, const int*>> stack;
    const auto visit = [&](int node, int parent) {
      parent_[index(node)] = parent;
      order_[index(node)] = semi_[index(node)] = static_cast<int>(vertices_.size());
      vertices_.push_back(node);
      stack.emplace_back(node, successors.of(node).first);
    };
    visit(0, kNone);
    while (!stack.empty()) {
      auto& [node, at] = stack.back();
      if (at == successors.of(node).second) {
        last_[index(node)] = static_cast<int>(vertices_.size()) - 1;
        stack.pop_back();
        continue;
      }
      const int next = *at++;
      if (order_[index(next)] == kNone) visit(next, node);
    }
  }

  int evaluate(int node) {
    if (ancestor_[index(node)] == kNone) return node;
    path_.clear();
    for (int at = node; ancestor_[index(ancestor_[index(at)])] != kNone;
         at = ancestor_[index(at)]) {
      path_.push_back(at);
    }
    for (; !path_.empty(); path_.pop_back()) {
      const int at = path_.back();
      const int above = ancestor_[index(at)];
      if (semi_[index(label_[index(above)])] < semi_[index(label_[index(at)])]) {
        label_[index(at)] = label_[index(above)];
      }
      ancestor_[index(at)] = ancestor_[index(above)];
    }
    return label_[index(node)];
  }

  /// Numbers the tree so that dominance is the nesting of intervals.
  void number_tree() {
    const std::size_t nodes = idom_.size();
    std::vector<int> size(nodes, 1);
    for (std::size_t number = vertices_.size(); number-- > 1;) {
      const int node = vertices_[number];
      size[index(idom_[index(node)])] += size[index(node)];
    }
    enter_.assign(nodes, 0);
    leave_.assign(nodes, 0);
    std::vector<int> next(nodes, 1);  // where the next child of a node starts
    leave_[0] = size[0];
    for (std::size_t number = 1; number < vertices_.size(); ++number) {
      const int node = vertices_[number];
      const int above = idom_[index(node)];
      enter_[index(node)] = next[index(above)];
      leave_[index(node)] = enter_[index(node)] + size[index(node)];
      next[index(node)] = enter_[index(node)] + 1;
      next[index(above)] += size[index(node)];
    }
  }

  std::vector<int> order_, parent_, semi_, idom_, ancestor_, label_, vertices_, path_;
  std::vector<int> last_, enter_, leave_;
};

class Finder {
 public:
  Finder(Kernel& kernel, const std::vector<Flow>& flow) : kernel_(kernel), flow_(flow) {}

  void run() {
    kernel_.blocks.clear();
    kernel_.loops.clear();
    if (kernel_.instructions.empty()) return;
    resolve_targets();
    make_blocks();
    make_graph();
    find();
    list_blocks();
    count();
  }

 private:
  static std::size_t index(int value) { return static_cast<std::size_t>(value); }
  int instructions() const { return static_cast<int>(kernel_.instructions.size()); }

  void resolve_targets() {
    const int count = instructions();
    target_.assign(index(count), kNone);
    // Addresses nearly always ascend; only others need a table.
    const auto earlier = [](const Instruction& a, const Instruction& b) {
      return a.address < b.address;
    };
    const bool ascending =
        std::is_sorted(kernel_.instructions.begin(), kernel_.instructions.end(), earlier);
    std::unordered_map<std::uint64_t, int> by_address;
    for (int i = ascending ? -1 : count - 1; i >= 0; --i) {
      by_address[kernel_.instructions[index(i)].address] = i;
    }
    const auto find = [&](std::uint64_t address) {
      if (ascending) {
        const auto found = std::lower_bound(
            kernel_.instructions.begin(), kernel_.instructions.end(), address,
            [](const Instruction& one, std::uint64_t wanted) { return one.address < wanted; });
        if (found == kernel_.instructions.end() || found->address != address) return kNone;
        return static_cast<int>(found - kernel_.instructions.begin());
      }
      const auto found = by_address.find(address);
      return found == by_address.end() ? kNone : found->second;
    };
    for (int i = 0; i < count && index(i) < flow_.size(); ++i) {
      const Flow& flow = flow_[index(i)];
      if (flow.kind != Flow::Kind::branch && flow.kind != Flow::Kind::conditional) continue;
      if (flow.target) target_[index(i)] = find(*flow.target);
      for (const std::uint64_t address : flow.others) {
        if (const int to = find(address); to != kNone) others_[i].push_back(to);
      }
    }
  }

  Flow::Kind kind(int i) const {
    return index(i) < flow_.size() ? flow_[index(i)].kind : Flow::Kind::next;
  }

  void make_blocks() {
    const int count = instructions();
    std::vector<char> leads(index(count), 0);
    leads[0] = 1;
    for (int i = 0; i < count; ++i) {
      if (target_[index(i)] != kNone) leads[index(target_[index(i)])] = 1;
      const bool ends = kind(i) != Flow::Kind::next && kind(i) != Flow::Kind::call;
      if (ends && i + 1 < count) leads[index(i + 1)] = 1;
    }
    for (const auto& [from, targets] : others_) {
      for (const int to : targets) leads[index(to)] = 1;
    }
    block_of_.assign(index(count), 0);
    for (int i = 0; i < count; ++i) {
      if (leads[index(i)]) {
        kernel_.blocks.emplace_back();
        kernel_.blocks.back().first = i;
      }
      ++kernel_.blocks.back().count;
      block_of_[index(i)] = static_cast<int>(kernel_.blocks.size()) - 1;
    }
    for (std::size_t b = 0; b < kernel_.blocks.size(); ++b) {
      BasicBlock& block = kernel_.blocks[b];
      const int last = block.first + block.count - 1;
      const Flow::Kind how = kind(last);
      if (how != Flow::Kind::end && how != Flow::Kind::branch && last + 1 < count) {
        block.successors.push_back(static_cast<int>(b) + 1);
      }
      if (target_[index(last)] != kNone) {
        const int to = block_of_[index(target_[index(last)])];
        if (block.successors.empty() || block.successors.front() != to) {
          block.successors.push_back(to);
        }
      }
      if (const auto found = others_.find(last); found != others_.end()) {
        for (const int target : found->second) {
          block.successors.push_back(block_of_[index(target)]);
        }
        std::sort(block.successors.begin(), block.successors.end());
        block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                               block.successors.end());
      }
    }
    cut_off_alignment();
  }

  /// NOPs behind a branch that nothing goes to are never run: they only align what follows. Taken
  /// for an entry they would be a second way into that, and a loop there would be none.
  void cut_off_alignment() {
    std::vector<char> entered(kernel_.blocks.size(), 0);
    entered[0] = 1;
    for (const BasicBlock& block : kernel_.blocks) {
      for (const int next : block.successors) entered[index(next)] = 1;
    }
    for (std::size_t b = 0; b < kernel_.blocks.size(); ++b) {
      if (entered[b]) continue;
      BasicBlock& block = kernel_.blocks[b];
      const auto first = kernel_.instructions.begin() + block.first;
      if (std::all_of(first, first + block.count,
                      [](const Instruction& each) { return each.instruction_class == "nop"; })) {
        block.successors.clear();
      }
    }
  }

  /// Node 0 is a virtual entry; block b is node b + 1.
  void make_graph() {
    const int blocks = static_cast<int>(kernel_.blocks.size());
    nodes_ = blocks + 1;
    std::vector<int> roots;
    std::vector<char> seen(index(blocks), 0);
    std::vector<int> work;
    for (int root = 0; root < blocks; ++root) {
      if (seen[index(root)]) continue;
      roots.push_back(root);
      seen[index(root)] = 1;
      for (work.push_back(root); !work.empty();) {
        const int block = work.back();
        work.pop_back();
        for (const int next : kernel_.blocks[index(block)].successors) {
          if (seen[index(next)]) continue;
          seen[index(next)] = 1;
          work.push_back(next);
        }
      }
    }
    successors_.first.push_back(0);
    for (const int root : roots) successors_.to.push_back(root + 1);
    successors_.first.push_back(successors_.to.size());
    for (const BasicBlock& block : kernel_.blocks) {
      for (const int next : block.successors) successors_.to.push_back(next + 1);
      successors_.first.push_back(successors_.to.size());
    }
    predecessors_ = invert(successors_, nodes_);
  }

  void find() {
    const Dominators dominators(successors_, predecessors_, nodes_);
    std::vector<int> headers;
    std::vector<std::vector<int>> latches(index(nodes_));
    int irreducible = 0;
    for (int node = 1; node < nodes_; ++node) {
      for (auto [at, end] = successors_.of(node); at != end; ++at) {
        if (dominators.dominates(*at, node)) {
          if (latches[index(*at)].empty()) headers.push_back(*at);
          latches[index(*at)].push_back(node);
        } else if (dominators.retreats(node, *at)) {
          ++irreducible;
        }
      }
    }
    if (irreducible > 0) {
      kernel_.notes.push_back(
          fmt::format("{} backward branch{} into the middle of a cycle {} not counted as a loop",
                      irreducible, irreducible == 1 ? "" : "es", irreducible == 1 ? "is" : "are"));
    }

    // Inner headers come later in the search, so they are collapsed into one node first.
    std::vector<int> inner_first = headers;
    std::sort(inner_first.begin(), inner_first.end(),
              [&](int a, int b) { return dominators.order(a) > dominators.order(b); });
    std::sort(headers.begin(), headers.end());
    std::vector<int> loop_of(index(nodes_), kNone);
    for (std::size_t i = 0; i < headers.size(); ++i) {
      loop_of[index(headers[i])] = static_cast<int>(i);
      Loop loop;
      loop.id = static_cast<int>(i);
      kernel_.loops.push_back(std::move(loop));
    }

    std::vector<int> leader(index(nodes_));
    std::iota(leader.begin(), leader.end(), 0);
    const auto find_leader = [&](int node) {
      while (leader[index(node)] != node) {
        leader[index(node)] = leader[index(leader[index(node)])];
        node = leader[index(node)];
      }
      return node;
    };
    std::vector<int> innermost(index(nodes_), kNone);
    std::vector<int> work;
    for (const int header : inner_first) {
      const int loop = loop_of[index(header)];
      innermost[index(header)] = loop;
      const auto take = [&](int node) {
        node = find_leader(node);
        if (node == header || leader[index(node)] == header) return;
        leader[index(node)] = header;
        if (loop_of[index(node)] != kNone) {
          kernel_.loops[index(loop_of[index(node)])].parent = loop;
        } else {
          innermost[index(node)] = loop;
        }
        work.push_back(node);
      };
      for (const int latch : latches[index(header)]) take(latch);
      while (!work.empty()) {
        const int node = work.back();
        work.pop_back();
        for (auto [at, end] = predecessors_.of(node); at != end; ++at) take(*at);
      }
    }
    for (int node = 1; node < nodes_; ++node) {
      kernel_.blocks[index(node - 1)].loop = innermost[index(node)];
    }
    for (auto header = inner_first.rbegin(); header != inner_first.rend(); ++header) {
      Loop& loop = kernel_.loops[index(loop_of[index(*header)])];
      loop.blocks.push_back(*header - 1);
      if (loop.parent != kNone) loop.depth = kernel_.loops[index(loop.parent)].depth + 1;
    }
  }

  void list_blocks() {
    for (int block = 0; block < static_cast<int>(kernel_.blocks.size()); ++block) {
      int loop = kernel_.blocks[index(block)].loop;
      for (int level = 0; loop != kNone && level < kListedLevels; ++level) {
        Loop& at = kernel_.loops[index(loop)];
        if (at.blocks.front() != block) at.blocks.push_back(block);
        loop = at.parent;
      }
    }
  }

  void count() {
    std::vector<int> listed;
    for (Loop& loop : kernel_.loops) {
      listed.clear();
      for (const int block : loop.blocks) {
        const BasicBlock& at = kernel_.blocks[index(block)];
        for (int i = 0; i < at.count; ++i) listed.push_back(at.first + i);
      }
      loop.instructions = static_cast<std::int64_t>(listed.size());
      count_classes(kernel_, listed, loop.classes, loop.widths);
    }
  }

  Kernel& kernel_;
  const std::vector<Flow>& flow_;
  std::vector<int> target_, block_of_;
  std::unordered_map<int, std::vector<int>> others_;  ///< further targets, by instruction
  int nodes_ = 0;
  Graph successors_, predecessors_;
};

}  // namespace

void count_classes(const Kernel& kernel, const std::vector<int>& instructions, Counts& classes,
                   Widths& widths) {
  // The target's classes are seeded, so that one that could occur and does not is 0.
  if (classes.empty()) {
    for (const auto& [name, count] : kernel.classes) classes.emplace(name, 0);
    if (classes.empty()) {
      for (const std::string_view name : classes_of(kernel.arch)) classes.emplace(name, 0);
    }
  }
  std::unordered_map<std::string_view, std::int64_t*> at;
  for (const int i : instructions) {
    const Instruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    auto [slot, fresh] = at.try_emplace(instruction.instruction_class, nullptr);
    if (fresh) slot->second = &classes[instruction.instruction_class];
    ++*slot->second;
    if (instruction.width_bits <= 0) continue;
    const std::string_view kind = width_kind(instruction.instruction_class);
    if (!kind.empty()) ++widths[std::string(kind)][instruction.width_bits];
  }
}

void count_classes(Kernel& kernel) {
  std::vector<int> all(kernel.instructions.size());
  std::iota(all.begin(), all.end(), 0);
  Counts classes;
  for (const auto& [name, count] : kernel.classes) classes.emplace(name, 0);
  Widths widths;
  count_classes(kernel, all, classes, widths);
  kernel.classes = std::move(classes);
  kernel.widths = std::move(widths);
}

void find_loops(Kernel& kernel, const std::vector<Flow>& flow) { Finder(kernel, flow).run(); }

}  // namespace burnish::isa
