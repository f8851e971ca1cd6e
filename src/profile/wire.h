#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace burnish::profile {

/// Walks the fields of one protobuf message (protobuf.dev, "Encoding"). Lengths are held against
/// the bytes there are. After next() said false, ok() tells the end from a broken message.
class WireReader {
 public:
  explicit WireReader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  bool next() {
    if (at_ == end_ || !ok_) return false;
    std::uint64_t key = 0;
    if (!varint(key)) return false;
    field_ = static_cast<std::uint32_t>(key >> 3);
    wire_ = static_cast<int>(key & 7);
    switch (wire_) {
      case 0:
        return varint(number_);
      case 1:
        return fixed(8);
      case 5:
        return fixed(4);
      case 2: {
        std::uint64_t size = 0;
        if (!varint(size)) return false;
        if (size > static_cast<std::uint64_t>(end_ - at_)) return fail();
        bytes_ = {at_, static_cast<std::size_t>(size)};
        at_ += size;
        return true;
      }
      default:
        return fail();
    }
  }

  bool ok() const { return ok_; }
  const char* position() const { return at_; }

  std::uint32_t field() const { return field_; }
  int wire() const { return wire_; }
  bool is_message(std::uint32_t field) const { return field_ == field && wire_ == 2; }
  bool is_number(std::uint32_t field) const { return field_ == field && wire_ == 0; }
  std::uint64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }
  double real() const {
    return wire_ == 1
               ? std::bit_cast<double>(number_)
               : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(number_)));
  }

 private:
  bool fail() {
    ok_ = false;
    return false;
  }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return fail();
  }
  bool fixed(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) return fail();
    number_ = 0;
    std::memcpy(&number_, at_, size);  // little-endian, as the format and the hosts are
    at_ += size;
    return true;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
  std::uint32_t field_ = 0;
  int wire_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace burnish::profile
