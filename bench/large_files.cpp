// How fast large artefacts are read, and in how much memory: AMD's counter CSV, a thread trace's
// code.json, a folder of wave files and rocprofv3's JSON, all generated, and a report of Nsight
// Compute, whose blocks are those of a real one many times over. Processor time, since the machine
// may be busy; memory is the most anonymous memory (mapped files can be dropped at any time).
// Usage: bench_large_files FOLDER [CSV_MB [CODE_MB [WAVES_MB [JSON_MB [REPORT_MB]]]]]; the files
// stay in FOLDER.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "profile/profile.h"

namespace burnish::profile {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// kB of a line of /proc/self/status.
long status_kb(const char* line) {
  std::ifstream status("/proc/self/status");
  for (std::string text; std::getline(status, text);) {
    if (text.starts_with(line))
      return std::strtol(text.c_str() + std::string(line).size(), nullptr, 10);
  }
  return 0;
}

template <class Append>
void generate(const fs::path& path, std::size_t megabytes, const std::string& head,
              const std::string& tail, Append&& append) {
  std::ofstream file(path, std::ios::binary);
  std::string block = head;
  std::size_t written = 0;
  for (std::size_t i = 0; written + block.size() < megabytes * 1'000'000; ++i) {
    append(i, block);
    if (block.size() > 1 << 20) {
      file << block;
      written += block.size();
      block.clear();
    }
  }
  file << block << tail;
}

void counters(const fs::path& path, std::size_t megabytes) {
  static const char* const kNames[] = {
      "SQ_WAVES",    "SQ_INSTS",     "SQ_INSTS_LDS", "GRBM_GUI_ACTIVE",
      "TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum",  "SQ_LDS_BANK_CONFLICT"};
  generate(path, megabytes,
           "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","
           "\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\","
           "\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\","
           "\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n",
           "", [](std::size_t i, std::string& out) {
             const std::size_t dispatch = i / 8 + 1;
             fmt::format_to(std::back_inserter(out),
                            "{0},{0},\"Agent 4\",1,15606,15606,1048576,{1},\"void "
                            "kernel_{1}<float, 4>(float*, float const*, float const*, int, int)\","
                            "256,0,0,64,0,32,\"{2}\",{3}.000000,{4},{5}\n",
                            dispatch, dispatch % 97, kNames[i % 8], 16384 + i % 1000,
                            3200098838431081 + dispatch * 60000,
                            3200098838483232 + dispatch * 60000);
           });
}

void code(const fs::path& path, std::size_t megabytes) {
  generate(path, megabytes, "{\"code\":[[\"; kernel\",0,0,\"\",1,4096,0,0,0,0]",
           "],\"header\":\"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, "
           "Idle\",\"version\":\"3.0.0\"}",
           [](std::size_t i, std::string& out) {
             fmt::format_to(
                 std::back_inserter(out),
                 ",[\"v_fmac_f32_e32 v{}, v{}, v{}\",0,{},\"/src/kernel.hip:{}\",1,{},{},{}"
                 ",{},{}]",
                 i % 256, i % 251, i % 241, i + 1, i % 4000, 4096 + 4 * i, i % 3 == 0 ? 3422 : 0,
                 i % 3 == 0 ? 13688 : 0, i % 7, i % 11);
           });
}

void waves(const fs::path& folder, std::size_t megabytes) {
  for (int wave = 0; wave < 4; ++wave) {
    generate(
        folder / fmt::format("se0_sm{}_sl0_wv0.json", wave), megabytes / 4,
        "{\"duration\":40196,\"name\":\"SE0\",\"num_insts\":2502,\"num_stitched\":2502,"
        "\"wave\":{\"begin\":100,\"cu\":1,\"end\":40296,\"id\":0,\"instructions\":[[100,2,0,4,1]",
        "],\"simd\":0,\"slot\":0,\"timeline\":[[1,612]],\"waitcnt\":[]}}",
        [](std::size_t i, std::string& out) {
          fmt::format_to(std::back_inserter(out), ",[{},6,{},{},{}]", 104 + 4 * i, i % 40,
                         4 + i % 40, i % 1000 + 1);
        });
  }
}

void tool_json(const fs::path& path, std::size_t megabytes) {
  generate(
      path, megabytes,
      "{\"rocprofiler-sdk-tool\":[{\"counters\":[{\"id\":{\"handle\":9},\"name\":\"SQ_WAVES\"}],"
      "\"kernel_symbols\":[{\"kernel_id\":0,\"formatted_kernel_name\":\"k()\"}],"
      "\"callback_records\":{\"counter_collection\":[{}",
      "]}}]}", [](std::size_t i, std::string& out) {
        fmt::format_to(std::back_inserter(out),
                       ",{{\"dispatch_data\":{{\"start_timestamp\":{0},\"end_timestamp\":{1},"
                       "\"dispatch_info\":{{\"agent_id\":{{\"handle\":1}},\"kernel_id\":0,"
                       "\"dispatch_id\":{2},\"workgroup_size\":{{\"x\":64,\"y\":1,\"z\":1}},"
                       "\"grid_size\":{{\"x\":6400,\"y\":1,\"z\":1}}}}}},\"records\":[",
                       i * 1000, i * 1000 + 500, i + 1);
        for (int instance = 0; instance < 32; ++instance) {
          fmt::format_to(std::back_inserter(out),
                         "{}{{\"counter_id\":{{\"handle\":9}},\"value\":{}.0}}",
                         instance == 0 ? "" : ",", instance + 1);
        }
        out += "]}";
      });
}

/// The blocks of a report follow its header, whose size is its second word
/// (profile/ncu_container.h).
bool report(const fs::path& path, std::size_t megabytes) {
  std::ifstream in(BURNISH_SHARED_DIR "/fixtures/h200/k.ncu-rep", std::ios::binary);
  const std::string real((std::istreambuf_iterator<char>(in)), {});
  std::uint32_t header = 0;
  if (real.size() < 8) {
    std::fprintf(stderr, "the report to multiply, fixtures/h200/k.ncu-rep, is not here\n");
    return false;
  }
  std::memcpy(&header, real.data() + 4, sizeof header);
  const std::string blocks = real.substr(8 + header);
  generate(path, megabytes, real.substr(0, 8 + header), "",
           [&](std::size_t, std::string& out) { out += blocks; });
  return true;
}

std::size_t size_of(const fs::path& path) {
  if (!fs::is_directory(path)) return fs::file_size(path);
  std::size_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

bool measure(const char* what, const fs::path& path) {
  std::atomic<bool> done{false};
  long most = 0;
  const long before = status_kb("RssAnon:");
  std::thread watch([&] {
    while (!done) {
      most = std::max(most, status_kb("RssAnon:"));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const double start = cpu_seconds();
  const auto reading = read_profile(path);
  const double seconds = cpu_seconds() - start;
  done = true;
  watch.join();
  if (!reading) {
    std::fprintf(stderr, "%s\n", reading.error().to_string().c_str());
    return false;
  }
  const double size = static_cast<double>(size_of(path)) / 1e6;
  std::printf(
      "%-10s %7.0f MB in %6.2f s of processor time: %5.0f MB/s, %5ld MB of memory, %zu kernels\n",
      what, size, seconds, size / seconds, (most - before) / 1024, reading->kernels.size());
  return true;
}

}  // namespace
}  // namespace burnish::profile

int main(int argc, char** argv) {
  using namespace burnish::profile;  // NOLINT: a program of one file
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: bench_large_files FOLDER [CSV_MB [CODE_MB [WAVES_MB [JSON_MB "
                 "[REPORT_MB]]]]]\n");
    return 2;
  }
  const burnish::fs::path folder = argv[1];
  const auto megabytes = [&](int index, std::size_t fallback) {
    return argc > index ? std::strtoul(argv[index], nullptr, 10) : fallback;
  };
  const burnish::fs::path csv = folder / "7_counter_collection.csv",
                          one = folder / "code/code.json", many = folder / "waves",
                          json = folder / "7_results.json", rep = folder / "many.ncu-rep";
  burnish::fs::create_directories(one.parent_path());
  burnish::fs::create_directories(many);
  bool ok = true;
  if (const auto size = megabytes(2, 2000); size > 0) {
    counters(csv, size);
    ok = measure("CSV", csv) && ok;
  }
  if (const auto size = megabytes(3, 1000); size > 0) {
    code(one, size);
    ok = measure("code.json", one) && ok;
  }
  if (const auto size = megabytes(4, 1000); size > 0) {
    code(many / "code.json", 1);
    waves(many, size);
    ok = measure("waves", many) && ok;
  }
  if (const auto size = megabytes(5, 1000); size > 0) {
    tool_json(json, size);
    ok = measure("JSON", json) && ok;
  }
  if (const auto size = megabytes(6, 1000); size > 0) {
    ok = report(rep, size) && measure("report", rep) && ok;
  }
  return ok ? 0 : 1;
}
