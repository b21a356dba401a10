// line_word.hpp - the thread that acts now on a described machine, and words with a line of their
// own, which charge that thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "line.hpp"
#include "software.hpp"
#include "system.hpp"
#include "time_use.hpp"

namespace millrace::sim {

class Simulation;
struct Worker;

// The run that this thread of ours simulates, and the thread there that acts.
struct Acting {
  Simulation& simulation;
  System& system;
  const Machine& machine;
  const Software& software;
  uint64_t& most_contenders;
  std::vector<Worker*>& bearers;  // by process: the record that a thread is in now
  TimeUse& time_use;
  Worker* worker = nullptr;  // null: the engine acts, from outside
};

// Not to be inlined, nor its result to be kept: the caller may go on on another thread of ours.
#if defined(__clang__)
[[gnu::noinline]]
#else
[[gnu::noinline, gnu::noipa]]
#endif
inline Acting*& current() noexcept {
  thread_local Acting* acting = nullptr;
  return acting;
}

class Present {
 public:
  explicit Present(Acting& acting) noexcept : before_(current()) { current() = &acting; }
  Present(const Present&) = delete;
  ~Present() { current() = before_; }

 private:
  Acting* before_;
};

template <class T>
class LineWord {
 public:
  LineWord() = default;
  LineWord(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  T load(std::memory_order) const noexcept;
  void store(T value, std::memory_order) noexcept;
  T exchange(T value, std::memory_order) noexcept {
    modify(false);
    return std::exchange(value_, value);
  }
  T fetch_add(T value, std::memory_order) noexcept {
    modify(false);
    return std::exchange(value_, value_ + value);
  }
  T fetch_or(T value, std::memory_order) noexcept {
    modify(false);
    return std::exchange(value_, value_ | value);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order,
                               std::memory_order) noexcept {
    modify(true);
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = desired;
    return true;
  }

 protected:
  T value_{};

 private:
  void modify(bool cas) noexcept;
  mutable Line line_;
};

struct LinePlatform {
  template <class T>
  using Word = LineWord<T>;
};

}  // namespace millrace::sim
