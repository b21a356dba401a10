// line.hpp - a cache line that threads share: the core that wrote it last, the cores with a copy,
// and when the next atomic operation on it can begin.
//
//   load   costs a transfer by distance, unless this core wrote the line last or has looked since
//   store  costs the writer nothing (store buffers hide it), but takes all other copies away
//   rmw    alone: a transfer by distance, or a local operation; while others wait for the same
//          line: in turn, at the aggregate rate that is measured for that many contenders, which
//          are counted: they leave as evenly as time passes until the line is free. A thread that
//          owes time takes its turn for when that has passed; a thread that comes before the first
//          of those turns takes one among the turns before.
//
// The aggregate rate of a line under contention is far above one over its transfer time, because
// requests of one socket are served together; and far below the rate of a core alone. A model of
// either kind would be wrong by a factor of four (docs/reference/machines.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "machine.hpp"

namespace millrace::sim {

class Line {
 public:
  static constexpr uint32_t NOBODY = UINT32_MAX;

  Time load(const Machine& machine, uint32_t core) noexcept {
    uint64_t& sharers = sharers_[core / 64 % std::size(sharers_)];
    const uint64_t bit = uint64_t{1} << core % 64;
    if (owner_ == core || owner_ == NOBODY || (sharers & bit) != 0) return 0;
    sharers |= bit;
    sharer_ = core;
    return machine.load[machine.distance(core, owner_)];
  }
  void store(uint32_t core) noexcept {
    owner_ = core;
    sharer_ = NOBODY;
    std::fill(std::begin(sharers_), std::end(sharers_), 0);
  }
  // `cas`: by a loop around a compare-and-swap. `most`: is raised to the number of contenders.
  // Returns the time from `now` until it is done, waiting included.
  Time rmw(const Machine& machine, uint32_t core, Time now, bool cas, uint64_t& most) noexcept {
    const bool early = now < turns_.begin;
    Turns& turns = early ? earlier_ : turns_;
    Time service;
    if (turns.free_at > now) {
      // of those that had come when the last one did, as many are left as time is left of all of
      // theirs
      if (now > turns.since) {
        turns.before = static_cast<uint64_t>(turns.before) * (turns.free_at - now) /
                       (turns.free_at - turns.since);
        turns.since = now;
      }
      const uint64_t contenders = 1 + (turns.before + ONE / 2) / ONE;
      most = std::max(most, contenders);
      service = Machine::at(machine.contended, contenders);
      if (cas) service = service * Machine::at(machine.cas_slow, contenders) >> Machine::SHIFT;
      turns.free_at += service;
      turns.before += ONE;
    } else {
      const bool own = owner_ == core || owner_ == NOBODY;
      service = own ? (cas ? machine.cas_local : machine.rmw_local)
                    : machine.rmw[machine.distance(core, owner_)];
      if (own && sharer_ != NOBODY && sharer_ != core)
        service = std::max(service, machine.load[machine.distance(core, sharer_)]);
      if (!early) earlier_ = turns_;
      turns = {now + service, now, now, ONE};
    }
    store(core);
    return turns.free_at - now;
  }
  bool is_elsewhere(uint32_t core) const noexcept { return owner_ != core && owner_ != NOBODY; }

 private:
  static constexpr uint32_t ONE = 256;

  struct Turns {
    Time free_at = 0, since = 0, begin = 0;
    uint32_t before = 0;  // at `since`: whose operations are not done, in 1/256
  };

  Turns turns_, earlier_;
  uint32_t owner_ = NOBODY;   // the core that wrote last
  uint32_t sharer_ = NOBODY;  // the core that read last, since
  // bits: the cores that have read since; two with the same number modulo 128 have one in common
  uint64_t sharers_[2] = {};
};

}  // namespace millrace::sim
