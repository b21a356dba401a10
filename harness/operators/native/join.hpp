// join.hpp - tuples of two ports that have a key in common and are near in time.
//
// What is joined does not depend on which port is ahead: a tuple is kept until no partner can come
// any more, which the times of the other port tell. Times of a port may go back by `lateness` and
// no further.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "windows.hpp"

namespace millrace::operators {

// One side of a join: tuples by key, in the order in which they came, in a ring. BOUND: at most
// MOST of them.
class JoinSide {
 public:
  static constexpr size_t MOST = size_t{1} << 22;
  explicit JoinSide(size_t tuple_bytes)
      : stride_(sizeof(Slot) + (tuple_bytes + 7) / 8 * 8),
        bytes_(tuple_bytes),
        keys_(sizeof(Chain)) {}
  int32_t keep(std::string_view key, int64_t time, const void* tuple) {
    if (end_ - begin_ == MOST) return TOO_MANY;
    if (end_ - begin_ == size_) grow();
    if (keys_.size() >= 2 * live_ + 64) forget_keys();
    const uint32_t found = keys_.at(key);
    if (found == KeyTable::NONE) return TOO_MANY;
    Chain& chain = chain_of(found);
    Slot& slot = at(end_);
    slot = {time, NOTHING, found};
    std::memcpy(&slot + 1, tuple, bytes_);
    if (chain.length == 0) {
      chain.first = end_;
      ++live_;
    } else {
      at(chain.last).next = end_;
    }
    chain.last = end_++;
    ++chain.length;
    return 0;
  }
  // f(time, tuple) of all that were kept with a key, the first ones first.
  template <class F>
  void each(std::string_view key, F&& f) {
    const uint32_t found = keys_.find(key);
    if (found == KeyTable::NONE || chain_of(found).length == 0) return;
    for (uint64_t i = chain_of(found).first; i != NOTHING;) {
      const Slot& slot = at(i);
      f(slot.time, static_cast<const void*>(&slot + 1));
      i = slot.next;
    }
  }
  // Forgets what came first, up to one that is later than `time`.
  void forget(int64_t time) noexcept {
    for (; begin_ < end_ && at(begin_).time <= time; ++begin_) {
      Chain& chain = chain_of(at(begin_).key);
      chain.first = at(begin_).next;  // each key's are in the same order
      if (--chain.length == 0) --live_;
    }
  }
  size_t size() const noexcept { return end_ - begin_; }

 private:
  static constexpr uint64_t NOTHING = UINT64_MAX;
  struct Slot {
    int64_t time;
    uint64_t next;  // with the same key
    uint64_t key;   // its number
  };
  struct Chain {
    uint64_t first, last, length;
  };
  Slot& at(uint64_t i) noexcept {
    return *reinterpret_cast<Slot*>(ring_.data() + (i & (size_ - 1)) * stride_);
  }
  Chain& chain_of(uint64_t key) noexcept {
    return *reinterpret_cast<Chain*>(keys_.record(static_cast<uint32_t>(key)));
  }
  void grow() {
    const size_t size = size_ == 0 ? 64 : 2 * size_;
    std::vector<char> ring(size * stride_);
    for (uint64_t i = begin_; i < end_; ++i)
      std::memcpy(ring.data() + (i & (size - 1)) * stride_, &at(i), stride_);
    ring_ = std::move(ring);
    size_ = size;
  }
  // Leaves out the keys of which nothing is kept.
  void forget_keys() {
    KeyTable kept(sizeof(Chain));
    for (uint32_t i = 0; i < keys_.size(); ++i) {
      const Chain chain = chain_of(i);
      if (chain.length == 0) continue;
      const uint32_t number = kept.at(keys_.key(i));
      *reinterpret_cast<Chain*>(kept.record(number)) = chain;
      for (uint64_t j = chain.first; j != NOTHING; j = at(j).next) at(j).key = number;
    }
    keys_ = std::move(kept);
  }
  size_t stride_, bytes_, size_ = 0;
  uint64_t begin_ = 0, end_ = 0;  // of what is kept, as numbers of all that ever came
  size_t live_ = 0;               // keys of which something is kept
  std::vector<char> ring_;
  KeyTable keys_;
};

// Pairs of tuples whose times are less than `within` apart, as attributes of both.
class Join : public Operator {
 public:
  struct Copy {
    uint32_t port, from, to, bytes;
  };
  struct Side {
    std::vector<Key::Part> key;
    uint32_t time_offset, bytes;
  };
  Join(const Side& left, const Side& right, std::vector<Copy> copies, uint32_t out_bytes,
       int64_t within, int64_t lateness)
      : keys_{Key(left.key), Key(right.key)},
        sides_{JoinSide(left.bytes), JoinSide(right.bytes)},
        time_offsets_{left.time_offset, right.time_offset},
        copies_(std::move(copies)),
        out_bytes_(out_bytes),
        within_(within),
        lateness_(lateness) {}
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    if (port > 1) return WRONG_PORT;
    int64_t time;
    std::memcpy(&time, static_cast<const char*>(tuple) + time_offsets_[port], sizeof time);
    if (time < -MOST_TIME || time > MOST_TIME) return OUT_OF_RANGE;
    reached_[port] = std::max(reached_[port], time);
    JoinSide& others = sides_[1 - port];
    others.forget(reached_[port] - lateness_ - within_);
    const std::string_view key = keys_[port].of(tuple);
    others.each(key, [&](int64_t other_time, const void* other) {
      if ((time > other_time ? time - other_time : other_time - time) < within_)
        send(context, port == 0 ? tuple : other, port == 0 ? other : tuple);
    });
    // A partner that has already passed all that the other port may still bring would be kept for
    // nothing
    if (reached_[1 - port] != INT64_MIN && time <= reached_[1 - port] - lateness_ - within_)
      return 0;
    return sides_[port].keep(key, time, tuple);
  }
  uint64_t counted(uint32_t side) const noexcept override {
    return sides_[side].size();
  }  // tuples that are kept

 private:
  void send(millrace_context* context, const void* left, const void* right) {
    char* out = static_cast<char*>(millrace_room(context, 0));
    std::memset(out, 0, out_bytes_);
    for (const Copy& copy : copies_) {
      std::memcpy(out + copy.to,
                  static_cast<const char*>(copy.port == 0 ? left : right) + copy.from, copy.bytes);
    }
    millrace_send(context, 0);
  }
  std::array<Key, 2> keys_;
  std::array<JoinSide, 2> sides_;
  std::array<uint32_t, 2> time_offsets_;
  std::array<int64_t, 2> reached_{INT64_MIN, INT64_MIN};
  std::vector<Copy> copies_;
  uint32_t out_bytes_;
  int64_t within_, lateness_;
};

}  // namespace millrace::operators
