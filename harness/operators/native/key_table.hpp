// key_table.hpp - a record for each key: what operators keep by host, ticker or user.
//
// Open addressing with linear probing. Keys are bytes of any length. Records have one size, begin
// as zeros, and are numbered in the order in which their keys came. None can be taken out alone:
// for that, an operator copies those that stay into a new table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace millrace::operators {

inline constexpr size_t MOST_KEYS = size_t{1} << 20;

// A hash of bytes, word by word, mixed at the end so that every bit of it is as good as any other
// (Appleby, MurmurHash3's finalizer). tests/operators/plain.py has it in Python.
inline uint64_t hash_of(std::string_view key) noexcept {
  static constexpr uint64_t K = 0x9E3779B97F4A7C15;
  const char* at = key.data();
  size_t left = key.size();
  uint64_t hash = left * K;
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * K;
    hash ^= hash >> 32;
  }
  if (left > 0) {
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = (hash ^ word) * K;
  }
  hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCD;
  hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53;
  return hash ^ (hash >> 33);
}

class KeyTable {
 public:
  static constexpr uint32_t NONE = UINT32_MAX;
  explicit KeyTable(size_t record_bytes) : bytes_((record_bytes + 7) / 8 * 8) {}
  size_t size() const noexcept { return entries_.size(); }
  std::string_view key(uint32_t i) const noexcept {
    return {keys_.data() + entries_[i].begin, entries_[i].length};
  }
  // Valid until a key is added.
  char* record(uint32_t i) noexcept { return records_.data() + i * bytes_; }
  const char* record(uint32_t i) const noexcept { return records_.data() + i * bytes_; }
  // The number of a key's record; NONE: there is none.
  uint32_t find(std::string_view key) const noexcept { return find(key, hash_of(key)); }
  // The same; a key that is not there is added. NONE: there would be more than MOST_KEYS.
  uint32_t at(std::string_view key) {
    const uint64_t hash = hash_of(key);
    const uint32_t found = find(key, hash);
    if (found != NONE || entries_.size() == MOST_KEYS) return found;
    if (2 * (entries_.size() + 1) > index_.size()) grow();
    const uint32_t added = static_cast<uint32_t>(entries_.size());
    keys_.insert(keys_.end(), key.begin(), key.end());
    entries_.push_back({hash, keys_.size() - key.size(), static_cast<uint32_t>(key.size())});
    records_.resize(records_.size() + bytes_, 0);
    enter(added);
    return added;
  }
  void clear() noexcept {
    entries_.clear();
    keys_.clear();
    records_.clear();
    std::fill(index_.begin(), index_.end(), NONE);
  }

 private:
  struct Entry {
    uint64_t hash;
    size_t begin;  // in keys_
    uint32_t length;
  };
  uint32_t find(std::string_view key, uint64_t hash) const noexcept {
    if (index_.empty()) return NONE;
    const size_t mask = index_.size() - 1;
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
      const uint32_t i = index_[place];
      if (i == NONE) return NONE;
      const Entry& entry = entries_[i];
      if (entry.hash == hash && entry.length == key.size() &&
          std::memcmp(keys_.data() + entry.begin, key.data(), key.size()) == 0)
        return i;
    }
  }
  void enter(uint32_t i) noexcept {
    const size_t mask = index_.size() - 1;
    size_t place = entries_[i].hash & mask;
    while (index_[place] != NONE) place = (place + 1) & mask;
    index_[place] = i;
  }
  void grow() {
    index_.assign(index_.empty() ? 16 : 2 * index_.size(), NONE);
    for (uint32_t i = 0; i < entries_.size(); ++i) enter(i);
  }
  size_t bytes_;
  std::vector<Entry> entries_;
  std::vector<char> keys_;
  std::vector<char> records_;    // of whole words, so that a record is aligned to 8 bytes
  std::vector<uint32_t> index_;  // numbers of entries by hash, half of it at most
};

// The same with records of a type, which begin as zeros.
template <class T>
class ByKey {
 public:
  // Valid until a key is added. Null: there is none.
  T* find(std::string_view key) noexcept { return record(table_.find(key)); }
  // The same; a key that is not there is added. Null: there are too many.
  T* at(std::string_view key) { return record(table_.at(key)); }

 private:
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
  T* record(uint32_t found) noexcept {
    return found == KeyTable::NONE ? nullptr : reinterpret_cast<T*>(table_.record(found));
  }
  KeyTable table_{sizeof(T)};
};

}  // namespace millrace::operators
