// lines.hpp - cache lines: atomic operations on one that is in the own cache, that another core has
// changed, or that many want.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "memory.hpp"
#include "pinned.hpp"
#include "thread.hpp"
#include "tuple.hpp"

namespace millrace {

// -- in the own cache: ns an operation ------------------------------------------------------------

inline double fetch_add_ns(uint32_t operations) noexcept {
  std::atomic<uint64_t> word{0};
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < operations; ++i) word.fetch_add(1, std::memory_order_acq_rel);
  return static_cast<double>(now_ns() - begin) / operations;
}

// A load, and an exchange if the word still is what was loaded.
inline double compare_exchange_ns(uint32_t operations) noexcept {
  std::atomic<uint64_t> word{0};
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < operations; ++i) {
    uint64_t seen = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
    }
  }
  return static_cast<double>(now_ns() - begin) / operations;
}

// The caller sees to it that the process has a second thread: else the C library leaves the atomic
// operations out.
inline double lock_unlock_ns(uint32_t operations) noexcept {
  std::mutex lock;
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < operations; ++i) {
    lock.lock();
    lock.unlock();
  }
  return static_cast<double>(now_ns() - begin) / operations;
}

// A store and a fence behind it that it has to pass.
inline double fence_ns(uint32_t operations) noexcept {
  std::atomic<uint64_t> word{0};
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < operations; ++i) {
    word.store(i, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  return static_cast<double>(now_ns() - begin) / operations;
}

// A load whose address the load before tells, from lines of a memory of so many bytes; below 0: an
// error of the system. They are gone through in a random order, each once a round, so that
// prefetchers cannot help and no part of them is used more than the rest.
inline double load_ns(size_t footprint, uint32_t loads) noexcept {
  struct alignas(CACHE_LINE) Line {
    Line* next;
  };
  const uint64_t count = std::max<size_t>(2, footprint / sizeof(Line));
  char* const memory = reserve_memory(count * sizeof(Line));
  if (memory == nullptr) return -ENOMEM;
  Line* const lines = reinterpret_cast<Line*>(memory);
  for (uint64_t i = 0; i < count; ++i) lines[i].next = &lines[i];
  for (uint64_t i = count - 1; i > 0; --i) {  // a permutation of one cycle (Sattolo 1986)
    std::swap(lines[i].next, lines[(fingerprint(i) >> 32) * i >> 32].next);
  }
  const Line* at = lines;
  const auto chase = [&](uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
      at = at->next;
      asm volatile("" : "+r"(at));
    }
  };
  chase(std::min<uint64_t>(count, loads));
  const int64_t begin = now_ns();
  chase(loads);
  const double ns = static_cast<double>(now_ns() - begin) / loads;
  give_back_memory(memory, count * sizeof(Line));
  return ns;
}

// -- between two cores: ns one way ----------------------------------------------------------------

// Two threads change a word in turn, each by exchanges that fail until the other has done its own:
// the measure of core-to-core-latency (Viennot), so that numbers found there can stand beside it.
inline double hand_off_ns(const int* two_cpus, uint32_t rounds) noexcept {
  struct alignas(CACHE_LINE) {
    std::atomic<uint32_t> turn{0};
  } line;
  double ns = 0.0;
  const int error = together(two_cpus, 2, [&](int i) {
    const uint32_t mine = static_cast<uint32_t>(i);
    const int64_t begin = now_ns();
    for (uint32_t round = 0; round < rounds; ++round) {
      uint32_t seen = mine;
      while (!line.turn.compare_exchange_strong(seen, 1 - mine, std::memory_order_acq_rel,
                                                std::memory_order_relaxed))
        seen = mine;
    }
    if (i == 0) ns = static_cast<double>(now_ns() - begin) / (2.0 * rounds);
  });
  return error == 0 ? ns : -error;
}

// A load that finds the line changed by the other core. The other writes all lines of a small set;
// then they are read in an order that no prefetcher guesses, each address from the line before.
inline double load_modified_ns(const int* two_cpus, uint32_t rounds) noexcept {
  // a prime number of lines; those between them are left out, since prefetchers fetch neighbours
  constexpr uint32_t LINES = 61, APART = 8;
  struct alignas(CACHE_LINE) Line {
    uint64_t next;
    std::atomic<uint64_t> changed;
  };
  const std::unique_ptr<Line[]> lines(new Line[LINES * APART]());
  for (uint32_t i = 0; i < LINES; ++i)
    lines[i * 23 % LINES * APART].next = (i + 1) * 23 % LINES * APART;
  Meeting meeting(2);
  int64_t spent = 0;
  uint64_t at = 0;
  const int error = together(two_cpus, 2, [&](int i) {
    for (uint32_t round = 0; round < rounds; ++round) {
      if (i == 1) {
        for (uint32_t k = 0; k < LINES; ++k)
          lines[k * APART].changed.store(round, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
      }
      meeting.arrive();
      if (i == 0) {
        const int64_t begin = now_ns();
        for (uint32_t k = 0; k < LINES; ++k) {
          at = lines[at].next;
          asm volatile("" : "+r"(at));
        }
        spent += now_ns() - begin;
      }
      meeting.arrive();
    }
  });
  return error == 0 ? static_cast<double>(spent) / (static_cast<double>(rounds) * LINES) : -error;
}

// -- wanted by many: ns a completed operation, of all threads together ----------------------------

inline double contended_ns(const int* cpus, int count, bool exchange, int64_t window_ns) noexcept {
  struct alignas(CACHE_LINE) Done {
    uint64_t operations = 0;
    int64_t ns = 0;
  };
  struct alignas(CACHE_LINE) {
    std::atomic<uint64_t> word{0};
  } line;
  const std::unique_ptr<Done[]> done(new Done[count]);
  const int error = together(cpus, count, [&](int i) {
    const int64_t begin = now_ns();
    int64_t now = begin;
    uint64_t operations = 0;
    while (now < begin + window_ns) {
      for (int k = 0; k < 64; ++k) {
        if (exchange) {
          uint64_t seen = line.word.load(std::memory_order_relaxed);
          while (!line.word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) {
          }
        } else {
          line.word.fetch_add(1, std::memory_order_acq_rel);
        }
      }
      operations += 64;
      now = now_ns();
    }
    done[i].operations = operations;
    done[i].ns = now - begin;
  });
  if (error != 0) return -error;
  double a_ns = 0.0;  // operations that all threads together complete in a ns
  for (int i = 0; i < count; ++i)
    a_ns += static_cast<double>(done[i].operations) / static_cast<double>(done[i].ns);
  return 1.0 / a_ns;
}

}  // namespace millrace
