// words.hpp - words of records that cost nothing to touch on a described machine: what a thread
// finds beside what it has paid for already. They look like those of the runtime, so that one path
// of a tuple works on both. And arrays that know their size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace millrace::sim {

template <class T>
class Word {
 public:
  Word(T value = T{}) noexcept : value_(value) {}  // NOLINT: as std::atomic
  operator T() const noexcept { return value_; }   // NOLINT: as std::atomic
  T load(std::memory_order) const noexcept { return value_; }
  void store(T value, std::memory_order) noexcept { value_ = value; }
  T fetch_add(T value, std::memory_order) noexcept { return std::exchange(value_, value_ + value); }
  T fetch_sub(T value, std::memory_order) noexcept { return std::exchange(value_, value_ - value); }
  T fetch_or(T value, std::memory_order) noexcept { return std::exchange(value_, value_ | value); }
  T fetch_and(T value, std::memory_order) noexcept { return std::exchange(value_, value_ & value); }

 private:
  T value_;
};

class Counter : public Word<uint64_t> {
 public:
  void add(uint64_t amount) noexcept { fetch_add(amount, std::memory_order_relaxed); }
  uint64_t read() const noexcept { return *this; }
};

template <class T>
class Array : public std::vector<T> {
 public:
  operator T*() noexcept { return this->data(); }  // NOLINT: as an array
  T* operator->() noexcept { return this->data(); }
};

}  // namespace millrace::sim
