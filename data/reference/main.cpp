// Serves a task's reference to the judge: requests on standard input, answers on standard output,
// in this machine's byte order. What the reference prints goes to standard error.
//
// request: u32 dims {text, f64} u32 inputs {text, u32 rank, i64 size[rank], f64 element[]}
//          u32 outputs {text, u32 rank, i64 size[rank]}          text: u32 length, bytes
// answer:  u8 0, then the elements of the outputs as asked for; or u8 1, text: what went wrong
#include <malloc.h>
#include <unistd.h>

#include <climits>

#include <cstdio>
#include <cstring>
#include <exception>

#include "burnish_reference.h"

namespace {

// A pattern that no arithmetic gives: an element that still holds it was not written.
const std::uint64_t kUnwritten = 0x7ff4b0b0dead5eedull;

bool read_all(void* to, std::size_t size) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = read(0, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_all(int fd, const void* from, std::size_t size) {
  const char* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t put = write(fd, at, size);
    if (put <= 0) _exit(2);
    at += put;
    size -= static_cast<std::size_t>(put);
  }
}

template <class T>
T take() {
  T value;
  if (!read_all(&value, sizeof value)) _exit(0);
  return value;
}

std::string take_text() {
  std::string text(take<std::uint32_t>(), '\0');
  if (!read_all(text.data(), text.size())) _exit(0);
  return text;
}

std::size_t take_elements() {
  std::size_t count = 1;
  const auto rank = take<std::uint32_t>();
  for (std::uint32_t i = 0; i < rank; ++i) count *= static_cast<std::size_t>(take<std::int64_t>());
  return count;
}

}  // namespace

int main() {
  // The tensors of one request lie where those of the last lay: no pages are faulted in anew.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  const int answers = dup(1);
  dup2(2, 1);
  for (;;) {
    burnish::Dims dims;
    burnish::Inputs in;
    burnish::Outputs out;
    std::vector<std::string> order;
    for (auto left = take<std::uint32_t>(); left > 0; --left) {
      const std::string name = take_text();
      dims.values[name] = take<double>();
    }
    for (auto left = take<std::uint32_t>(); left > 0; --left) {
      const std::string name = take_text();
      auto& values = in.values[name];
      values.resize(take_elements());
      if (!read_all(values.data(), values.size() * sizeof(double))) return 0;
    }
    for (auto left = take<std::uint32_t>(); left > 0; --left) {
      order.push_back(take_text());
      auto& values = out.values[order.back()];
      values.resize(take_elements());
      for (double& value : values) std::memcpy(&value, &kUnwritten, sizeof value);
    }

    std::string problem;
    try {
      reference(dims, in, out);
    } catch (const std::exception& error) {
      problem = error.what();
      if (problem.empty()) problem = "it threw an exception without a message";
    } catch (...) {
      problem = "it threw something that is no std::exception";
    }
    for (const auto& entry : out.values) {
      for (std::size_t i = 0; problem.empty() && i < entry.second.size(); ++i) {
        if (std::memcmp(&entry.second[i], &kUnwritten, sizeof(double)) == 0) {
          problem =
              "it did not write element " + std::to_string(i) + " of output '" + entry.first + "'";
        }
      }
    }
    std::fflush(stdout);

    const char status = problem.empty() ? 0 : 1;
    write_all(answers, &status, 1);
    if (status != 0) {
      const auto length = static_cast<std::uint32_t>(problem.size());
      write_all(answers, &length, sizeof length);
      write_all(answers, problem.data(), length);
      continue;
    }
    for (const auto& name : order) {
      const auto& values = out.values[name];
      write_all(answers, values.data(), values.size() * sizeof(double));
    }
  }
}
