#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zstd.h>

#include <cstring>

#include "base/file.h"
#include "isa/cubin_object.h"
#include "isa/fatbin.h"
#include "isa/isa.h"
#include "isa/nvidia.h"

namespace burnish::isa::nvidia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string bytes_of(const std::string& name) {
  auto bytes = real_file_system().read(fs::path(BURNISH_SOURCE_DIR) / "src/isa/testdata" / name);
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  return bytes ? std::move(*bytes) : std::string();
}

/// Finds no program to run.
class NoPrograms : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec&) override {
    return environment_error("no program runs here");
  }
};

Result<Reading> read_bytes(std::string_view bytes) {
  NoPrograms none;
  return read("a.cubin", bytes, none);
}

std::vector<std::int64_t> sizes(const CubinKernel& kernel) {
  std::vector<std::int64_t> result;
  for (const KernelArgument& argument : kernel.arguments) result.push_back(argument.size);
  return result;
}

TEST(Cubin, FlagsOfAbi7) {
  const std::string bytes = bytes_of("sm_61.cubin");
  ASSERT_TRUE(is_cubin(bytes));
  const auto cubin = read_cubin(bytes, "a", {});
  ASSERT_TRUE(cubin) << cubin.error().to_string();
  EXPECT_EQ(cubin->abi, 7);
  EXPECT_EQ(cubin->sm, 61);
  EXPECT_EQ(cubin->virtual_sm, 61);
  EXPECT_FALSE(cubin->accelerated);
  EXPECT_EQ(cubin->api_version, 129) << "CUDA 12.9";
  ASSERT_EQ(cubin->kernels.size(), 1u);
  const CubinKernel& kernel = cubin->kernels[0];
  EXPECT_EQ(kernel.symbol, "indexed");
  EXPECT_EQ(kernel.registers, 12);
  EXPECT_EQ(kernel.stack_bytes, 32) << "float a[8]";
  EXPECT_EQ(kernel.shared_bytes, 0);
  EXPECT_EQ(kernel.parameter_bytes, 20);
  EXPECT_THAT(sizes(kernel), ElementsAre(4, 8, 8))
      << "as the object lists them, the last one first";
  ASSERT_TRUE(kernel.spills) << "this ptxas marks spills";
  EXPECT_TRUE(kernel.spills->empty());
}

TEST(Cubin, FlagsOfAbi8AndMarkedSpills) {
  const std::string bytes = bytes_of("sm_90.cubin");
  const auto cubin = read_cubin(bytes, "a", {});
  ASSERT_TRUE(cubin) << cubin.error().to_string();
  EXPECT_EQ(cubin->abi, 8);
  EXPECT_EQ(cubin->sm, 90);
  EXPECT_FALSE(cubin->virtual_sm);
  EXPECT_THAT(cubin->tool, HasSubstr("13.0"));
  ASSERT_EQ(cubin->kernels.size(), 1u);
  const CubinKernel& kernel = cubin->kernels[0];
  EXPECT_EQ(kernel.symbol, "both");
  EXPECT_EQ(kernel.registers, 24);
  ASSERT_TRUE(kernel.spills);
  EXPECT_GT(kernel.spills->size(), 80u);
  EXPECT_EQ(kernel.most_threads, std::nullopt);
}

TEST(Cubin, WithoutADisassemblerResourcesAreReadAllTheSame) {
  const auto reading = read_bytes(bytes_of("sm_90.cubin"));
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->kind, "cubin");
  ASSERT_EQ(reading->kernels.size(), 1u);
  EXPECT_EQ(reading->kernels[0].registers_used, 24);
  EXPECT_TRUE(reading->kernels[0].instructions.empty());
  EXPECT_EQ(reading->kernels[0].arguments.front().size, 8) << "in the order of their offsets";
  const MetricSet set = metrics(reading->kernels[0]);
  EXPECT_EQ(set.value("registers.used"), 24);
  EXPECT_FALSE(set.find("isa.instructions"));
  EXPECT_FALSE(set.find("isa.fma")) << "unknown is absent, not 0";
  EXPECT_FALSE(set.find("spill.instructions"));
  ASSERT_FALSE(reading->warnings.empty());
  EXPECT_THAT(reading->warnings[0], HasSubstr("read all the same"));
}

TEST(Cubin, DriverSharedMemoryIsNotTheKernels) {
  const std::string fatbin = bytes_of("zstd.fatbin");
  const auto entries = read_fatbins(fatbin, "a");
  ASSERT_TRUE(entries) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 3u);
  for (const FatbinEntry& entry : *entries) {
    EXPECT_EQ(entry.packing, FatbinEntry::Packing::zstd);
    if (entry.kind != FatbinEntry::Kind::cubin) continue;
    const auto plain = unpack(entry, "a");
    ASSERT_TRUE(plain) << plain.error().to_string();
    const auto cubin = read_cubin(*plain, "a", entry.name());
    ASSERT_TRUE(cubin) << cubin.error().to_string();
    EXPECT_EQ(cubin->sm, entry.sm);
    EXPECT_EQ(cubin->kernels.at(0).shared_bytes, 2048) << entry.name();

    // A relocatable object (nvcc -rdc=true) does not count it yet.
    std::string relocatable = *plain;
    ASSERT_EQ(relocatable[16], 2) << "e_type is that of a linked object";
    relocatable[16] = 1;
    const auto object = read_cubin(relocatable, "a", entry.name());
    ASSERT_TRUE(object) << object.error().to_string();
    EXPECT_EQ(object->kernels.at(0).shared_bytes, entry.sm >= 90 ? 2048 + 1024 : 2048);
  }
}

TEST(Cubin, ConstantsAndInitialisedVariablesAreHashed) {
  std::string bytes = bytes_of("sm_61.cubin");
  const auto data_of = [](std::string_view cubin) {
    const auto read = read_cubin(cubin, "a", {});
    return read ? read->kernels.at(0).data : read.error().to_string();
  };
  const auto sections = elf_sections(bytes, "a");
  ASSERT_TRUE(sections) << sections.error().to_string();
  const std::string before = data_of(bytes);
  EXPECT_EQ(before, data_of(bytes));
  const auto flipped = [&](std::string_view name) {
    std::string changed = bytes;
    for (const ElfSection& section : *sections) {
      if (section.name != name || section.bytes.empty()) continue;
      changed[static_cast<std::size_t>(section.bytes.data() - bytes.data())] ^= 1;
      return changed;
    }
    ADD_FAILURE() << "no section " << name;
    return changed;
  };
  EXPECT_EQ(before, data_of(flipped(".nv.constant0.indexed"))) << "the arguments";
  EXPECT_EQ(before, data_of(flipped(".text.indexed")));
  // Its name table calls the bank of the arguments one of constants.
  std::string other = bytes;
  const std::size_t name = other.find(".nv.constant0.indexed");
  ASSERT_NE(name, std::string::npos);
  other[name + 12] = '2';
  EXPECT_NE(before, data_of(other));
}

TEST(Fatbin, ImagesAreReadAndTheRestIsNamed) {
  const auto reading = read_bytes(bytes_of("zstd.fatbin"));
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->kind, "fatbin");
  ASSERT_EQ(reading->kernels.size(), 2u);
  EXPECT_EQ(reading->kernels[0].arch, "sm_80");
  EXPECT_EQ(reading->kernels[1].arch, "sm_90");
  EXPECT_THAT(reading->warnings, testing::Contains(HasSubstr("sm_90 PTX (zstd)")));
}

TEST(Fatbin, WithoutMachineCodeWhatItHoldsIsNamed) {
  const auto fatbin = [](const std::vector<std::uint16_t>& kinds) {
    std::string bytes(16, '\0');
    const auto put = [&](std::size_t at, auto value) {
      std::memcpy(bytes.data() + at, &value, sizeof(value));
    };
    put(0, std::uint32_t{0xba55ed50});
    put(4, std::uint16_t{1});
    put(6, std::uint16_t{16});
    put(8, std::uint64_t{64} * kinds.size());
    for (const std::uint16_t kind : kinds) {
      const std::size_t at = bytes.size();
      bytes += std::string(64, '\0');
      put(at, kind);
      put(at + 4, std::uint32_t{64});
      put(at + 28, std::uint32_t{90});
    }
    return bytes;
  };
  const auto error = [&](const std::vector<std::uint16_t>& kinds) {
    const auto reading = read_bytes(fatbin(kinds));
    return reading ? std::string("accepted") : reading.error().message;
  };
  EXPECT_EQ(error({1}), "it holds no machine code for NVIDIA GPUs, only sm_90 PTX");
  // nvcc -dlto
  EXPECT_EQ(error({1, 8}), "it holds no machine code for NVIDIA GPUs, only sm_90 PTX, sm_90 image");
  EXPECT_THAT(error(std::vector<std::uint16_t>(12, 1)), HasSubstr("only sm_90 PTX, "));
}

/// A host object with one section, .nv_fatbin.
std::string host_object(const std::string& fatbin) {
  const std::string names("\0.nv_fatbin\0.shstrtab\0", 22);
  std::string elf(64, '\0');
  const auto put = [](std::string& into, std::size_t at, auto value) {
    std::memcpy(into.data() + at, &value, sizeof(value));
  };
  elf.replace(0, 7,
              std::string("\x7f"
                          "ELF\x02\x01\x01",
                          7));
  put(elf, 16, std::uint16_t{1});
  put(elf, 18, std::uint16_t{62});
  const std::uint64_t content = elf.size();
  elf += fatbin + names;
  const std::uint64_t table = elf.size();
  put(elf, 40, table);
  put(elf, 58, std::uint16_t{64});
  put(elf, 60, std::uint16_t{3});
  put(elf, 62, std::uint16_t{2});
  const auto section = [&](std::uint32_t name, std::uint32_t type, std::uint64_t offset,
                           std::uint64_t size) {
    std::string header(64, '\0');
    put(header, 0, name);
    put(header, 4, type);
    put(header, 24, offset);
    put(header, 32, size);
    elf += header;
  };
  section(0, 0, 0, 0);
  section(1, 1, content, fatbin.size());
  section(12, 3, content + fatbin.size(), names.size());
  return elf;
}

TEST(Fatbin, InsideAHostObject) {
  const std::string object = host_object(bytes_of("zstd.fatbin"));
  EXPECT_TRUE(recognises(object));
  const auto reading = read_bytes(object);
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->kind, "host-fatbin");
  EXPECT_EQ(reading->kernels.size(), 2u);
  EXPECT_FALSE(recognises(host_object("")));
  const auto broken = read_bytes(host_object(bytes_of("zstd.fatbin").substr(0, 300)));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().to_string(), HasSubstr("a.cubin"));
}

TEST(Fatbin, Lz4Blocks) {
  // 4 literals, then 12 bytes from 4 back, then 1 literal (LZ4 Block Format Description).
  const std::string block(
      "\x48"
      "abcd\x04\x00\x10"
      "!",
      9);
  const auto plain = unpack_lz4(block, 100, "a");
  ASSERT_TRUE(plain) << plain.error().to_string();
  EXPECT_EQ(*plain, "abcdabcdabcdabcd!");
  const auto error = [](std::string_view bytes, std::size_t limit) {
    const auto result = unpack_lz4(bytes, limit, "a");
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_THAT(error(block, 10), HasSubstr("longer"));
  EXPECT_THAT(error(std::string_view(block).substr(0, 3), 100), HasSubstr("literals"));
  EXPECT_THAT(error(std::string_view(block).substr(0, 6), 100), HasSubstr("offset"));
  EXPECT_THAT(error(std::string("\x10"
                                "a\x00\x00",
                                4),
                    100),
              HasSubstr("before"));
  EXPECT_THAT(error(std::string("\x10"
                                "a\x09\x00",
                                4),
                    100),
              HasSubstr("before"));
  EXPECT_THAT(error(std::string(1000, '\xff'), 100), HasSubstr("corrupt"));
}

TEST(Fatbin, ZstdOfATableOfZeros) {
  const std::string plain(std::size_t{8} << 20, '\0');
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  ASSERT_LT(packed.size() * 2000, plain.size());
  FatbinEntry entry;
  entry.packing = FatbinEntry::Packing::zstd;
  entry.packed = packed;
  entry.plain_size = plain.size();
  const auto unpacked = unpack(entry, "a");
  ASSERT_TRUE(unpacked) << unpacked.error().to_string();
  EXPECT_EQ(*unpacked, plain);
  entry.packed = std::string_view(packed).substr(0, 20);
  EXPECT_FALSE(unpack(entry, "a"));
}

std::string error_of(std::string_view bytes) {
  const auto reading = read_bytes(bytes);
  return reading ? std::string("accepted") : reading.error().to_string();
}

TEST(Cubin, DamagedObjectsGiveLocatedErrors) {
  const std::string cubin = bytes_of("sm_61.cubin");
  for (std::size_t size = 21; size < cubin.size(); size += 7) {
    const std::string error = error_of(std::string_view(cubin).substr(0, size));
    EXPECT_THAT(error, HasSubstr("a.cubin")) << size;
  }
  std::string old = cubin;
  old[48] = 35;
  EXPECT_THAT(error_of(old), HasSubstr("sm_35"));
  for (std::size_t at = 16; at < cubin.size(); ++at) {
    for (const char flip : {'\xff', '\x01'}) {
      std::string damaged = cubin;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      if (is_cubin(damaged)) (void)read_cubin(damaged, "a", {});
    }
  }
  // An attribute that is said to reach past its section.
  const std::size_t info = cubin.find(std::string("\x04\x2f\x08\x00", 4));
  ASSERT_NE(info, std::string::npos);
  std::string hostile = cubin;
  hostile[info + 3] = '\xff';
  EXPECT_THAT(error_of(hostile), HasSubstr("past the section's end"));
}

TEST(Fatbin, DamagedImagesGiveLocatedErrors) {
  const std::string fatbin = bytes_of("zstd.fatbin");
  for (std::size_t size = 4; size < fatbin.size(); size += 5) {
    EXPECT_THAT(error_of(std::string_view(fatbin).substr(0, size)), HasSubstr("a.cubin")) << size;
  }
  for (std::size_t at = 4; at < fatbin.size(); at += 11) {
    std::string damaged = fatbin;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    (void)error_of(damaged);
  }
  // An image that is said to unpack to 2^60 bytes.
  std::string hostile = fatbin;
  hostile[16 + 56 + 7] = '\x10';
  EXPECT_THAT(error_of(hostile.substr(0, 16)), HasSubstr("a.cubin"));
  const auto entries = read_fatbins(hostile, "a");
  ASSERT_TRUE(entries);
  const auto plain = unpack(entries->front(), "a");
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().to_string(), HasSubstr("which no image has"));
}

TEST(Nvidia, OtherBytesAreNotRecognised) {
  EXPECT_FALSE(recognises(""));
  EXPECT_FALSE(recognises("hello"));
  EXPECT_FALSE(
      recognises(std::string("\x7f"
                             "ELF\x02\x01\x01",
                             7)));
  EXPECT_FALSE(recognises("s_load_dwordx4 s[0:3], s[4:5], 0x0 ; /*0000*/\n"));
  EXPECT_FALSE(recognises(".version 9.0\n.target sm_90\n.entry k() { ret; }\n"));
  for (const char* name : {"ptxas/cuda-test-snippets_celer-array-size_sizet.usage.txt",
                           "h200/k.resusage.txt", "h200/k.cu", "h200/k.details.txt"}) {
    const fs::path path = fs::path(BURNISH_SHARED_DIR) / "fixtures" / name;
    if (!fs::exists(path)) continue;
    const auto bytes = real_file_system().read(path);
    ASSERT_TRUE(bytes);
    EXPECT_FALSE(recognises(*bytes)) << name << " is no code";
  }
}

}  // namespace
}  // namespace burnish::isa::nvidia
