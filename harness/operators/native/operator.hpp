// operator.hpp - what the operators of this folder and of applications have in common: an object
// with a method for each tuple, behind the three C functions that the runtime calls (millrace.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "millrace.h"

namespace millrace::operators {

// What ends a run; compiled.pyx has the words.
inline constexpr int32_t NO_MEMORY = -12;     // ENOMEM
inline constexpr int32_t WRONG_PORT = -22;    // EINVAL
inline constexpr int32_t TOO_MANY = -28;      // ENOSPC: a bound on what an operator keeps
inline constexpr int32_t OUT_OF_RANGE = -34;  // ERANGE: a time that is none

// Text of at most N bytes, as a schema's string[N] lies in memory. What is behind its end is zero,
// so that equal values are equal bytes.
template <uint32_t N>
struct Text {
  uint32_t length;
  char text[N];
  bool fits(std::string_view given) const noexcept { return given.size() <= N; }
  void set(std::string_view given) noexcept {
    length = static_cast<uint32_t>(given.size());
    std::copy(given.begin(), given.end(), text);  // nothing at all has no address
    std::memset(text + given.size(), 0, N - given.size());
  }
  std::string_view view() const noexcept { return {text, length}; }
};

// A source (step), an operator or a sink (process, finish).
class Operator {
 public:
  virtual ~Operator() = default;
  virtual int32_t step(millrace_context*) { return MILLRACE_END; }
  virtual int32_t process(millrace_context*, uint32_t, const void*) { return WRONG_PORT; }
  virtual int32_t finish(millrace_context*) { return 0; }
  virtual uint64_t counted(uint32_t) const noexcept {
    return 0;
  }  // what it has counted, by number; exact when the run is over
};

// No exception gets into the runtime: what an operator keeps may need memory that there is not.
inline int32_t step(millrace_context* context, void* state) noexcept {
  try {
    return static_cast<Operator*>(state)->step(context);
  } catch (const std::exception&) {
    return NO_MEMORY;
  }
}
inline int32_t process(millrace_context* context, uint32_t port, const void* tuple,
                       void* state) noexcept {
  try {
    return static_cast<Operator*>(state)->process(context, port, tuple);
  } catch (const std::exception&) {
    return NO_MEMORY;
  }
}
inline int32_t finish(millrace_context* context, void* state) noexcept {
  try {
    return static_cast<Operator*>(state)->finish(context);
  } catch (const std::exception&) {
    return NO_MEMORY;
  }
}

template <class T>
T& room(millrace_context* context, uint32_t output) noexcept {
  return *static_cast<T*>(millrace_room(context, output));
}

// -- operators of any schema ----------------------------------------------------------------------

// Keeps what arrives, the first `most` tuples of it, and counts and sums all: the sum of hashes is
// the same in whatever order they come.
class Collect : public Operator {
 public:
  Collect(size_t bytes, uint64_t most) : bytes_(bytes), most_(most) {}
  int32_t process(millrace_context*, uint32_t, const void* tuple) override {
    const char* content = static_cast<const char*>(tuple);
    if (count_ < most_) kept_.insert(kept_.end(), content, content + bytes_);
    ++count_;
    uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, by words
    for (size_t i = 0; i + 8 <= bytes_; i += 8) {
      uint64_t word;
      std::memcpy(&word, content + i, 8);
      hash = (hash ^ word) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 32;
    }
    digest_ += hash;
    return 0;
  }
  uint64_t counted(uint32_t which) const noexcept override { return which == 0 ? count_ : digest_; }
  const char* data() const noexcept { return kept_.data(); }
  size_t size() const noexcept { return kept_.size(); }

 private:
  size_t bytes_;
  uint64_t most_;
  uint64_t count_ = 0, digest_ = 0;
  std::vector<char> kept_;
};

// Restores the order of tuples numbered 0, 1, 2, ... at `number`, each of which comes once, and
// passes them on. BOUND: a tuple is as early as the queues between here and where it was numbered
// let it be; more than MOST is an error.
template <class T>
class Sequencer : public Operator {
 public:
  static constexpr size_t MOST = size_t{1} << 22;
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const T& in = *static_cast<const T*>(tuple);
    if (in.number != next_) return keep(in);
    int32_t answer = pass(context, in);
    ++next_;
    while (answer >= 0 && held_ > 0 && present_[next_ & mask_]) {
      const size_t place = next_ & mask_;
      present_[place] = 0;
      --held_;
      ++next_;
      answer = pass(context, slots_[place]);
    }
    return answer;
  }

 protected:
  virtual int32_t pass(millrace_context* context, const T& tuple) = 0;  // below 0: an error

 private:
  int32_t keep(const T& in) {
    const uint64_t ahead = in.number - next_;
    if (ahead >= MOST) return TOO_MANY;
    while (ahead >= slots_.size()) grow();
    slots_[in.number & mask_] = in;
    present_[in.number & mask_] = 1;
    ++held_;
    return 0;
  }
  void grow() {
    const size_t size = slots_.empty() ? 256 : 2 * slots_.size();
    std::vector<T> slots(size);
    std::vector<uint8_t> present(size);
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!present_[i]) continue;
      slots[slots_[i].number & (size - 1)] = slots_[i];
      present[slots_[i].number & (size - 1)] = 1;
    }
    slots_ = std::move(slots);
    present_ = std::move(present);
    mask_ = size - 1;
  }
  std::vector<T> slots_;
  std::vector<uint8_t> present_;
  size_t mask_ = 0;
  uint64_t next_ = 0;
  size_t held_ = 0;
};

}  // namespace millrace::operators
