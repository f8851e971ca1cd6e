#include "isa/amd_object.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "isa/amd.h"

namespace burnish::isa::amd {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class NoRunner : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec&) override {
    return environment_error("no program runs in this test");
  }
};

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
template <class T>
void put_at(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

std::string message_pack() {
  nlohmann::json kernel = {
      {".name", "k"},
      {".symbol", "k.kd"},
      {".vgpr_count", 40},
      {".agpr_count", 8},
      {".sgpr_count", 20},
      {".vgpr_spill_count", 3},
      {".sgpr_spill_count", 0},
      {".group_segment_fixed_size", 1024},
      {".private_segment_fixed_size", 12},
      {".kernarg_segment_size", 16},
      {".max_flat_workgroup_size", 256},
      {".wavefront_size", 64},
      {".reqd_workgroup_size", {64, 4, 1}},
      {".args",
       {{{".name", "p"}, {".offset", 0}, {".size", 8}, {".value_kind", "global_buffer"}},
        {{".offset", 8}, {".size", 4}, {".value_kind", "by_value"}}}}};
  const nlohmann::json root = {{"amdhsa.kernels", {kernel}},
                               {"amdhsa.target", "amdgcn-amd-amdhsa--gfx90a:sramecc+"},
                               {"amdhsa.version", {1, 2}}};
  const auto bytes = nlohmann::json::to_msgpack(root);
  return {bytes.begin(), bytes.end()};
}

std::string note(const std::string& description, std::uint32_t type = 32) {
  std::string bytes;
  put<std::uint32_t>(bytes, 7);
  put<std::uint32_t>(bytes, static_cast<std::uint32_t>(description.size()));
  put<std::uint32_t>(bytes, type);
  bytes += std::string("AMDGPU\0\0", 8);
  bytes += description;
  bytes.resize((bytes.size() + 3) / 4 * 4, '\0');
  return bytes;
}

/// A linked code object for gfx90a with one kernel: a note, its descriptor, its symbols.
std::string object(const std::string& notes, std::uint8_t abi_version = 3,
                   std::uint8_t machine = 0x3f) {
  std::string descriptor(64, '\0');
  put_at<std::uint32_t>(descriptor, 0, 1024);        // LDS
  put_at<std::uint32_t>(descriptor, 4, 12);          // scratch
  put_at<std::uint32_t>(descriptor, 8, 16);          // arguments
  put_at<std::uint32_t>(descriptor, 44, 7);          // accumulators start at 32
  put_at<std::uint32_t>(descriptor, 48, 0xc0 | 15);  // 16 steps of 8 registers
  const std::string names = std::string("\0k\0k.kd\0k.num_vgpr\0", 19);
  std::string symbols(24, '\0');
  const auto symbol = [&](std::uint32_t name, std::uint8_t info, std::uint16_t section,
                          std::uint64_t value, std::uint64_t size) {
    put(symbols, name);
    put(symbols, info);
    put<std::uint8_t>(symbols, 0);
    put(symbols, section);
    put(symbols, value);
    put(symbols, size);
  };
  symbol(1, 0x12, 2, 0x1900, 4);   // k, a function
  symbol(3, 0x11, 3, 0x800, 64);   // its descriptor
  symbol(8, 0x10, 0xfff1, 29, 0);  // k.num_vgpr = 29
  const std::string section_names =
      std::string("\0.note\0.text\0.rodata\0.symtab\0.strtab\0.shstrtab\0", 47);

  std::string bytes(
      "\x7f"
      "ELF\x02\x01\x01\x40",
      8);
  put(bytes, abi_version);
  bytes.resize(16, '\0');
  put<std::uint16_t>(bytes, 3);
  put<std::uint16_t>(bytes, 224);
  put<std::uint32_t>(bytes, 1);
  bytes.resize(48, '\0');
  put<std::uint32_t>(bytes, machine);
  put<std::uint16_t>(bytes, 64);
  bytes.resize(58, '\0');
  put<std::uint16_t>(bytes, 64);
  put<std::uint16_t>(bytes, 7);
  put<std::uint16_t>(bytes, 6);

  struct Part {
    std::uint32_t name, type, link;
    std::uint64_t address;
    std::string content;
  };
  const std::vector<Part> parts{{0, 0, 0, 0, ""},
                                {1, 7, 0, 0x200, notes},
                                {7, 1, 0, 0x1900, std::string("\0\0\x81\xbf", 4)},
                                {13, 1, 0, 0x800, descriptor},
                                {21, 2, 5, 0, symbols},
                                {29, 3, 0, 0, names},
                                {37, 3, 0, 0, section_names}};
  std::string headers;
  for (const Part& part : parts) {
    put(headers, part.name);
    put(headers, part.type);
    put<std::uint64_t>(headers, 0);
    put(headers, part.address);
    put<std::uint64_t>(headers, bytes.size());
    put<std::uint64_t>(headers, part.content.size());
    put(headers, part.link);
    put<std::uint32_t>(headers, 0);
    put<std::uint64_t>(headers, 8);
    put<std::uint64_t>(headers, 24);
    bytes += part.content;
    bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  }
  put_at<std::uint64_t>(bytes, 40, bytes.size());
  return bytes + headers;
}

std::string message(const Result<CodeObject>& result) {
  return result ? std::string("read") : result.error().to_string();
}

TEST(CodeObject, ReadsNotesSymbolsAndDescriptors) {
  auto found = read_code_object(object(note(message_pack())), "k.co");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->version, 5);
  EXPECT_EQ(found->processor, "gfx90a");
  EXPECT_TRUE(found->warnings.empty());
  ASSERT_EQ(found->metadata.kernels.size(), 1u);
  const KernelMetadata& kernel = found->metadata.kernels[0];
  EXPECT_EQ(kernel.vgprs, 40);
  EXPECT_EQ(kernel.vgpr_spills, 3);
  EXPECT_THAT(kernel.required_workgroup, ElementsAre(64, 4, 1));
  ASSERT_EQ(kernel.arguments.size(), 2u);
  EXPECT_EQ(kernel.arguments[0].name, "p");
  EXPECT_EQ(kernel.arguments[1].kind, "by_value");
  ASSERT_TRUE(found->descriptors.contains("k"));
  const KernelDescriptor& descriptor = found->descriptors.at("k");
  EXPECT_EQ(descriptor.shared_bytes, 1024u);
  EXPECT_EQ(descriptor.vgpr_steps, 15u);
  EXPECT_EQ(descriptor.accum_offset, 32u);
  EXPECT_TRUE(found->functions.contains("k"));
  EXPECT_EQ(found->constants.at("k.num_vgpr"), 29);
}

// Without a disassembler the resources are read all the same.
TEST(CodeObject, ResourcesNeedNoDisassembler) {
  NoRunner runner;
  const std::string bytes = object(note(message_pack()));
  ASSERT_TRUE(recognises(bytes));
  auto found = read("k.co", bytes, runner);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->kind, "amdgpu-elf");
  EXPECT_THAT(found->warnings,
              Contains(HasSubstr("registers, memory and limits are read all the same")));
  ASSERT_EQ(found->kernels.size(), 1u);
  const Kernel& kernel = found->kernels[0];
  EXPECT_EQ(kernel.registers_used, 29);
  EXPECT_EQ(kernel.registers_accum, 8);
  EXPECT_EQ(kernel.registers_scalar, 20);
  EXPECT_EQ(kernel.registers_allocated, 128);
  EXPECT_EQ(kernel.shared_bytes, 1024);
  EXPECT_EQ(kernel.scratch_bytes, 12);
  EXPECT_EQ(kernel.spill_bytes, 12);
  EXPECT_EQ(kernel.spill_loads, std::nullopt);
  EXPECT_EQ(kernel.workgroup_limit, 256);
  EXPECT_THAT(kernel.notes,
              Contains(HasSubstr("128 allocated vector registers: inflated; the kernel uses 40")));
}

TEST(CodeObject, Version2IsRefusedWithItsReason) {
  auto found = read_code_object(object(note(message_pack()), 0), "old.co");
  EXPECT_THAT(message(found), HasSubstr("old.co: a code object of version 2"));
  EXPECT_THAT(message(found), HasSubstr("compile it again"));
  auto newer = read_code_object(object(note(message_pack()), 9), "new.co");
  ASSERT_TRUE(newer);
  EXPECT_THAT(newer->warnings, Contains(HasSubstr("version 11 is newer")));
}

TEST(CodeObject, HeaderAndMetadataMayDisagree) {
  auto found = read_code_object(object(note(message_pack()), 3, 0x4c), "k.co");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->processor, "gfx942");
  EXPECT_THAT(found->warnings, Contains(HasSubstr("the header says gfx942, the metadata gfx90a")));
  found = read_code_object(object(note(message_pack()), 3, 0xee), "k.co");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->processor, "gfx90a");
}

TEST(CodeObject, HostileNotesAreErrors) {
  const auto with = [](const std::string& description) {
    return message(read_code_object(object(note(description)), "k.co"));
  };
  EXPECT_THAT(with(""), HasSubstr("the metadata note cannot be read"));
  EXPECT_THAT(with("\xdd\xff\xff\xff\xff"), HasSubstr("cannot be read"));  // 4 G elements
  EXPECT_THAT(with("\xdb\xff\xff\xff\xff"
                   "abc"),
              HasSubstr("cannot be read"));  // 4 GiB of text
  EXPECT_THAT(with("\xc6\xff\xff\xff\xff"
                   "abc"),
              HasSubstr("cannot be read"));  // 4 GiB of binary
  EXPECT_THAT(with(std::string(1'000'000, '\x91')), HasSubstr("nests more than 16 levels"));
  EXPECT_THAT(with("\xa3"
                   "abc"),
              HasSubstr("it is no map"));
  // A map that is no description of kernels, and one whose fields have other types.
  EXPECT_EQ(with("\x80"), "read");
  const auto odd = nlohmann::json::to_msgpack(
      {{"amdhsa.kernels",
        {7, {{".name", 3}, {".vgpr_count", "x"}, {".args", 1}, {".sgpr_count", -4}}}}});
  EXPECT_EQ(with({odd.begin(), odd.end()}), "read");
  std::string huge = note("x");
  put_at<std::uint32_t>(huge, 4, 0xfffffff0);
  EXPECT_THAT(message(read_code_object(object(huge), "k.co")),
              HasSubstr("longer than the section"));
  put_at<std::uint32_t>(huge, 0, 0xffffffff);
  EXPECT_THAT(message(read_code_object(object(huge), "k.co")),
              HasSubstr("longer than the section"));
  // Another vendor's note, and none.
  EXPECT_EQ(message(read_code_object(object(note("x", 1)), "k.co")), "read");
}

TEST(CodeObject, EveryTruncationIsAnErrorOrARead) {
  const std::string whole = object(note(message_pack()));
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto found = read_code_object(std::string_view(whole).substr(0, size), "k.co");
    if (!found) {
      ++refused;
      EXPECT_THAT(found.error().to_string(), HasSubstr("k.co"));
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(CodeObject, DamagedObjectsAreSafe) {
  const std::string whole = object(note(message_pack()));
  Generator random(3);
  NoRunner runner;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    const int changes = 1 + static_cast<int>(random.below(6));
    for (int j = 0; j < changes; ++j) {
      // Extreme values are likelier to be sizes that overflow.
      const std::uint64_t value = random.below(3) == 0 ? ~0ull : random.next();
      const std::size_t width = std::size_t{1} << random.below(4);
      const std::size_t at = random.below(bytes.size() - width);
      std::memcpy(bytes.data() + at, &value, width);
    }
    (void)read_code_object(bytes, "k.co");
    (void)fat_binary_section(bytes, "k.co");
    if (i % 200 == 0) (void)read("k.co", bytes, runner);
  }
}

std::string bundle(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string header(kBundleMagic);
  put<std::uint64_t>(header, entries.size());
  std::size_t offset = 4096;
  std::string content;
  for (const auto& [id, bytes] : entries) {
    put<std::uint64_t>(header, offset);
    put<std::uint64_t>(header, bytes.size());
    put<std::uint64_t>(header, id.size());
    header += id;
    content += bytes;
    offset += bytes.size();
  }
  header.resize(4096, '\0');
  return header + content;
}

std::string two_targets() {
  const std::string one = object(note(message_pack()));
  return bundle({{"host-x86_64-unknown-linux-gnu-", ""},
                 {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+", one},
                 {"hipv4-amdgcn-amd-amdhsa--gfx942", object(note(message_pack()), 3, 0x4c)}});
}

enum class Method : std::uint16_t { zlib = 0, zstd = 1 };

std::string compressed(const std::string& plain, int version, Method method) {
  std::string packed;
  if (method == Method::zstd) {
    packed.resize(ZSTD_compressBound(plain.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  } else {
    uLongf size = compressBound(plain.size());
    packed.resize(size);
    EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(plain.data()), plain.size()),
              Z_OK);
    packed.resize(size);
  }
  std::string bytes("CCOB");
  put<std::uint16_t>(bytes, static_cast<std::uint16_t>(version));
  put<std::uint16_t>(bytes, static_cast<std::uint16_t>(method));
  const std::size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  if (version == 2) put<std::uint32_t>(bytes, static_cast<std::uint32_t>(header + packed.size()));
  if (version == 3) put<std::uint64_t>(bytes, header + packed.size());
  if (version == 3) {
    put<std::uint64_t>(bytes, plain.size());
  } else {
    put<std::uint32_t>(bytes, static_cast<std::uint32_t>(plain.size()));
  }
  put<std::uint64_t>(bytes, 0x1234);  // the hash is not checked
  return bytes + packed;
}

TEST(Bundle, HoldsOneObjectATarget) {
  NoRunner runner;
  for (const std::string& bytes :
       {two_targets(), compressed(two_targets(), 1, Method::zlib),
        compressed(two_targets(), 1, Method::zstd), compressed(two_targets(), 2, Method::zlib),
        compressed(two_targets(), 2, Method::zstd), compressed(two_targets(), 3, Method::zstd)}) {
    ASSERT_TRUE(recognises(bytes));
    auto found = read("k.hipfb", bytes, runner);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->kind, "offload-bundle");
    ASSERT_EQ(found->kernels.size(), 2u);
    EXPECT_EQ(found->kernels[0].arch, "gfx90a");
    EXPECT_EQ(found->kernels[1].arch, "gfx942");
    EXPECT_THAT(found->kernels[1].where.locator, HasSubstr("hipv4-amdgcn-amd-amdhsa--gfx942"));
  }
}

// A program of three translation units, one of them compressed, with padding between.
TEST(Bundle, FollowOneAnotherInAFatBinary) {
  NoRunner runner;
  const std::string padding(4096, '\0');
  const std::string bytes = two_targets() + padding + compressed(two_targets(), 2, Method::zstd) +
                            padding + two_targets();
  auto found = read("app", bytes, runner);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->kernels.size(), 6u);
}

/// A host object with one section.
std::string host_object(const std::string& section, const std::string& content) {
  const std::string names = std::string("\0.shstrtab\0", 11) + section + '\0';
  std::string bytes(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  bytes.resize(16, '\0');
  put<std::uint16_t>(bytes, 1);
  put<std::uint16_t>(bytes, 62);
  bytes.resize(58, '\0');
  put<std::uint16_t>(bytes, 64);
  put<std::uint16_t>(bytes, 3);
  put<std::uint16_t>(bytes, 2);
  const std::size_t content_at = bytes.size();
  bytes += content;
  const std::size_t names_at = bytes.size();
  bytes += names;
  put_at<std::uint64_t>(bytes, 40, bytes.size());
  const auto header = [&](std::uint32_t name, std::uint32_t type, std::size_t at,
                          std::size_t size) {
    put(bytes, name);
    put(bytes, type);
    put<std::uint64_t>(bytes, 0);
    put<std::uint64_t>(bytes, 0);
    put<std::uint64_t>(bytes, at);
    put<std::uint64_t>(bytes, size);
    bytes.resize(bytes.size() + 24, '\0');
  };
  header(0, 0, 0, 0);
  header(11, 1, content_at, content.size());
  header(1, 3, names_at, names.size());
  return bytes;
}

TEST(Bundle, LiesInHostObjects) {
  NoRunner runner;
  const std::string bytes =
      host_object(".hip_fatbin", compressed(two_targets(), 2, Method::zstd) + two_targets());
  ASSERT_TRUE(recognises(bytes));
  auto found = read("app.o", bytes, runner);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->kind, "hip-fatbin");
  EXPECT_EQ(found->kernels.size(), 4u);
  EXPECT_FALSE(recognises(host_object(".text", "code")));
  found = read("app.o", host_object(".hip_fatbin", ""), runner);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no .hip_fatbin section"));
  found = read("app.o", host_object(".hip_fatbin", "nothing"), runner);
  ASSERT_FALSE(found);
  for (std::size_t size = 20; size < bytes.size(); size += 31) {
    (void)read("app.o", bytes.substr(0, size), runner);
  }
}

TEST(Bundle, ADamagedEntryIsLeftOut) {
  NoRunner runner;
  const std::string good = object(note(message_pack()));
  auto found = read("k",
                    bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", "garbage"},
                            {"hipv4-amdgcn-amd-amdhsa--gfx90a", good}}),
                    runner);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kernels.size(), 1u);
  EXPECT_THAT(found->warnings, Contains(HasSubstr("gfx942 is left out")));
  found = read("k", bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", "garbage"}}), runner);
  ASSERT_FALSE(found);
  found = read("k", bundle({{"host-x86_64", "code"}}), runner);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no code for AMD GPUs"));
}

TEST(Bundle, HostileSizesAreErrors) {
  NoRunner runner;
  const auto message_of = [&](const std::string& bytes) {
    auto found = read("k", bytes, runner);
    return found ? std::string("read") : found.error().message;
  };
  std::string bytes = two_targets();
  put_at<std::uint64_t>(bytes, 24, ~0ull);
  EXPECT_THAT(message_of(bytes), HasSubstr("claims 18446744073709551615 entries"));
  bytes = two_targets();
  put_at<std::uint64_t>(bytes, 48, ~0ull);  // of the first name
  EXPECT_THAT(message_of(bytes), HasSubstr("the name of entry 0"));
  bytes = two_targets();
  put_at<std::uint64_t>(bytes, 40, ~0ull - 10);  // of the first image
  EXPECT_THAT(message_of(bytes), HasSubstr("outside the file"));

  bytes = compressed(two_targets(), 2, Method::zstd);
  put_at<std::uint32_t>(bytes, 12, 100);
  EXPECT_THAT(message_of(bytes), HasSubstr("or more, 100 were promised"));
  put_at<std::uint32_t>(bytes, 12, 0xffffffff);
  EXPECT_THAT(message_of(bytes), HasSubstr("claims to inflate to 4294967295"));
  put_at<std::uint32_t>(bytes, 12, 0x3fffffff);
  EXPECT_THAT(message_of(bytes), HasSubstr("1073741823 were promised"));
  put_at<std::uint32_t>(bytes, 8, 0xffffffff);
  EXPECT_THAT(message_of(bytes), HasSubstr("are there"));
  bytes = compressed(two_targets(), 3, Method::zstd);
  put_at<std::uint64_t>(bytes, 16, ~0ull);
  EXPECT_THAT(message_of(bytes), HasSubstr("claims to inflate"));
  bytes = compressed(two_targets(), 2, Method::zlib);
  put_at<std::uint16_t>(bytes, 6, 9);
  EXPECT_THAT(message_of(bytes), HasSubstr("compression method 9"));
  put_at<std::uint16_t>(bytes, 4, 9);
  EXPECT_THAT(message_of(bytes), HasSubstr("version 9"));
  EXPECT_THAT(message_of(compressed("no bundle", 2, Method::zlib)), HasSubstr("holds no bundle"));
}

TEST(Bundle, EveryTruncationIsAnError) {
  NoRunner runner;
  for (const std::string& whole : {two_targets(), compressed(two_targets(), 2, Method::zstd),
                                   compressed(two_targets(), 1, Method::zlib)}) {
    const std::size_t step = whole.size() > 4000 ? 13 : 1;
    for (std::size_t size = 4; size < whole.size(); size += step) {
      auto found = read("k", whole.substr(0, size), runner);
      EXPECT_FALSE(found) << size;
    }
  }
}

TEST(Bundle, DamagedBundlesAreSafe) {
  Generator random(5);
  NoRunner runner;
  const std::string plain = two_targets();
  const std::vector<std::string> wholes{plain, compressed(plain, 2, Method::zstd),
                                        compressed(plain, 3, Method::zlib)};
  for (int i = 0; i < 400; ++i) {
    std::string bytes = wholes[random.below(wholes.size())];
    for (int j = 0; j < 4; ++j) {
      const std::size_t at = random.below(std::min<std::size_t>(bytes.size(), 300));
      bytes[at] = static_cast<char>(random.below(256));
    }
    if (recognises(bytes)) (void)read("k", bytes, runner);
  }
}

}  // namespace
}  // namespace burnish::isa::amd
