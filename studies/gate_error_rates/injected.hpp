// injected.hpp - more work for every tuple that a work operator executes: the real slowdowns of `python -m studies.gate_error_rates`.
//
// No part of the runtime: the selftest puts this file beside flop.hpp, which injected.patch lets include it, in a worktree of its own, and
// builds that. Base and head are then the same binary, and differ in amounts alone, which are read once, when a module is loaded:
//
//   MILLRACE_EXTRA_FLOP     multiplies that wait for each other; the operator's own FLOP wait for the last of them
//   MILLRACE_EXTRA_COPY     copies of the tuple's slot, into memory of the thread
//   MILLRACE_EXTRA_ATOMIC   fetch_adds on a cache line that all threads share
//   MILLRACE_EXTRA_SLEEP    sleeps of 1 us, to which the system adds its own time
//
// An amount is a number of these in a billion tuples (0 if not set), so that slowdowns of any size can be had: each thread keeps an account
// of what it owes, and before a batch does what is whole. An account a tuple would take longer than a small slowdown may.
// Not slowed: operators of users, sources, sinks.
// Checked by: tests/studies/gate_error_rates/test_inject.py
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tuple.hpp"

namespace millrace {

class Injected {
 public:
  // Before a thread works on a batch. Returns `factor`, but not before the last of the multiplies is done.
  static double before_work(Tuple* first, size_t stride, uint32_t count, double factor) noexcept {
    return ANY ? of_this_thread(first, stride, count, factor) : factor;
  }

  // fetch_adds so far, by all threads: tests count them.
  static uint64_t atomics_done() noexcept { return shared_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t BILLION = 1'000'000'000;

  // What is owed of one kind, in billionths.
  class Account {
   public:
    uint64_t due(uint64_t amount, uint32_t tuples) noexcept {
      owed_ += amount * tuples;
      const uint64_t whole = owed_ / BILLION;
      owed_ -= whole * BILLION;
      return whole;
    }

   private:
    uint64_t owed_ = 0;
  };

  // Not inlined: beside calls in the same function the compiler keeps the operator's value out of the registers of floating point, and base,
  // too, would take twice as long for its multiplies as the program that is not slowed.
  __attribute__((noinline)) static double of_this_thread(Tuple* first, size_t stride,
                                                         uint32_t count, double factor) noexcept {
    thread_local Injected account;
    return account.work(first, stride, count, factor);
  }

  double work(Tuple* first, size_t stride, uint32_t count, double factor) noexcept {
    double chain = factor;
    for (uint64_t n = flop_.due(FLOP, count); n > 0; --n) chain *= factor;
    for (uint64_t n = copies_.due(COPIES, count); n > 0; --n)
      copy(slot(first, stride, n % count), stride);
    for (uint64_t n = atomics_.due(ATOMICS, count); n > 0; --n)
      shared_.fetch_add(1, std::memory_order_relaxed);
    for (uint64_t n = sleeps_.due(SLEEPS, count); n > 0; --n) nap();
    last_ = chain;  // so that the multiplies are needed where nobody waits for them
    return chain;
  }

  void copy(const Tuple* tuple, size_t stride) noexcept {
    for (size_t done = 0; done < stride; done += sizeof(copy_))
      std::memcpy(copy_, reinterpret_cast<const char*>(tuple) + done,
                  std::min(sizeof(copy_), stride - done));
    asm volatile("" : : "r"(copy_) : "memory");  // the compiler must believe that somebody reads it
  }

  static void nap() noexcept {
    const timespec microsecond{0, 1000};
    nanosleep(&microsecond, nullptr);
  }

  static uint64_t amount(const char* variable) noexcept {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  }

  static inline const uint64_t FLOP = amount("MILLRACE_EXTRA_FLOP");
  static inline const uint64_t COPIES = amount("MILLRACE_EXTRA_COPY");
  static inline const uint64_t ATOMICS = amount("MILLRACE_EXTRA_ATOMIC");
  static inline const uint64_t SLEEPS = amount("MILLRACE_EXTRA_SLEEP");
  static inline const bool ANY = (FLOP | COPIES | ATOMICS | SLEEPS) != 0;

  alignas(CACHE_LINE) static inline std::atomic<uint64_t> shared_{0};

  Account flop_;
  Account copies_;
  Account atomics_;
  Account sleeps_;
  double last_ = 1.0;
  alignas(CACHE_LINE) char copy_[4096];
};

}  // namespace millrace
