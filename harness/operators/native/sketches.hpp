// sketches.hpp - answers about many keys in little memory. Each has a slow twin in
// tests/operators/plain.py.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "key_table.hpp"

namespace millrace::operators {

// How often a key came, or a little more, never less: at most 2 / width of all that came too much,
// but for one key in 2^depth (Cormode, Muthukrishnan: An improved data stream summary: the
// count-min sketch and its applications, J. Algorithms 55(1), 2005). The hashes of its rows are two
// halves of one (Kirsch, Mitzenmacher: Less hashing, same performance, ESA 2006).
class CountMin {
 public:
  CountMin(uint32_t width, uint32_t depth) : width_(width), cells_(size_t{width} * depth, 0) {}
  // Adds `weight` to what came of a key; how much that is now.
  uint64_t add(std::string_view key, uint64_t weight) noexcept {
    const uint64_t hash = hash_of(key);
    uint64_t least = UINT64_MAX;
    uint32_t place = static_cast<uint32_t>(hash);
    const uint32_t apart = static_cast<uint32_t>(hash >> 32) | 1;
    for (size_t row = 0; row < cells_.size(); row += width_, place += apart) {
      uint64_t& cell = cells_[row + (uint64_t{place} * width_ >> 32)];
      cell += weight;
      least = std::min(least, cell);
    }
    return least;
  }
  void clear() noexcept { std::fill(cells_.begin(), cells_.end(), 0); }

 private:
  uint32_t width_;
  std::vector<uint64_t> cells_;
};

// The keys that came most often. It has `capacity` counters: a key that has none takes over the
// least, the one that was changed longest ago if there are several, and its count, which may be
// `error` too high then. A key that makes up more than 1 / capacity of all has a counter (Metwally,
// Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in data streams, ICDT
// 2005).
class SpaceSaving {
 public:
  struct Counter {
    uint64_t count, error, changed;
    uint32_t key;  // its number in keys()
  };
  explicit SpaceSaving(uint32_t capacity) : capacity_(capacity), keys_(sizeof(uint32_t)) {
    heap_.reserve(capacity);
  }
  void add(std::string_view key, uint64_t weight) {
    ++time_;
    uint32_t found = keys_.find(key);
    if (found != KeyTable::NONE && slot_of(found) != NOWHERE) {
      const uint32_t place = slot_of(found) - 1;
      heap_[place].count += weight;
      heap_[place].changed = time_;
      down(place);
      return;
    }
    if (found == KeyTable::NONE) {
      if (keys_.size() >= 4 * size_t{capacity_} + 64) forget();
      found = keys_.at(key);
    }
    if (heap_.size() < capacity_) {
      heap_.push_back({weight, 0, time_, found});
      up(static_cast<uint32_t>(heap_.size() - 1));
      return;
    }
    slot_of(heap_[0].key) = NOWHERE;
    heap_[0] = {heap_[0].count + weight, heap_[0].count, time_, found};
    down(0);
  }
  // The `most` highest counters, the highest first; of equal ones that which was changed longest
  // ago.
  std::vector<Counter> top(size_t most) const {
    std::vector<Counter> found = heap_;
    std::sort(found.begin(), found.end(), [](const Counter& a, const Counter& b) {
      return a.count != b.count ? a.count > b.count : a.changed < b.changed;
    });
    if (found.size() > most) found.resize(most);
    return found;
  }
  std::string_view key(const Counter& counter) const noexcept { return keys_.key(counter.key); }
  void clear() noexcept {
    heap_.clear();
    keys_.clear();
    time_ = 0;
  }

 private:
  static constexpr uint32_t NOWHERE = 0;
  // One more than where a key's counter is in the heap; 0: it has none.
  uint32_t& slot_of(uint32_t key) noexcept {
    return *reinterpret_cast<uint32_t*>(keys_.record(key));
  }
  static bool before(const Counter& a, const Counter& b) noexcept {
    return a.count != b.count ? a.count < b.count : a.changed < b.changed;
  }
  void put(uint32_t place, const Counter& counter) noexcept {
    heap_[place] = counter;
    slot_of(counter.key) = place + 1;
  }
  void up(uint32_t place) noexcept {
    const Counter moved = heap_[place];
    for (; place > 0 && before(moved, heap_[(place - 1) / 2]); place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2]);
    put(place, moved);
  }
  void down(uint32_t place) noexcept {
    const Counter moved = heap_[place];
    for (;;) {
      uint32_t child = 2 * place + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], moved)) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, moved);
  }
  // Leaves out the keys that have lost their counters.
  void forget() {
    KeyTable kept(sizeof(uint32_t));
    for (uint32_t place = 0; place < heap_.size(); ++place) {
      heap_[place].key = kept.at(keys_.key(heap_[place].key));
      *reinterpret_cast<uint32_t*>(kept.record(heap_[place].key)) = place + 1;
    }
    keys_ = std::move(kept);
  }
  uint32_t capacity_;
  uint64_t time_ = 0;
  std::vector<Counter> heap_;  // the least first
  KeyTable keys_;
};

// How many different keys came: 2^precision registers of a byte, each the most leading zeros of a
// hash, plus 1 (Flajolet, Fusy, Gandouet, Meunier: HyperLogLog, AofA 2007; hashes have 64 bits, so
// nothing is to be corrected above, as Heule, Nunkesser and Hall say in EDBT 2013). The standard
// error is 1.04 / sqrt(registers). Registers lie where the owner wants them, zeros at first.
namespace hyperloglog {

inline void add(uint8_t* registers, uint32_t precision, uint64_t hash) noexcept {
  const uint64_t place = hash >> (64 - precision);
  const uint64_t rest = hash << precision;
  const uint8_t rank =
      static_cast<uint8_t>(rest != 0 ? std::countl_zero(rest) + 1 : 64 - precision + 1);
  registers[place] = std::max(registers[place], rank);
}

inline void merge(uint8_t* registers, const uint8_t* others, uint32_t precision) noexcept {
  for (size_t i = 0; i < size_t{1} << precision; ++i)
    registers[i] = std::max(registers[i], others[i]);
}

inline uint64_t estimate(const uint8_t* registers, uint32_t precision) noexcept {
  const size_t count = size_t{1} << precision;
  const double m = static_cast<double>(count);
  double sum = 0.0;
  size_t zeros = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += std::ldexp(1.0, -registers[i]);
    zeros += registers[i] == 0;
  }
  const double alpha = count == 16   ? 0.673
                       : count == 32 ? 0.697
                       : count == 64 ? 0.709
                                     : 0.7213 / (1.0 + 1.079 / m);
  double found = alpha * m * m / sum;
  if (found <= 2.5 * m && zeros > 0) found = m * std::log(m / static_cast<double>(zeros));
  return static_cast<uint64_t>(found + 0.5);
}

}  // namespace hyperloglog

}  // namespace millrace::operators
