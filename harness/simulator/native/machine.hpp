// machine.hpp - the described machine: where its CPUs are, and what things cost there. Constants
// only, in whole numbers.
//
// Costs come in three sorts. Work that waits for its own multiplies (FLOP) and mixed instructions
// are given for a core that runs alone at its highest clock, and take longer on a core whose other
// hardware threads are busy, and where more cores of the socket are (turbo). Waiting for lines and
// memory takes as long as it takes. Sources of all constants: config/machines/*.yaml.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "calendar.hpp"

namespace millrace::sim {

enum Distance : uint32_t { SAME_CORE, SAME_CHIP, SAME_MODULE, OTHER_SOCKET, DISTANCES };

// Where the slots are that a thread copies from.
enum Place : uint32_t {
  OWN_L1,
  OWN_L2,
  L3,
  MODIFIED_SAME_CHIP,
  MODIFIED_SAME_MODULE,
  MODIFIED_OTHER_SOCKET,
  DRAM_LOCAL,
  DRAM_REMOTE,
  PLACES
};

struct IdleState {
  Time residency, exit;  // an idle time of `residency` costs `exit` at the next wake-up
};

// Neighbours among which a busy CPU looks now and then whether another one has more to do.
struct Domain {
  uint32_t cpus;
  Time every;
};

struct Machine {
  static constexpr uint32_t SHIFT = 10;  // slow-downs are in units of 1/1024
  static constexpr uint64_t PART = 1024;

  uint32_t sockets = 1, chips_per_socket = 1, cores_per_chip = 1, smt = 1, cores = 1;
  uint32_t line = 64;
  uint64_t l1 = 0, l2 = 0, l3 = 0;  // bytes
  uint32_t l3_cores = 1;            // neighbours that share one
  // by busy cores of the socket: how much longer than at the highest clock
  std::vector<uint32_t> slow_clock;
  std::vector<uint32_t> slow_fp,
      slow_mixed;  // by busy hardware threads of the core: how much longer than alone
  // Of a load that waits; 0 for what another core has modified, which is a transfer.
  uint64_t latency[PLACES] = {};
  uint64_t flop = 0;  // one dependent multiply
  uint64_t load[DISTANCES] = {}, rmw[DISTANCES] = {};
  uint64_t rmw_local = 0, cas_local = 0;
  // A compare-exchange is a load with reservation and a conditional store: one that compares
  // unequal takes the line from nobody.
  bool reserves = false;
  std::vector<uint64_t> contended;  // by contenders: one completed fetch_add
  std::vector<uint32_t> cas_slow;   // by contenders: how much longer a compare-and-swap loop takes
  // Into slots that another core has worked on.
  uint64_t returned_call[DISTANCES] = {}, returned_kib[DISTANCES] = {};
  // Of a copy of 1 KiB [ps], what it takes to have it from a place and what to leave it at one; of
  // a socket's memory, by all.
  uint64_t copy_call = 0, fetch_kib[PLACES] = {}, store_kib[PLACES] = {}, dram_kib = 0;
  // What a copy from a place to the same place takes less than both.
  int64_t overlap_kib[PLACES] = {};
  // The same of the shared cache, what another core has had.
  uint64_t evicted_fetch_kib[DISTANCES] = {}, evicted_store_kib[DISTANCES] = {};
  int64_t evicted_overlap_kib[DISTANCES] = {};
  Time sched_latency = 0, min_granularity = 0, wakeup_granularity = 0, migration_cost = 0;
  Time base_slice = 0;  // of EEVDF; 0: the kernel has CFS
  Time wake_elsewhere = 0,
       woken_elsewhere = 0;         // by the waker, and by the CPU that its thread waits for
  Time preempt = 0, interrupt = 0;  // 0: telling a busy CPU takes no time
  Time switch_time = 0, near_refill = 0, refill = 0, wake = 0, wake_caller = 0, wake_queued = 0,
       sleep = 0, yield = 0, timer_slack = 0;
  Time tick = 0;
  uint32_t idle_search = 1;  // [%], 1: wake-ups always look for an idle CPU
  Time bucket_hold = 0, bucket_waiter = 0;
  std::vector<IdleState> idle_states;  // the deepest last
  std::vector<Domain> domains;         // the smallest first

  uint32_t cpus() const noexcept { return cores * smt; }
  uint32_t core_of(uint32_t cpu) const noexcept { return cpu / smt; }
  uint32_t l3_of(uint32_t core) const noexcept { return core / l3_cores; }
  uint32_t chip_of(uint32_t core) const noexcept { return core / cores_per_chip; }
  uint32_t socket_of(uint32_t core) const noexcept {
    return core / (cores_per_chip * chips_per_socket);
  }
  Distance distance(uint32_t core, uint32_t other) const noexcept {
    if (core == other) return SAME_CORE;
    if (chip_of(core) == chip_of(other)) return SAME_CHIP;
    return socket_of(core) == socket_of(other) ? SAME_MODULE : OTHER_SOCKET;
  }
  static Place modified(
      Distance
          // a table: GCC 12 with -O3 -march=native for AVX-512 got two conditions wrong
          distance) noexcept {
    constexpr Place AT[DISTANCES] = {OWN_L2, MODIFIED_SAME_CHIP, MODIFIED_SAME_MODULE,
                                     MODIFIED_OTHER_SOCKET};
    return AT[distance];
  }
  // Which part of so many bytes that are gone through again and again comes from memory, where
  // shared caches hold `held` [1/PART]: none of three fifths of what they hold, all of seven
  // fifths.
  static uint64_t part_beyond(uint64_t bytes, uint64_t held) noexcept {
    return std::clamp<uint64_t>(5 * PART * bytes / (4 * std::max<uint64_t>(held, 1)), 3 * PART / 4,
                                7 * PART / 4) -
           3 * PART / 4;
  }
  template <class Number>
  static Number at(const std::vector<Number>& table, uint64_t index) noexcept {
    return table[std::min<uint64_t>(index, table.size() - 1)];
  }
  Time idle_exit(Time idle) const noexcept {
    Time exit = 0;
    for (const IdleState& state : idle_states) {
      if (idle >= state.residency) exit = state.exit;
    }
    return exit;
  }
};

}  // namespace millrace::sim
