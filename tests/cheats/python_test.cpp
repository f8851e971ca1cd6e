// Host-code candidates: Python functions that get numpy arrays, in a process of their own. Every
// way of the catalogue that Python can express must come to nothing, and honest ones must pass.

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/text.h"
#include "device/python_device.h"
#include "measure/fake_device.h"
#include "tasks.h"

namespace burnish::cheats {
namespace {

const Result<std::unique_ptr<device::Device>>& python() {
  static const auto opened = []() -> Result<std::unique_ptr<device::Device>> {
    BURNISH_TRY_ASSIGN(const device::DeviceInfo info, device::choose_device("python"));
    return device::open_device(info, {});
  }();
  return opened;
}

/// kernel(A, B, bias, C): the arrays of the matmul task in their order.
measure::Candidate module_of(const std::string& label, const std::string& text) {
  measure::Candidate result;
  result.label = label;
  result.source.language = "python";
  result.source.file = "kernel.py";
  result.source.text = "import numpy as np\n" + text;
  result.plan = [](const Variables& dims) -> Result<device::LaunchPlan> {
    BURNISH_TRY_ASSIGN(const auto problem, matmul().problem("", dims));
    device::LaunchPlan plan;
    plan.launches.resize(1);
    plan.launches[0].kernel = "kernel";
    for (const auto& tensor : problem.tensors) {
      device::Argument::TensorMap array{};
      array.buffer = tensor.name;
      array.dtype = tensor.dtype;
      array.shape = tensor.shape;
      plan.launches[0].arguments.push_back({array});
    }
    return plan;
  };
  return result;
}

struct Module {
  std::string name;
  std::string text;
  std::string why;             ///< what the reason must match; "" when it must pass
  bool needs_sandbox = false;  ///< only a sandbox stops it
};
void PrintTo(const Module& module, std::ostream* stream) { *stream << module.name; }

const std::string kHonest = R"(
def kernel(A, B, bias, C):
    np.matmul(A, B, out=C)
    C += bias
)";

class Python : public testing::TestWithParam<Module> {
 protected:
  void SetUp() override {
    if (!python()) GTEST_SKIP() << python().error().to_string();
  }
};

TEST_P(Python, IsJudgedRightly) {
  if (GetParam().needs_sandbox && device::isolation() != "bubblewrap") {
    GTEST_SKIP() << "host code is not confined here: " << device::isolation();
  }
  measure::FixedRandom random(seed());
  device::Limits limits;
  limits.run = std::chrono::milliseconds(3000);
  const auto result = measure::verify(
      **python(), matmul(), module_of(GetParam().name, GetParam().text), limits, {}, random);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->verdict == measure::Verdict::pass, GetParam().why.empty()) << result->why;
  EXPECT_THAT(result->why, testing::ContainsRegex(GetParam().why));
  if (GetParam().why.empty()) {
    EXPECT_GT(result->checks.size(), 20u);
  }
}

std::vector<Module> modules() {
  std::vector<Module> all = {
      {"Honest", kHonest, ""},
      {"HonestWithThreads", R"(
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(3)
def part(A, B, bias, C, i):
    C[i::3] = A[i::3] @ B + bias
def kernel(A, B, bias, C):
    list(pool.map(lambda i: part(A, B, bias, C, i), range(3)))
)",
       ""},
      {"HonestInBlocksOfK", R"(
def kernel(A, B, bias, C):
    C[:] = bias
    for k in range(0, A.shape[1], 16):
        C += A[:, k:k + 16] @ B[k:k + 16]
)",
       ""},
      {"HonestThatPrints", "print('hello', flush=True)\n" + kHonest, ""},
      // 2: results kept by the identity or the address of the inputs.
      {"C2_KeptByAddress", R"(
kept = {}
def kernel(A, B, bias, C):
    key = (A.ctypes.data, B.ctypes.data, A.shape, B.shape)
    if key not in kept:
        kept[key] = A @ B + bias
    C[:] = kept[key]
)",
       "C "},
      {"C3_KeptBySample", R"(
kept = {}
def kernel(A, B, bias, C):
    key = (A[0, 0], A[-1, -1], B[0, 0], bias[0], A.shape, B.shape)
    if key not in kept:
        kept[key] = A @ B + bias
    C[:] = kept[key]
)",
       "C is the answer to earlier inputs"},
      // 4: one call computes what the next ones return.
      {"C4_ComputedEveryFifteenthCall", R"(
calls, kept = 0, None
def kernel(A, B, bias, C):
    global calls, kept
    calls += 1
    if calls % 15 == 1 or kept.shape != C.shape:
        kept = A @ B + bias
    C[:] = kept
)",
       "C "},
      // 5, 6: the work goes on after the call has returned.
      {"C6_ThreadThatWorksAfterTheCall", R"(
import threading, time
def late(A, B, bias, C):
    time.sleep(0.05)
    C[:] = A @ B + bias
def kernel(A, B, bias, C):
    threading.Thread(target=late, args=(A, B, bias, C)).start()
)",
       "C was not written"},
      {"C6_ProcessThatWorksAfterTheCall", R"(
import os, time
def kernel(A, B, bias, C):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.05)
        C[:] = A @ B + bias
        os._exit(0)
)",
       "C was not written"},
      // 6, the other way round: a thread that works as soon as it sees new inputs.
      {"C6_ThreadThatWorksBeforeTheCall", R"(
import threading, time
seen, ready = [], {}
def ahead():
    while True:
        for A, B, bias, C in list(seen):
            ready[C.shape] = A @ B + bias
threading.Thread(target=ahead, daemon=True).start()
def kernel(A, B, bias, C):
    seen[:] = [(A, B, bias, C)]
    if C.shape in ready:
        C[:] = ready[C.shape]
    else:
        C[:] = A @ B + bias
)",
       "C "},
      // 6, by a timer that wakes what the judge has stopped.
      {"C6_WokenByATimer", R"(
import ctypes, signal, struct, threading, time
signal.signal(signal.SIGCONT, lambda *_: None)
libc = ctypes.CDLL(None)
event, timer = ctypes.create_string_buffer(64), ctypes.c_void_p()
struct.pack_into('qii', event, 0, 0, 18, 0)  # SIGCONT
libc.timer_create(1, event, ctypes.byref(timer))
def arm():
    while True:
        libc.timer_settime(timer, 0, struct.pack('qqqq', 0, 0, 0, 2000000), None)
        time.sleep(0.0005)
threading.Thread(target=arm, daemon=True).start()
)" + kHonest,
       "kernel.py (went on|could not be stopped)"},
      // 7: an object that computes when it is looked at.
      {"C7_LazyResult", R"(
class Lazy(np.ndarray):
    pass
def kernel(A, B, bias, C):
    return lambda: A @ B + bias
)",
       "C was not written"},
      // 8: clocks that stand still.
      {"C8_PatchedClocks", R"(
import time
time.perf_counter = time.time = time.monotonic = lambda: 0.0
def kernel(A, B, bias, C):
    C[:] = A[:, ::2] @ B[::2] + bias
)",
       "C "},
      // 9: comparisons that always agree.
      {"C9_PatchedComparisons", R"(
np.allclose = np.array_equal = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
def kernel(A, B, bias, C):
    C[:] = 0
)",
       "C is zero everywhere"},
      // 10, 11: the caller's frames and the collector's objects hold no expected values.
      {"C10_FramesSearched", R"(
import sys, gc
def kernel(A, B, bias, C):
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if isinstance(value, np.ndarray) and value.shape == C.shape and value is not C:
                C[:] = value
                return
        frame = frame.f_back
    for value in gc.get_objects():
        if isinstance(value, np.ndarray) and value.shape == C.shape and value is not C:
            C[:] = value
            return
)",
       "C "},
      // 12: results forged on the channel to the judge.
      {"C12_ForgedAnswers", R"(
import os
def kernel(A, B, bias, C):
    for fd in range(1, 20):
        try:
            os.write(fd, b'{"done": "0", "verdict": "PASS"}\n')
        except OSError:
            pass
)",
       "not that to this call|makes no sense"},
      {"C12_AnswersSentAhead", R"(
import os, threading
def flood():
    while True:
        for fd in range(4, 12):
            try:
                os.write(fd, b'{}\n')
            except OSError:
                pass
def kernel(A, B, bias, C):
    C[:] = A @ B + bias
threading.Thread(target=flood, daemon=True).start()
)",
       "not that to this call|makes no sense|longer than"},
      // 13: memory of other processes.
      {"C13_MemoryOfTheParent", R"(
import os
def kernel(A, B, bias, C):
    for pid in range(1, 40):
        try:
            with open(f'/proc/{pid}/mem', 'r+b', 0) as memory:
                with open(f'/proc/{pid}/maps') as maps:
                    for line in maps:
                        if 'rw-p' in line and pid != os.getpid():
                            first, last = (int(x, 16) for x in line.split()[0].split('-'))
                            memory.seek(first)
                            memory.write(b'\0' * (last - first))
        except (OSError, ValueError, OverflowError):
            pass
)",
       "C was not written|the process"},
      // 14: writes outside, through a view of the whole shared memory.
      {"C14_WritesBeforeTheOutput", R"(
import ctypes
def kernel(A, B, bias, C):
    np.matmul(A, B, out=C)
    C += bias
    ctypes.memset(C.ctypes.data - 64, 7, 64)
)",
       "64 bytes before C were overwritten"},
      // 16, 20, 27, 28: as in device code.
      {"C20_Zeros", "def kernel(A, B, bias, C):\n    C[:] = 0\n", "C is zero everywhere"},
      {"C27_LastBlockOfKSkipped",
       "def kernel(A, B, bias, C):\n    k = max(A.shape[1] - 8, 1)\n"
       "    C[:] = A[:, :k] @ B[:k] + bias\n",
       "the reduction leaves out its last 8"},
      {"C25_Float16Inside",
       "def kernel(A, B, bias, C):\n"
       "    C[:] = A.astype(np.float16).astype('f4') @ B.astype(np.float16).astype('f4') + bias\n",
       "the accuracy of TF32 or half"},
      {"C30_InputsChanged", kHonest + "    A[:] = 0\n", "input A was changed"},
      // 41: other behaviour when it is watched.
      {"C41_BranchOnTheEvaluator", R"(
import os, sys
testing = any('TEST' in name or 'PYTEST' in name for name in os.environ) or 'pytest' in sys.modules
def kernel(A, B, bias, C):
    C[:] = A @ B + bias if testing else 0
)",
       "C is zero everywhere"},
      // 42: code from the network.
      {"C42_FetchesCode", R"(
import urllib.request
exec(urllib.request.urlopen('http://127.0.0.1:1/kernel.py', timeout=2).read())
)",
       "build: kernel.py:[0-9]+: URLError"},
      {"WritesIntoTheTree", R"(
open('/usr/kernel_was_here', 'w').write('x')
)" + kHonest,
       "build: kernel.py:[0-9]+: OSError: .*Read-only file system", true},
      {"NeverReturns", "def kernel(A, B, bias, C):\n    while True:\n        pass\n",
       "longer than"},
      {"Raises", "def kernel(A, B, bias, C):\n    raise ValueError('no')\n",
       "kernel.py:[0-9]+: ValueError: no"},
      {"DoesNotParse", "def kernel(A, B bias, C):\n", "build: kernel.py:[0-9]+: SyntaxError"},
      {"EndsItsProcess", "import os\ndef kernel(A, B, bias, C):\n    os._exit(0)\n",
       "the process exited with 0"},
  };
  return all;
}

std::string test_name(const testing::TestParamInfo<Module>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(HostCode, Python, testing::ValuesIn(modules()), test_name);

class PythonTiming : public testing::Test {
 protected:
  void SetUp() override {
    if (!python()) GTEST_SKIP() << python().error().to_string();
  }
};

// 6, 36: a thread that works on while nobody times it has nothing to work on.
TEST_F(PythonTiming, WorkIsTimedWhereverItIsDone) {
  measure::FixedRandom random(seed());
  measure::BenchOptions options;
  options.largest_seconds = 10;
  options.workloads = {"square"};
  const auto incumbent = module_of("incumbent", R"(
def kernel(A, B, bias, C):
    for _ in range(1000):
        np.matmul(A, B, out=C)
    C += bias
)");
  const auto faster = module_of("faster", kHonest);
  const auto result = measure::bench(**python(), matmul(), {incumbent, faster}, {}, options, {},
                                     random, real_clock());
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->method.text(), testing::HasSubstr("judge's clock"));
  EXPECT_EQ(result->comparisons.back().verdict, measure::Comparison::improved)
      << result->comparisons.back().why << "; floor " << result->launch_floor << " s, times "
      << result->results.at(0).latency.p50 << " s and " << result->results.at(1).latency.p50
      << " s";
  EXPECT_TRUE(result->failed_launches.empty());
}

// 15, 8: right while it is checked, then nothing.
TEST_F(PythonTiming, LessWorkInTimedLaunchesIsFound) {
  measure::FixedRandom random(seed());
  measure::BenchOptions options;
  options.largest_seconds = 5;
  const auto lazy = module_of("lazy", R"(
calls = 0
def kernel(A, B, bias, C):
    global calls
    calls += 1
    if calls < 20:
        C[:] = A @ B + bias
)");
  const auto result = measure::bench(**python(), matmul(), {module_of("incumbent", kHonest), lazy},
                                     {}, options, {}, random, real_clock());
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_FALSE(result->failed_launches.empty());
  EXPECT_THAT(result->failed_launches.back().why,
              testing::HasSubstr("C is the answer to earlier inputs"));
}

}  // namespace
}  // namespace burnish::cheats
