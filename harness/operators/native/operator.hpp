// operator.hpp - what the operators of this folder and of applications have in common: an object
// with a method for each tuple, behind the three C functions that the runtime calls (millrace.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "millrace.h"
#include "pieces.hpp"

namespace millrace::operators {

// What ends a run; compiled.pyx has the words.
inline constexpr int32_t NO_MEMORY = -12;      // ENOMEM
inline constexpr int32_t WRONG_PORT = -22;     // EINVAL
inline constexpr int32_t TOO_MANY_KEYS = -28;  // ENOSPC: there would be more than MOST_KEYS
inline constexpr int32_t TOO_MANY = -105;      // ENOBUFS: a bound on the tuples that are kept

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

// Text of any length: up to N bytes lie in the tuple. Of a longer one the tuple says where it lies,
// in memory that stays as long as the run.
template <uint32_t N>
struct LongText {
  uint32_t length;
  char text[N];
  // `given` may lie in a tuple that does not stay; `lasting` is the same text where it stays.
  void set(std::string_view given, const char* lasting) noexcept {
    length = static_cast<uint32_t>(given.size());
    if (given.size() <= N) {
      std::copy(given.begin(), given.end(), text);
      std::memset(text + given.size(), 0, N - given.size());
    } else {
      std::memset(text, 0, N);
      std::memcpy(text, &lasting, sizeof lasting);
    }
  }
  std::string_view view() const noexcept { return {begin(), length}; }
  const char* begin() const noexcept {
    if (length <= N) return text;
    const char* lasting;
    std::memcpy(&lasting, text, sizeof lasting);
    return lasting;
  }
};

// What an operator counts of tuples that it leaves out, and of those that are ahead of time, which
// it takes as they are. compiled.pyx has the words.
enum class Left : uint32_t { LATE, WITHOUT_TIME, AHEAD, BROKEN, UNKNOWN };

// The first tuple that was left out for a reason.
struct Example {
  static constexpr uint64_t UNKNOWN = UINT64_MAX;
  uint64_t number;      // of its record in the input, from 0, or UNKNOWN
  std::string content;  // the first bytes of the record; or all of the tuple
};

// A source (step), an operator or a sink (process, finish).
class Operator {
 public:
  virtual ~Operator() = default;
  virtual int32_t step(millrace_context*) { return MILLRACE_END; }
  virtual int32_t process(millrace_context*, uint32_t, const void*) { return WRONG_PORT; }
  virtual int32_t finish(millrace_context*) { return 0; }
  // What it has counted, by number; exact when the run is over.
  virtual uint64_t counted(uint32_t) const noexcept { return 0; }
  virtual uint64_t left_out(Left) const noexcept { return 0; }  // exact when the run is over
  virtual const Example* example(Left) const noexcept { return nullptr; }  // null: there is none
  // Of a source whose input comes in pieces: where they are put, and what it keeps of them.
  virtual Pieces* pieces() noexcept { return nullptr; }
  virtual Retained* retained() noexcept { return nullptr; }
  // Late tuples go to outputs of their own, from this one on.
  virtual void send_late(uint32_t) noexcept {}
  // Of a sink: writes a tuple that has arrived as a result of `bytes` bytes.
  virtual void result(const void* tuple, char* out, size_t bytes) const {
    std::memcpy(out, tuple, bytes);
  }
};

// Numbers of what an operator leaves out, and the first of each kind.
class LeftOut {
 public:
  static constexpr size_t MOST_EXAMPLE = 120;  // bytes of a record
  void add(Left why, uint64_t number, std::string_view content) {
    Kind& kind = kinds_[static_cast<size_t>(why)];
    if (kind.count++ == 0) kind.example = {number, std::string(content)};
  }
  void add_record(Left why, uint64_t number, std::string_view record) {
    add(why, number, record.substr(0, MOST_EXAMPLE));
  }
  uint64_t operator[](Left why) const noexcept { return kinds_[static_cast<size_t>(why)].count; }
  const Example* example(Left why) const noexcept {
    const Kind& kind = kinds_[static_cast<size_t>(why)];
    return kind.count > 0 ? &kind.example : nullptr;
  }

 private:
  struct Kind {
    uint64_t count = 0;
    Example example = {0, {}};
  };
  std::array<Kind, 5> kinds_;
};

// An operator that leaves out records.
class LeavesOut : public Operator {
 public:
  uint64_t left_out(Left why) const noexcept override { return left_out_[why]; }
  const Example* example(Left why) const noexcept override { return left_out_.example(why); }

 protected:
  LeftOut left_out_;
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
    if (keeps()) keep(content);
    count(content, bytes_);
    return 0;
  }
  uint64_t counted(uint32_t which) const noexcept override { return which == 0 ? count_ : digest_; }
  const char* data() const noexcept { return kept_.data(); }
  size_t size() const noexcept { return kept_.size(); }

 protected:
  bool keeps() const noexcept { return count_ < most_; }
  void keep(const char* content) {
    if (keeps()) kept_.insert(kept_.end(), content, content + bytes_);
  }
  void count(const char* content, size_t bytes) noexcept {
    ++count_;
    // FNV-1a by words, in four lanes, which a processor works on side by side
    std::array<uint64_t, 4> lanes{0xCBF29CE484222325, 1, 2, 3};
    size_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
      for (size_t lane = 0; lane < 4; ++lane) mix(&lanes[lane], content + i + 8 * lane);
    }
    for (; i + 8 <= bytes; i += 8) mix(&lanes[0], content + i);
    for (size_t lane = 1; lane < 4; ++lane)
      mix(&lanes[0], reinterpret_cast<const char*>(&lanes[lane]));
    digest_ += lanes[0];
  }

 private:
  static void mix(uint64_t* hash, const char* at) noexcept {
    uint64_t word;
    std::memcpy(&word, at, 8);
    *hash = (*hash ^ word) * 0x9E3779B97F4A7C15;
    *hash ^= *hash >> 32;
  }
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
