// join.hpp - tuples of two ports that have a key in common and are near in time.
//
// What is joined does not depend on which port is ahead: a tuple is kept until no partner can come
// any more, which the times of the other port tell. A tuple is late if the time of its own port has
// passed it.
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
  int32_t keep(std::string_view key, int64_t time, const void* tuple, bool paired = false) {
    if (end_ - begin_ == MOST) return TOO_MANY;
    if (end_ - begin_ == size_) grow();
    if (keys_.size() >= 2 * live_ + 64) forget_keys();
    const uint32_t found = keys_.at(key);
    if (found == KeyTable::NONE) return TOO_MANY_KEYS;
    Chain& chain = chain_of(found);
    Slot& slot = at(end_);
    slot = {time, NOTHING, found, paired ? 1U : 0U};
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
  // f(time, tuple) of all that were kept with a key, the first ones first; it tells whether they
  // are a pair.
  template <class F>
  void each(std::string_view key, F&& f) {
    const uint32_t found = keys_.find(key);
    if (found == KeyTable::NONE || chain_of(found).length == 0) return;
    for (uint64_t i = chain_of(found).first; i != NOTHING;) {
      Slot& slot = at(i);
      if (f(slot.time, static_cast<const void*>(&slot + 1))) slot.paired = 1;
      i = slot.next;
    }
  }
  // Forgets what came first, up to one that is later than `time`; alone(tuple) of what was in no
  // pair.
  template <class Alone>
  void forget(int64_t time, Alone&& alone) {
    for (; begin_ < end_ && at(begin_).time <= time; ++begin_) {
      if (at(begin_).paired == 0) alone(static_cast<const void*>(&at(begin_) + 1));
      Chain& chain = chain_of(at(begin_).key);
      chain.first = at(begin_).next;  // each key's are in the same order
      if (--chain.length == 0) --live_;
    }
  }
  void forget(int64_t time) {
    forget(time, [](const void*) {});
  }
  size_t size() const noexcept { return end_ - begin_; }

 private:
  static constexpr uint64_t NOTHING = UINT64_MAX;
  struct Slot {
    int64_t time;
    uint64_t next;    // with the same key
    uint32_t key;     // its number
    uint32_t paired;  // 1: with another tuple
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

// Pairs of tuples whose times are less than `within` apart, as attributes of both. Tuples of an
// `outer` side that are in no pair are sent alone, when no partner can come any more.
class Join : public Timed {
 public:
  struct Copy {
    uint32_t port, from, to, bytes;
  };
  struct Side {
    std::vector<Key::Part> key;
    uint32_t time_offset, bytes;
    bool outer;
    uint32_t present;  // where an output tuple says that it has this side; NOWHERE: it does not
  };
  static constexpr uint32_t NOWHERE = UINT32_MAX;
  Join(const Side& left, const Side& right, std::vector<Copy> copies, uint32_t out_bytes,
       int64_t within, const EventTime::Rule& rule)
      : Timed({{left.time_offset, left.bytes, EventTime(rule)},
               {right.time_offset, right.bytes, EventTime(rule)}}),
        sides_{Kept(left), Kept(right)},
        copies_(std::move(copies)),
        out_bytes_(out_bytes),
        within_(within) {}
  // Tuples that are kept.
  uint64_t counted(uint32_t side) const noexcept override {
    return sides_[side].tuples.size() + sides_[side].ahead.size();
  }

 protected:
  int32_t take(millrace_context* context, uint32_t port, const void* tuple, int64_t time) override {
    const bool late = time < clock(port).passed();
    clock(port).see(time);
    if (late) {
      leave_out_late(context, port, tuple);
      return 0;
    }
    Kept& own = sides_[port];
    Kept& others = sides_[1 - port];
    forget(context, 1 - port, clock(port).passed() - within_);
    const std::string_view key = own.key.of(tuple);
    bool paired = false;
    const auto pair = [&](int64_t other_time, const void* other) {
      if ((time > other_time ? time - other_time : other_time - time) >= within_) return false;
      send(context, port == 0 ? tuple : other, port == 0 ? other : tuple);
      paired = true;
      return true;
    };
    others.tuples.each(key, pair);
    others.ahead.each(key, pair);
    // A partner that has already passed all that the other port may still bring would be kept for
    // nothing
    if (time <= clock(1 - port).passed() - within_) {
      if (!paired) alone(context, port, tuple);
      return 0;
    }
    // One that is ahead of time must not hold up those behind it
    const bool ahead = time > clock(port).reached();
    return (ahead ? own.ahead : own.tuples).keep(key, time, tuple, paired);
  }
  int32_t end(millrace_context* context) override {
    for (const uint32_t port : {0U, 1U}) forget(context, port, INT64_MAX);
    return 0;
  }
  int32_t close(millrace_context* context) override {
    for (const uint32_t port : {0U, 1U}) forget(context, port, clock(1 - port).passed() - within_);
    return 0;
  }

 private:
  struct Kept {
    explicit Kept(const Side& side)
        : key(side.key),
          tuples(side.bytes),
          ahead(side.bytes),
          outer(side.outer),
          present(side.present) {}
    Key key;
    JoinSide tuples, ahead;
    bool outer;
    uint32_t present;
  };
  void forget(millrace_context* context, uint32_t port, int64_t time) {
    const auto left_alone = [&](const void* tuple) { alone(context, port, tuple); };
    sides_[port].tuples.forget(time, left_alone);
    sides_[port].ahead.forget(time, left_alone);
  }
  void alone(millrace_context* context, uint32_t port, const void* tuple) {
    if (!sides_[port].outer) return;
    send(context, port == 0 ? tuple : nullptr, port == 0 ? nullptr : tuple);
  }
  void send(millrace_context* context, const void* left, const void* right) {
    const std::array<const void*, 2> both{left, right};
    char* out = static_cast<char*>(millrace_room(context, 0));
    std::memset(out, 0, out_bytes_);
    for (const Copy& copy : copies_) {
      if (both[copy.port] == nullptr) continue;
      std::memcpy(out + copy.to, static_cast<const char*>(both[copy.port]) + copy.from, copy.bytes);
    }
    for (const uint32_t port : {0U, 1U}) {
      if (sides_[port].present != NOWHERE) out[sides_[port].present] = both[port] != nullptr;
    }
    millrace_send(context, 0);
  }
  std::array<Kept, 2> sides_;
  std::vector<Copy> copies_;
  uint32_t out_bytes_;
  int64_t within_;
};

}  // namespace millrace::operators
