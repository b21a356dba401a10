// calendar.hpp - the event core: which process acts next, and when.
//
// A process (a virtual thread, a timer) has at most one event in the calendar, so an event is a
// process with a time, and changing one's mind is moving it. Times are whole picoseconds. Events at
// one time come in the order in which they were scheduled: that, and nothing about the machine that
// simulates, decides ties, so a run is the same bit for bit everywhere.
//
// A heap with four children a node, whose entries know their place. The process that acts stays at
// the top meanwhile, since no event can be scheduled before it, so that its own next event is one
// sift down and not a removal and an insertion: the most frequent case by far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::sim {

using Time = uint64_t;  // [ps] since the start; 2^64 ps are 213 days
inline constexpr Time NANOSECOND = 1'000, MICROSECOND = 1'000'000, MILLISECOND = 1'000'000'000,
                      SECOND = 1'000'000'000'000;
inline constexpr Time NEVER = UINT64_MAX;

class Calendar {
 public:
  struct Event {
    Time time;
    uint64_t tie;  // in order of scheduling; and whose it is
    uint32_t process() const noexcept { return static_cast<uint32_t>(tie % MOST); }
  };
  // processes: more than a graph can have threads; it leaves 2^40 events
  static constexpr uint64_t MOST = 1 << 24;

  explicit Calendar(uint32_t processes) : place_(processes, NOWHERE) { heap_.reserve(processes); }

  // The event of `process` is at `time`, wherever it was before.
  void schedule(uint32_t process, Time time) {
    const Event event{time, scheduled_++ * MOST + process};
    if (place_[process] == NOWHERE) {
      heap_.push_back(event);
      rise(heap_.size() - 1, event);
    } else if (before(event, heap_[place_[process]])) {
      rise(place_[process], event);
    } else {
      sink(place_[process], event);
    }
  }

  void cancel(uint32_t process) {
    const size_t hole = place_[process];
    if (hole == NOWHERE) return;
    place_[process] = NOWHERE;
    const Event last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    if (before(last, heap_[hole])) {
      rise(hole, last);
    } else {
      sink(hole, last);
    }
  }

  bool empty() const noexcept { return heap_.empty(); }
  bool pending(uint32_t process) const noexcept { return place_[process] != NOWHERE; }
  const Event& next() const noexcept { return heap_.front(); }
  // The time of the event of a process, which is pending.
  Time when(uint32_t process) const noexcept { return heap_[place_[process]].time; }

 private:
  static constexpr uint32_t NOWHERE = UINT32_MAX;
  static constexpr size_t CHILDREN = 4;

  // compared without a branch, which could not be predicted
  __extension__ using Key = unsigned __int128;
  static Key key(const Event& event) noexcept { return Key{event.time} << 64 | event.tie; }
  static bool before(const Event& a, const Event& b) noexcept { return key(a) < key(b); }
  void put(size_t place, const Event& event) noexcept {
    heap_[place] = event;
    place_[event.process()] = static_cast<uint32_t>(place);
  }
  void rise(size_t place, const Event& event) noexcept {
    while (place > 0) {
      const size_t parent = (place - 1) / CHILDREN;
      if (!before(event, heap_[parent])) break;
      put(place, heap_[parent]);
      place = parent;
    }
    put(place, event);
  }
  // Of the children that begin there.
  size_t least_child(size_t first) const noexcept {
    if (first + CHILDREN <= heap_.size()) {
      const size_t left = first + before(heap_[first + 1], heap_[first]),
                   right = first + 2 + before(heap_[first + 3], heap_[first + 2]);
      return before(heap_[right], heap_[left]) ? right : left;
    }
    size_t least = first;
    for (size_t child = first + 1; child < heap_.size(); ++child) {
      if (before(heap_[child], heap_[least])) least = child;
    }
    return least;
  }
  void sink(size_t place, const Event& event) noexcept {
    while (place * CHILDREN + 1 < heap_.size()) {
      const size_t least = least_child(place * CHILDREN + 1);
      if (!before(heap_[least], event)) break;
      put(place, heap_[least]);
      place = least;
    }
    put(place, event);
  }

  std::vector<Event> heap_;
  std::vector<uint32_t> place_;  // by process: where its event is
  uint64_t scheduled_ = 0;
};

}  // namespace millrace::sim
