#include "isa/flow.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>

namespace burnish::isa {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// One instruction an address, 0, 1, 2, …; `edges` gives the branches.
struct Program {
  Kernel kernel;
  std::vector<Flow> flow;
  explicit Program(int size) : flow(static_cast<std::size_t>(size)) {
    kernel.arch = "sm_90";
    for (int i = 0; i < size; ++i) {
      Instruction instruction;
      instruction.address = static_cast<std::uint64_t>(i);
      instruction.instruction_class = "valu";
      kernel.instructions.push_back(instruction);
    }
    if (size > 0) flow.back().kind = Flow::Kind::end;
  }
  Program& edge(int from, Flow::Kind kind, int to) {
    flow[static_cast<std::size_t>(from)] = {kind, static_cast<std::uint64_t>(to)};
    return *this;
  }
  Program& jump(int from, int to) { return edge(from, Flow::Kind::branch, to); }
  Program& maybe(int from, int to) { return edge(from, Flow::Kind::conditional, to); }
  Kernel& find() {
    find_loops(kernel, flow);
    return kernel;
  }
};

std::vector<std::pair<int, int>> loop_spans(const Kernel& kernel) {
  std::vector<std::pair<int, int>> spans;
  for (const Loop& loop : kernel.loops) {
    int low = 1 << 30, high = 0;
    for (const int block : loop.blocks) {
      const BasicBlock& at = kernel.blocks[static_cast<std::size_t>(block)];
      low = std::min(low, at.first);
      high = std::max(high, at.first + at.count);
    }
    spans.emplace_back(low, high);
  }
  return spans;
}

TEST(Flow, NoInstructions) {
  Program program(0);
  EXPECT_TRUE(program.find().blocks.empty());
  EXPECT_TRUE(program.kernel.loops.empty());
}

TEST(Flow, StraightLineIsOneBlock) {
  Program program(5);
  const Kernel& kernel = program.find();
  ASSERT_EQ(kernel.blocks.size(), 1u);
  EXPECT_EQ(kernel.blocks[0].count, 5);
  EXPECT_TRUE(kernel.blocks[0].successors.empty());
  EXPECT_EQ(kernel.blocks[0].loop, -1);
}

TEST(Flow, SelfLoop) {
  Program program(6);
  const Kernel& kernel = program.maybe(3, 2).find();
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_THAT(loop_spans(kernel), ElementsAre(std::pair(2, 4)));
  EXPECT_EQ(kernel.loops[0].instructions, 2);
  EXPECT_EQ(kernel.loops[0].depth, 1);
  EXPECT_EQ(kernel.loops[0].parent, -1);
  EXPECT_EQ(kernel.loops[0].classes.at("valu"), 2);
}

/// Compilers align a loop with NOPs behind the branch that goes round them into its middle.
TEST(Flow, NopsThatNothingReachesAreNoWayIntoALoop) {
  for (const char* filling : {"nop", "valu"}) {
    Program program(10);
    program.jump(1, 6).maybe(8, 4);
    program.kernel.instructions[2].instruction_class = filling;
    program.kernel.instructions[3].instruction_class = filling;
    const Kernel& kernel = program.find();
    if (filling == std::string("nop")) {
      ASSERT_EQ(kernel.loops.size(), 1u);
      EXPECT_THAT(loop_spans(kernel), ElementsAre(std::pair(4, 9)));
      EXPECT_THAT(kernel.notes, testing::IsEmpty());
    } else {
      // Code that some way leads to which is not known.
      EXPECT_EQ(kernel.loops.size(), 0u);
      EXPECT_EQ(kernel.notes.size(), 1u);
    }
  }
}

TEST(Flow, NestedLoopsKnowTheirParents) {
  // for (1..9) { for (2..5) { for (3..4) } for (6..7) }
  Program program(11);
  const Kernel& kernel = program.maybe(4, 3).maybe(5, 2).maybe(7, 6).maybe(9, 1).find();
  EXPECT_THAT(loop_spans(kernel),
              ElementsAre(std::pair(1, 10), std::pair(2, 6), std::pair(3, 5), std::pair(6, 8)));
  std::vector<int> depths, parents;
  for (const Loop& loop : kernel.loops) {
    depths.push_back(loop.depth);
    parents.push_back(loop.parent);
    EXPECT_EQ(loop.blocks.front(), loop.id == 0 ? 1 : loop.blocks.front());
  }
  EXPECT_THAT(depths, ElementsAre(1, 2, 3, 2));
  EXPECT_THAT(parents, ElementsAre(-1, 0, 1, 0));
  EXPECT_EQ(hot_loop(kernel), 2);
  EXPECT_EQ(kernel.loops[0].instructions, 9);
}

TEST(Flow, LoopsThatShareAHeaderAreOne) {
  Program program(8);
  const Kernel& kernel = program.maybe(3, 2).maybe(5, 2).find();
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 4);
}

TEST(Flow, HeaderComesFirstThoughItLiesBelow) {
  // The test of the loop is at its end: 0 jumps to 4, which goes back to 1.
  Program program(7);
  const Kernel& kernel = program.jump(0, 4).maybe(5, 1).find();
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.blocks[static_cast<std::size_t>(kernel.loops[0].blocks.front())].first, 4);
  EXPECT_EQ(kernel.loops[0].instructions, 5);
}

TEST(Flow, BranchInsideALoopStaysInside) {
  // 1: if (…) skip 2..3; 4 loops back to 1; 5 leaves early from 2.
  Program program(8);
  const Kernel& kernel = program.maybe(1, 4).maybe(2, 6).maybe(4, 1).find();
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 4);
}

TEST(Flow, IrreducibleCycleIsNoLoopAndIsNoted) {
  // 0 enters the cycle 1 <-> 3 at both places.
  Program program(6);
  const Kernel& kernel = program.maybe(0, 3).jump(4, 1).maybe(3, 5).find();
  EXPECT_TRUE(kernel.loops.empty());
  ASSERT_EQ(kernel.notes.size(), 1u);
  EXPECT_THAT(kernel.notes[0], testing::HasSubstr("not counted as a loop"));
}

TEST(Flow, ReducibleLoopRoundAnIrreducibleOne) {
  Program program(9);
  // 1 enters {2,3} and {4,5} both, which jump to each other; 6 goes back to 1.
  const Kernel& kernel = program.maybe(1, 4).maybe(3, 6).maybe(5, 2).maybe(6, 1).find();
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 6);
}

TEST(Flow, CodeBehindAnIndirectBranchIsAnalysed) {
  Program program(8);
  program.flow[1] = {Flow::Kind::branch, {}};
  const Kernel& kernel = program.maybe(5, 3).find();
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 3);
}

TEST(Flow, WildTargetsAreIgnored) {
  Program program(4);
  const Kernel& kernel = program.maybe(1, 1'000'000).find();
  EXPECT_TRUE(kernel.loops.empty());
  EXPECT_EQ(kernel.blocks.size(), 2u);
}

TEST(Flow, BranchToTheNextInstructionHasOneSuccessor) {
  Program program(4);
  const Kernel& kernel = program.maybe(1, 2).find();
  EXPECT_THAT(kernel.blocks[0].successors, ElementsAre(1));
}

/// Reference: dominance by removal, loops by definition.
std::vector<std::vector<int>> loops_by_definition(const Kernel& kernel) {
  const int n = static_cast<int>(kernel.blocks.size());
  const auto reach = [&](int from, int removed) {
    std::vector<char> seen(static_cast<std::size_t>(n), 0);
    if (from == removed) return seen;
    std::vector<int> work{from};
    seen[static_cast<std::size_t>(from)] = 1;
    while (!work.empty()) {
      const int at = work.back();
      work.pop_back();
      for (const int to : kernel.blocks[static_cast<std::size_t>(at)].successors) {
        if (to == removed || seen[static_cast<std::size_t>(to)]) continue;
        seen[static_cast<std::size_t>(to)] = 1;
        work.push_back(to);
      }
    }
    return seen;
  };
  const auto live = reach(0, -1);
  std::map<int, std::vector<char>> bodies;
  for (int head = 0; head < n; ++head) {
    if (!live[static_cast<std::size_t>(head)]) continue;
    const auto without = reach(0, head);
    for (int latch = 0; latch < n; ++latch) {
      if (!live[static_cast<std::size_t>(latch)] || without[static_cast<std::size_t>(latch)])
        continue;
      const auto& next = kernel.blocks[static_cast<std::size_t>(latch)].successors;
      if (std::find(next.begin(), next.end(), head) == next.end()) continue;
      auto& body = bodies[head];
      body.resize(static_cast<std::size_t>(n), 0);
      body[static_cast<std::size_t>(head)] = 1;
      for (int block = 0; block < n; ++block) {
        if (block == head || !live[static_cast<std::size_t>(block)]) continue;
        // In the body when the latch can be reached without passing the header.
        if (block == latch || reach(block, head)[static_cast<std::size_t>(latch)]) {
          body[static_cast<std::size_t>(block)] = 1;
        }
      }
    }
  }
  std::vector<std::vector<int>> result;
  for (const auto& [head, body] : bodies) {
    std::vector<int> blocks;
    for (int block = 0; block < n; ++block) {
      if (body[static_cast<std::size_t>(block)]) blocks.push_back(block);
    }
    result.push_back(blocks);
  }
  return result;
}

TEST(Flow, RandomProgramsAgreeWithTheDefinition) {
  std::uint32_t state = 12345;
  const auto random = [&](int below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int>((state >> 8) % static_cast<std::uint32_t>(below));
  };
  int loops = 0;
  for (int round = 0; round < 400; ++round) {
    const int size = 4 + random(24);
    Program program(size);
    for (int i = 0; i + 1 < size; ++i) {
      // Only conditional branches, so that every block is reachable.
      if (random(3) == 0) program.maybe(i, random(size));
    }
    const Kernel& kernel = program.find();
    std::vector<std::vector<int>> found;
    for (const Loop& loop : kernel.loops) {
      std::vector<int> blocks = loop.blocks;
      std::sort(blocks.begin(), blocks.end());
      found.push_back(blocks);
    }
    const auto expected = loops_by_definition(kernel);
    ASSERT_THAT(found, testing::UnorderedElementsAreArray(expected)) << "round " << round;
    loops += static_cast<int>(found.size());
  }
  EXPECT_GT(loops, 400);
}

void expect_fast(Program& program, const char* what) {
  const std::clock_t start = std::clock();
  program.find();
  // Quadratic work takes hours. Processor time, since others may use the machine too.
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 30.0) << what;
}

TEST(Flow, AMillionInstructions) {
  constexpr int kSize = 1'000'000;
  Program loops(kSize);
  for (int i = 9; i + 1 < kSize; i += 10) loops.maybe(i, i - 5);
  expect_fast(loops, "many small loops");
  EXPECT_EQ(loops.kernel.loops.size(), 99'999u);
  Program exits(kSize);
  for (int i = 1; i + 1 < kSize; i += 2) exits.maybe(i, kSize - 1);
  expect_fast(exits, "one exit for all");
  EXPECT_TRUE(exits.kernel.loops.empty());
}

TEST(Flow, HostileShapes) {
  constexpr int kSize = 200'000;
  Program nested(kSize);
  for (int i = 0; i < kSize / 2 - 1; ++i) nested.maybe(kSize - 2 - i, i);
  expect_fast(nested, "a hundred thousand nested loops");
  ASSERT_EQ(nested.kernel.loops.size(), static_cast<std::size_t>(kSize / 2 - 1));
  EXPECT_EQ(nested.kernel.loops.back().depth, kSize / 2 - 1);
  Program random(kSize);
  for (int i = 0; i + 1 < kSize; ++i) {
    random.maybe(i, static_cast<int>((static_cast<std::uint64_t>(i) * 2654435761u) % kSize));
  }
  expect_fast(random, "random branches");
}

TEST(Flow, CountsWidthsByClass) {
  Program program(6);
  auto& code = program.kernel.instructions;
  const auto set = [&](std::size_t i, const char* name, int bits) {
    code[i].instruction_class = name;
    code[i].width_bits = bits;
  };
  set(0, "vmem_load", 128);
  set(1, "vmem_load", 32);
  set(2, "vmem_store", 64);
  set(3, "lds_load", 128);
  set(4, "atomic", 32);
  set(5, "spill_load", 128);
  count_classes(program.kernel);
  EXPECT_EQ(program.kernel.classes.at("vmem_load"), 2);
  EXPECT_EQ(program.kernel.classes.at("valu"), 0) << "it could occur and does not";
  EXPECT_EQ(program.kernel.classes.count("accum_move"), 0u) << "NVIDIA has no such instruction";
  const Widths expected{{"global_load", {{32, 1}, {128, 1}}},
                        {"global_store", {{64, 1}}},
                        {"shared_load", {{128, 1}}}};
  EXPECT_EQ(program.kernel.widths, expected);
}

TEST(Flow, ReaderCanNameTheClassesOfItsTarget) {
  Program program(1);
  program.kernel.classes = {{"matrix", 7}};
  count_classes(program.kernel);
  EXPECT_THAT(program.kernel.classes,
              UnorderedElementsAre(std::pair("matrix", 0), std::pair("valu", 1)));
}

}  // namespace
}  // namespace burnish::isa
