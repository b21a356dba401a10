// occupancy.hpp - which CPUs, cores and caches of the described machine are busy, and where an idle
// CPU is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "thread.hpp"

namespace millrace::sim {

class Occupancy {
 public:
  static constexpr uint32_t NONE = UINT32_MAX;

  explicit Occupancy(const Machine& machine)
      : machine_(machine),
        cores_(machine.cores),
        sockets_(machine.sockets),
        l3s_(machine.l3_of(machine.cores - 1) + 1) {
    const uint32_t words = (cpus_per_socket() + 63) / 64;
    for (Socket& socket : sockets_) {
      socket.idle_cpus.assign(words, 0);
      socket.idle_cores.assign(words, 0);
    }
    for (uint32_t cpu = 0; cpu < machine.cpus(); ++cpu)
      mark(socket_of(cpu).idle_cpus, place_of(cpu));
    for (uint32_t core = 0; core < machine.cores; ++core)
      mark(socket_of(core * machine.smt).idle_cores, place_of_core(core));
  }

  // A thread has an idle CPU from now on.
  void enter(uint32_t cpu, Time now) noexcept {
    Socket& socket = socket_of(cpu);
    socket.used.pass(now, socket.busy_cpus++);
    ++busy_cpus_;
    unmark(socket.idle_cpus, place_of(cpu));
    const uint32_t core = machine_.core_of(cpu);
    if (cores_[core]++ > 0) return;
    unmark(socket.idle_cores, place_of_core(core));
    ++socket.busy_cores;
    ++busy_cores_;
    busy_l3s_ += l3s_[machine_.l3_of(core)]++ == 0;
  }
  // No thread has it any more.
  void leave(uint32_t cpu, Time now) noexcept {
    Socket& socket = socket_of(cpu);
    socket.used.pass(now, socket.busy_cpus--);
    --busy_cpus_;
    mark(socket.idle_cpus, place_of(cpu));
    const uint32_t core = machine_.core_of(cpu);
    if (--cores_[core] > 0) return;
    mark(socket.idle_cores, place_of_core(core));
    --socket.busy_cores;
    --busy_cores_;
    busy_l3s_ -= --l3s_[machine_.l3_of(core)] == 0;
  }

  uint64_t busy_cpus() const noexcept { return busy_cpus_; }
  uint32_t busy_cpus(uint32_t core) const noexcept { return cores_[core]; }
  uint32_t busy_cores() const noexcept { return busy_cores_; }
  uint32_t busy_cores(uint32_t socket) const noexcept { return sockets_[socket].busy_cores; }
  uint32_t busy_l3s() const noexcept { return busy_l3s_; }  // last caches of which a core is busy

  // An idle CPU of the socket, on an idle core if there is one; else NONE.
  uint32_t idle_in(uint32_t socket) const noexcept {
    const uint32_t first = socket * cpus_per_socket();
    const uint32_t core = lowest(sockets_[socket].idle_cores);
    if (core != NONE) return first + core * machine_.smt;
    const uint32_t cpu = lowest(sockets_[socket].idle_cpus);
    return cpu == NONE ? NONE : first + cpu;
  }
  // Whether a wake-up looks for an idle CPU there: Linux, kernel/sched/fair.c,
  // update_idle_cpu_scan.
  bool looks(uint32_t socket, Time now) const noexcept {
    const uint64_t n = cpus_per_socket(),
                   share = sockets_[socket].used.at(now, sockets_[socket].busy_cpus) *
                           machine_.idle_search / (100 * n);  // [2^-28]
    return ((Average::ONE - std::min(Average::ONE, share * share >> 28)) * n >> 28) > 0;
  }
  // The CPU for a new thread: one socket after the other, idle cores first, then idle CPUs of the
  // cores with the fewest busy ones (Linux: find_idlest_group), then all by turns.
  uint32_t spread() noexcept {
    for (uint32_t i = 0; i < machine_.sockets; ++i) {
      const uint32_t socket = (started_ + i) % machine_.sockets;
      if (lowest(sockets_[socket].idle_cores) == NONE) continue;
      ++started_;
      return idle_in(socket);
    }
    for (uint32_t i = 0; i < machine_.sockets; ++i) {
      const uint32_t found = idlest_in((started_ + i) % machine_.sockets);
      if (found == NONE) continue;
      ++started_;
      return found;
    }
    return started_++ % machine_.cpus();
  }

 private:
  using Bits = std::vector<uint64_t>;

  // An idle CPU of the socket, on a core with as few busy ones as there is; else NONE.
  uint32_t idlest_in(uint32_t socket) const noexcept {
    const uint32_t first = socket * cpus_per_socket() / machine_.smt,
                   end = std::min(first + cpus_per_socket() / machine_.smt, machine_.cores);
    const auto idlest = std::min_element(cores_.begin() + first, cores_.begin() + end);
    if (idlest == cores_.begin() + end || *idlest == machine_.smt) return NONE;
    const auto core = static_cast<uint32_t>(idlest - cores_.begin());
    const Bits& idle = sockets_[socket].idle_cpus;
    for (uint32_t cpu = core * machine_.smt;; ++cpu) {
      const uint32_t place = place_of(cpu);
      if ((idle[place / 64] >> place % 64 & 1) != 0) return cpu;
    }
  }

  struct Socket {
    Bits idle_cpus, idle_cores;
    uint32_t busy_cores = 0;
    uint64_t busy_cpus = 0;
    Average used;  // busy CPUs
  };

  uint32_t cpus_per_socket() const noexcept {
    return machine_.chips_per_socket * machine_.cores_per_chip * machine_.smt;
  }
  Socket& socket_of(uint32_t cpu) noexcept {
    return sockets_[machine_.socket_of(machine_.core_of(cpu))];
  }
  uint32_t place_of(uint32_t cpu) const noexcept { return cpu % cpus_per_socket(); }
  uint32_t place_of_core(uint32_t core) const noexcept {
    return core % (cpus_per_socket() / machine_.smt);
  }
  static void mark(Bits& bits, uint32_t place) noexcept {
    bits[place / 64] |= uint64_t{1} << place % 64;
  }
  static void unmark(Bits& bits, uint32_t place) noexcept {
    bits[place / 64] &= ~(uint64_t{1} << place % 64);
  }
  static uint32_t lowest(const Bits& bits) noexcept {
    for (size_t word = 0; word < bits.size(); ++word) {
      if (bits[word] != 0)
        return static_cast<uint32_t>(word * 64 + static_cast<size_t>(__builtin_ctzll(bits[word])));
    }
    return NONE;
  }

  const Machine& machine_;
  std::vector<uint32_t> cores_;  // busy CPUs of each
  std::vector<Socket> sockets_;
  std::vector<uint32_t> l3s_;  // busy cores of each
  uint64_t busy_cpus_ = 0;
  uint32_t busy_cores_ = 0, busy_l3s_ = 0, started_ = 0;
};

}  // namespace millrace::sim
