// A fake of AMD's HIP runtime for machines without an AMD GPU: the functions that burnish calls,
// with device memory in host memory and a clock of its own. It takes real code objects and reads
// which kernels they hold, but no instruction of them runs: a kernel of a name that stands in
// kKernels is done by a host function, and takes the time that a simple model gives. So it tests
// burnish's calls, arguments, errors and records, and nothing of what a GPU would compute or how
// fast.
//
// HIP_VISIBLE_DEVICES chooses among its devices as AMD's runtime does; "-1" hides all.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ihipModuleSymbol_t {
  std::string name;
  int shared_bytes = 0, scratch_bytes = 0, registers = 0, largest_block = 0;
};
struct ihipStream_t {};
struct ihipEvent_t {
  double seconds = -1;
};

namespace {

enum Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  invalid_configuration = 9,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_failure = 719,
  not_supported = 801,
};

struct Device {
  const char *name, *arch, *pci;
  unsigned machine;  ///< of its code objects (LLVM "User Guide for AMDGPU Backend", ELF header)
  int units, clock_khz, memory_clock_khz, bus_bits, l2_bytes, threads_per_unit, wave;
};
// What these products' drivers answer, by the hardware cards.
constexpr Device kDevices[] = {
    {"AMD Instinct MI210", "gfx90a:sramecc+:xnack-", "0000:03:00.0", 0x3f, 104, 1'700'000,
     1'600'000, 4096, 8 << 20, 2048, 64},
    {"AMD Instinct MI300X", "gfx942:sramecc+:xnack-", "0000:04:00.0", 0x4c, 304, 2'100'000,
     1'300'000, 8192, 4 << 20, 2048, 64},
    {"AMD Radeon RX 7900 XTX", "gfx1100", "0000:05:00.0", 0x41, 48, 2'498'000, 1'249'000, 384,
     6 << 20, 2048, 32},
};
constexpr std::size_t kMemory = std::size_t{1} << 30;

struct State {
  const Device* device = nullptr;
  std::map<std::byte*, std::size_t> allocations;
  std::size_t allocated = 0;
  double clock = 0;  ///< seconds on the device
  /// When the device began to work, and its clock then; none while it idles.
  std::optional<std::pair<std::chrono::steady_clock::time_point, double>> began;
  int sticky = success;
  bool hangs = false;
  struct Call {
    const ihipModuleSymbol_t* kernel;
    std::uint64_t blocks, block;
    std::vector<std::byte> arguments;
  };
  std::vector<Call>* capturing = nullptr;
};
State& state() {
  static State one;
  return one;
}

/// What was called, for tests that read the worker's messages; the first hundred lines.
void record(const std::string& line) {
  static int lines = 0;
  if (++lines <= 100) std::fprintf(stderr, "fake HIP: %s\n", line.c_str());
}

std::vector<const Device*> visible_devices() {
  std::vector<const Device*> devices;
  const char* chosen = std::getenv("HIP_VISIBLE_DEVICES");
  if (chosen == nullptr) {
    for (const Device& device : kDevices) devices.push_back(&device);
    return devices;
  }
  for (const char* at = chosen; *at != '\0';) {
    char* end = nullptr;
    const long ordinal = std::strtol(at, &end, 10);
    if (end == at || ordinal < 0 || ordinal >= static_cast<long>(std::size(kDevices))) break;
    devices.push_back(&kDevices[ordinal]);
    at = *end == ',' ? end + 1 : end;
  }
  return devices;
}

const Device* device_at(int ordinal) {
  const auto devices = visible_devices();
  if (ordinal < 0 || ordinal >= static_cast<int>(devices.size())) return nullptr;
  return devices[static_cast<std::size_t>(ordinal)];
}

// ---- Code objects.

template <class T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Module {
  std::map<std::string, ihipModuleSymbol_t> kernels;
};

/// Keys stand in alphabetical order in a kernel's metadata, so the limit precedes the name.
int largest_block_of(std::string_view bytes, const std::string& kernel) {
  const std::size_t name =
      bytes.find(".name" + std::string(1, static_cast<char>(0xa0 | kernel.size())) + kernel);
  constexpr std::string_view kKey = ".max_flat_workgroup_size";
  if (name == std::string_view::npos) return 1024;
  const std::size_t key = bytes.rfind(kKey, name);
  if (key == std::string_view::npos) return 1024;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data()) + key + kKey.size();
  if (at[0] < 0x80) return at[0];
  if (at[0] == 0xcc) return at[1];
  return at[0] == 0xcd ? at[1] << 8 | at[2] : 1024;
}

/// The kernels of a linked code object: the symbols "<name>.kd" of its dynamic symbol table, and
/// what their descriptors say.
Status read_module(std::string_view bytes, unsigned machine, Module& module) {
  constexpr unsigned kAmdGpu = 224, kDynamicSymbols = 11;
  if (!bytes.starts_with("\177ELF") || number_at<std::uint16_t>(bytes, 18) != kAmdGpu) {
    return invalid_image;
  }
  if ((number_at<std::uint32_t>(bytes, 48) & 0xff) != machine) return no_binary_for_gpu;
  const auto sections = number_at<std::uint64_t>(bytes, 40);
  const auto count = number_at<std::uint16_t>(bytes, 60);
  const auto section = [&](unsigned index) { return sections + std::uint64_t{index} * 64; };
  const auto file_offset = [&](std::uint64_t address) -> std::uint64_t {
    for (unsigned i = 0; i < count; ++i) {
      const auto start = number_at<std::uint64_t>(bytes, section(i) + 16);
      const auto size = number_at<std::uint64_t>(bytes, section(i) + 32);
      if (start != 0 && address >= start && address < start + size) {
        return number_at<std::uint64_t>(bytes, section(i) + 24) + address - start;
      }
    }
    return 0;
  };
  for (unsigned i = 0; i < count; ++i) {
    if (number_at<std::uint32_t>(bytes, section(i) + 4) != kDynamicSymbols) continue;
    const auto offset = number_at<std::uint64_t>(bytes, section(i) + 24);
    const auto size = number_at<std::uint64_t>(bytes, section(i) + 32);
    const auto strings = number_at<std::uint64_t>(
        bytes, section(number_at<std::uint32_t>(bytes, section(i) + 40)) + 24);
    for (std::uint64_t at = offset; at + 24 <= offset + size; at += 24) {
      std::string name = bytes.data() + strings + number_at<std::uint32_t>(bytes, at);
      if (!name.ends_with(".kd")) continue;
      name.resize(name.size() - 3);
      const std::uint64_t descriptor = file_offset(number_at<std::uint64_t>(bytes, at + 8));
      ihipModuleSymbol_t kernel;
      kernel.name = name;
      kernel.shared_bytes = number_at<std::int32_t>(bytes, descriptor);
      kernel.scratch_bytes = number_at<std::int32_t>(bytes, descriptor + 4);
      kernel.registers = 8 * ((number_at<std::int32_t>(bytes, descriptor + 48) & 0x3f) + 1);
      kernel.largest_block = largest_block_of(bytes, name);
      module.kernels.emplace(name, kernel);
    }
  }
  return success;
}

// ---- Kernels.

class Arguments {
 public:
  explicit Arguments(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  /// The next argument, at its natural alignment.
  template <class T>
  T take() {
    at_ = (at_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T value{};
    if (at_ + sizeof value <= bytes_.size()) {
      std::memcpy(&value, bytes_.data() + at_, sizeof value);
    }
    at_ += sizeof value;
    return value;
  }

 private:
  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

struct Launch {
  std::uint64_t blocks, block;
  std::uint64_t threads() const { return blocks * block; }
};

/// What a kernel costs: bytes through memory, floating-point operations.
struct Cost {
  double bytes = 0, operations = 0;
};

Cost probe(const Launch& launch, Arguments arguments) {
  const auto* in = arguments.take<const std::uint32_t*>();
  auto* out = arguments.take<std::uint32_t*>();
  const auto n = static_cast<std::uint32_t>(launch.block);
  const auto mixed = [&](std::uint32_t i) { return in[i] * 2654435761u + i; };
  for (std::uint32_t i = 0; i < launch.threads(); ++i) {
    out[i] = mixed(i) ^ (mixed(i / n * n + (i % n + 1) % n) >> 7);
  }
  return {8.0 * static_cast<double>(launch.threads()), 0};
}

Cost copy(const Launch&, Arguments arguments) {
  const auto* in = arguments.take<const std::byte*>();
  auto* out = arguments.take<std::byte*>();
  const auto bytes = 16 * arguments.take<std::uint64_t>();
  std::memcpy(out, in, bytes);
  return {2.0 * static_cast<double>(bytes), 0};
}

Cost compute(const Launch& launch, Arguments arguments) {
  arguments.take<void*>();
  const auto rounds = arguments.take<std::int32_t>();
  return {0, 128.0 * rounds * static_cast<double>(launch.threads())};
}

Cost nothing(const Launch&, Arguments) { return {}; }

Cost vector_add(const Launch& launch, Arguments arguments) {
  const auto* a = arguments.take<const float*>();
  const auto* b = arguments.take<const float*>();
  auto* out = arguments.take<float*>();
  const auto n = static_cast<std::uint64_t>(arguments.take<std::int32_t>());
  for (std::uint64_t i = 0; i < std::min(n, launch.threads()); ++i) out[i] = a[i] + b[i];
  return {12.0 * static_cast<double>(n), static_cast<double>(n)};
}

Cost scale(const Launch& launch, Arguments arguments) {
  auto* x = arguments.take<float*>();
  const auto factor = arguments.take<float>();
  const auto n = static_cast<std::uint64_t>(arguments.take<std::int32_t>());
  for (std::uint64_t i = 0; i < std::min(n, launch.threads()); ++i) x[i] *= factor;
  return {8.0 * static_cast<double>(n), static_cast<double>(n)};
}

/// Writes one element too many.
Cost write_beyond(const Launch&, Arguments arguments) {
  auto* out = arguments.take<float*>();
  const auto n = arguments.take<std::int32_t>();
  for (std::int32_t i = 0; i <= n; ++i) out[i] = 1;
  return {4.0 * n, 0};
}

Cost take_struct(const Launch&, Arguments arguments) {
  struct Parameters {
    float a;
    std::int32_t b;
    double c;
  };
  const auto parameters = arguments.take<Parameters>();
  auto* out = arguments.take<double*>();
  out[0] = static_cast<double>(parameters.a);
  out[1] = parameters.b;
  out[2] = parameters.c;
  return {24, 0};
}

Cost fail_address(const Launch&, Arguments) {
  state().sticky = illegal_address;
  return {};
}

/// A page fault, as AMD's driver tells it by default.
Cost fault(const Launch&, Arguments) {
  std::fprintf(stderr,
               "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f0000000000. "
               "Reason: Page not present or supervisor privilege.\n");
  std::abort();
}

Cost hang(const Launch&, Arguments) {
  state().hangs = true;
  return {};
}

struct Kernel {
  std::string_view name;  ///< the start of the symbol, when it ends with "_"
  Cost (*run)(const Launch&, Arguments);
};
constexpr Kernel kKernels[] = {
    {"probe", probe},
    {"copy", copy},
    {"copy_streaming", copy},
    {"fma_", compute},
    {"matrix_", compute},
    {"burnish_empty", nothing},
    {"vector_add", vector_add},
    {"scale", scale},
    {"write_beyond", write_beyond},
    {"take_struct", take_struct},
    {"fail_address", fail_address},
    {"fault", fault},
    {"hang", hang},
};

const Kernel* find_kernel(std::string_view symbol) {
  for (const Kernel& kernel : kKernels) {
    if (kernel.name == symbol || (kernel.name.ends_with('_') && symbol.starts_with(kernel.name))) {
      return &kernel;
    }
  }
  return nullptr;
}

/// Microseconds to launch, time in memory or arithmetic, and what each block costs its unit.
double model_seconds(const Cost& cost, const Launch& launch) {
  const double memory = cost.bytes / 1.2e12, arithmetic = cost.operations / 20e12;
  const double blocks = 60e-9 * static_cast<double>(launch.blocks) / state().device->units;
  static std::uint32_t seed = 1;
  seed = seed * 1664525u + 1013904223u;
  const double noise = 1 + 0.004 * (seed >> 16) / 65536.0;
  return (2e-6 + std::max(memory, arithmetic) + blocks) * noise;
}

Status run(const State::Call& call) {
  const Kernel* kernel = find_kernel(call.kernel->name);
  if (kernel == nullptr) return not_supported;
  if (!state().began) state().began = {std::chrono::steady_clock::now(), state().clock};
  const Launch launch{call.blocks, call.block};
  const Cost cost = kernel->run(launch, Arguments(call.arguments));
  state().clock += model_seconds(cost, launch);
  return success;
}

Status enqueue(const char* name, ihipModuleSymbol_t* kernel, std::uint64_t blocks,
               std::uint64_t block, std::size_t shared, void** extra, ihipEvent_t* start,
               ihipEvent_t* stop) {
  if (state().sticky != success) return static_cast<Status>(state().sticky);
  if (kernel == nullptr) return invalid_value;
  if (block > static_cast<std::uint64_t>(kernel->largest_block)) return invalid_value;
  State::Call call{kernel, blocks, block, {}};
  if (extra != nullptr) {  // HIP porting guide, hipModuleLaunchKernel
    if (extra[0] != reinterpret_cast<void*>(1) || extra[2] != reinterpret_cast<void*>(2) ||
        extra[4] != reinterpret_cast<void*>(3)) {
      return invalid_value;
    }
    const auto* bytes = static_cast<const std::byte*>(extra[1]);
    call.arguments.assign(bytes, bytes + *static_cast<const std::size_t*>(extra[3]));
  }
  record(std::string(name) + " " + kernel->name + " blocks " + std::to_string(blocks) + " of " +
         std::to_string(block) + " shared " + std::to_string(shared) + " arguments " +
         std::to_string(call.arguments.size()));
  if (state().capturing != nullptr) {
    if (start != nullptr || stop != nullptr) return not_supported;
    state().capturing->push_back(std::move(call));
    return success;
  }
  if (start != nullptr) start->seconds = state().clock;
  const Status status = run(call);
  if (stop != nullptr) stop->seconds = state().clock;
  return status;
}

/// Waits as long as the device would work, so that no launch is faster for the host.
Status synchronize() {
  if (state().began) {
    const auto& [start, clock] = *state().began;
    std::this_thread::sleep_until(start +
                                  std::chrono::duration_cast<std::chrono::nanoseconds>(
                                      std::chrono::duration<double>(state().clock - clock)));
    state().began.reset();
  }
  while (state().hangs) std::this_thread::sleep_for(std::chrono::hours(1));
  return static_cast<Status>(state().sticky);
}

struct Graph {
  std::vector<State::Call> calls;
};

/// Whether the bytes lie in one allocation.
bool is_allocated(const void* at, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(at);
  auto next = state().allocations.upper_bound(const_cast<std::byte*>(begin));
  if (next == state().allocations.begin()) return false;
  const auto& [start, size] = *--next;
  return begin + bytes <= start + size;
}

}  // namespace

extern "C" {

int hipInit(unsigned) { return visible_devices().empty() ? invalid_device : success; }
int hipRuntimeGetVersion(int* version) {
  *version = 60'443'483;
  return success;
}
const char* hipGetErrorName(int status) {
  switch (status) {
    case out_of_memory:
      return "hipErrorOutOfMemory";
    case no_device:
      return "hipErrorNoDevice";
    case no_binary_for_gpu:
      return "hipErrorNoBinaryForGpu";
    case illegal_address:
      return "hipErrorIllegalAddress";
    case not_supported:
      return "hipErrorNotSupported";
    default:
      return "hipErrorInvalidValue";
  }
}
const char* hipGetErrorString(int status) {
  switch (status) {
    case out_of_memory:
      return "out of memory";
    case no_binary_for_gpu:
      return "no kernel image is available for execution on the device";
    case illegal_address:
      return "an illegal memory access was encountered";
    case not_supported:
      return "operation not supported";
    default:
      return "invalid argument";
  }
}
int hipGetDeviceCount(int* count) {
  *count = static_cast<int>(visible_devices().size());
  return *count == 0 ? no_device : success;
}
int hipDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return device_at(ordinal) == nullptr ? invalid_device : success;
}
int hipDeviceGetName(char* name, int length, int device) {
  if (device_at(device) == nullptr) return invalid_device;
  std::snprintf(name, static_cast<std::size_t>(length), "%s", device_at(device)->name);
  return success;
}
int hipDeviceGetAttribute(int* value, int attribute, int ordinal) {
  const Device* device = device_at(ordinal);
  if (device == nullptr) return invalid_device;
  switch (attribute) {
    case 5:
      *value = device->clock_khz;
      break;
    case 19:
      *value = device->l2_bytes;
      break;
    case 56:
      *value = 1024;
      break;
    case 57:
      *value = device->threads_per_unit;
      break;
    case 59:
      *value = device->bus_bits;
      break;
    case 60:
      *value = device->memory_clock_khz;
      break;
    case 63:
      *value = device->units;
      break;
    case 10015:
      *value = device->wave == 32 ? 2 * device->units : device->units;
      break;
    case 74:
    case 10002:
      *value = 64 << 10;
      break;
    case 87:
      *value = device->wave;
      break;
    default:
      return invalid_value;
  }
  return success;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = kMemory;
  return success;
}
int hipDeviceGetPCIBusId(char* id, int length, int device) {
  if (device_at(device) == nullptr) return invalid_device;
  std::snprintf(id, static_cast<std::size_t>(length), "%s", device_at(device)->pci);
  return success;
}
int hipGetDevicePropertiesR0600(char* properties, int device) {
  if (device_at(device) == nullptr) return invalid_device;
  constexpr std::size_t kArchName = 1160;  // of gcnArchName in ROCm 6
  std::strcpy(properties, device_at(device)->name);
  std::strcpy(properties + kArchName, device_at(device)->arch);
  return success;
}
int hipSetDevice(int device) {
  state().device = device_at(device);
  return state().device == nullptr ? invalid_device : success;
}
int hipDeviceSynchronize() { return synchronize(); }

int hipModuleLoadData(Module** module, const void* image) {
  // The image's size is not given: the section headers stand at its end.
  const std::string_view head(static_cast<const char*>(image), 64);
  if (!head.starts_with("\177ELF")) return invalid_image;
  const std::size_t size =
      number_at<std::uint64_t>(head, 40) + std::size_t{64} * number_at<std::uint16_t>(head, 60);
  auto made = std::make_unique<Module>();
  const Status status =
      read_module({static_cast<const char*>(image), size}, state().device->machine, *made);
  *module = made.release();
  return status;
}
int hipModuleGetFunction(ihipModuleSymbol_t** function, Module* module, const char* name) {
  const auto found = module->kernels.find(name);
  if (found == module->kernels.end()) return not_found;
  *function = &found->second;
  return success;
}
int hipFuncGetAttribute(int* value, int attribute, const ihipModuleSymbol_t* function) {
  switch (attribute) {
    case 0:
      *value = function->largest_block;
      return success;
    case 1:
      *value = function->shared_bytes;
      return success;
    case 3:
      *value = function->scratch_bytes;
      return success;
    case 4:
      *value = function->registers;
      return success;
    default:
      return invalid_value;
  }
}

int hipMalloc(std::byte** pointer, std::size_t bytes) {
  if (bytes > kMemory - state().allocated) return out_of_memory;
  *pointer = static_cast<std::byte*>(std::calloc(bytes, 1));
  if (*pointer == nullptr) return out_of_memory;
  state().allocations[*pointer] = bytes;
  state().allocated += bytes;
  return success;
}
int hipFree(std::byte* pointer) {
  const auto found = state().allocations.find(pointer);
  if (found == state().allocations.end()) return invalid_value;
  state().allocated -= found->second;
  state().allocations.erase(found);
  std::free(pointer);
  return success;
}
int hipMemcpyHtoD(void* to, const void* from, std::size_t bytes) {
  if (!is_allocated(to, bytes)) return invalid_value;
  std::memcpy(to, from, bytes);
  return synchronize();
}
int hipMemcpyDtoH(void* to, const void* from, std::size_t bytes) {
  if (!is_allocated(from, bytes)) return invalid_value;
  std::memcpy(to, from, bytes);
  return synchronize();
}
int hipMemsetD32(void* to, int value, std::size_t count) {
  if (!is_allocated(to, 4 * count)) return invalid_value;
  for (std::size_t i = 0; i < count; ++i) static_cast<int*>(to)[i] = value;
  return synchronize();
}

int hipStreamCreateWithFlags(ihipStream_t** stream, unsigned) {
  *stream = new ihipStream_t;
  return success;
}
int hipStreamSynchronize(ihipStream_t*) { return synchronize(); }
int hipEventCreateWithFlags(ihipEvent_t** event, unsigned) {
  *event = new ihipEvent_t;
  return success;
}
int hipEventRecord(ihipEvent_t* event, ihipStream_t*) {
  event->seconds = state().clock;
  return success;
}
int hipEventElapsedTime(float* milliseconds, const ihipEvent_t* start, const ihipEvent_t* stop) {
  if (start->seconds < 0 || stop->seconds < 0) return not_ready;
  *milliseconds = static_cast<float>(1e3 * (stop->seconds - start->seconds));
  return success;
}
int hipModuleLaunchKernel(ihipModuleSymbol_t* kernel, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared, ihipStream_t*, void**, void** extra) {
  return enqueue("hipModuleLaunchKernel", kernel, std::uint64_t{grid_x} * grid_y * grid_z,
                 std::uint64_t{block_x} * block_y * block_z, shared, extra, nullptr, nullptr);
}

int hipStreamBeginCapture(ihipStream_t*, int) {
  state().capturing = new std::vector<State::Call>;
  return success;
}
int hipStreamEndCapture(ihipStream_t*, Graph** graph) {
  *graph = new Graph{std::move(*state().capturing)};
  delete state().capturing;
  state().capturing = nullptr;
  return success;
}
int hipGraphInstantiateWithFlags(Graph** made, const Graph* graph, unsigned long long) {
  *made = new Graph(*graph);
  return success;
}
int hipGraphLaunch(const Graph* graph, ihipStream_t*) {
  record("hipGraphLaunch of " + std::to_string(graph->calls.size()));
  for (const State::Call& call : graph->calls) {
    if (const Status status = run(call); status != success) return status;
  }
  return success;
}
int hipGraphDestroy(Graph* graph) {
  delete graph;
  return success;
}
int hipGraphExecDestroy(Graph* graph) {
  delete graph;
  return success;
}

}  // extern "C"

int hipExtModuleLaunchKernel(ihipModuleSymbol_t* kernel, std::uint32_t threads_x,
                             std::uint32_t threads_y, std::uint32_t threads_z,
                             std::uint32_t block_x, std::uint32_t block_y, std::uint32_t block_z,
                             std::size_t shared, ihipStream_t*, void**, void** extra,
                             ihipEvent_t* start, ihipEvent_t* stop, std::uint32_t) {
  if (block_x == 0 || block_y == 0 || block_z == 0) return invalid_value;
  const std::uint64_t blocks =
      std::uint64_t{threads_x} / block_x * (threads_y / block_y) * (threads_z / block_z);
  return enqueue("hipExtModuleLaunchKernel", kernel, blocks,
                 std::uint64_t{block_x} * block_y * block_z, shared, extra, start, stop);
}
