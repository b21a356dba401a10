// counter.hpp - a count with one writer at a time and any number of readers.
//
// Adding is a load and a store, not a read-modify-write, since one thread adds: the holder of the
// operator, or the thread that counts itself. A reader sees a value that was true at some moment;
// nothing is ordered by it, hence relaxed.
#pragma once

#include <atomic>
#include <cstdint>

#include "real_platform.hpp"

namespace millrace {

template <class Platform>
class BasicCounter {
 public:
  void add(uint64_t amount) noexcept {  // the one writer
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }  // any thread

 private:
  typename Platform::template Word<uint64_t> value_{0};
};
using Counter = BasicCounter<RealPlatform>;

}  // namespace millrace
