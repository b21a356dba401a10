// thread.hpp - threads with a stack of a given size and a join that gives up in time; std::thread
// has neither.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <time.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "protocol.hpp"

namespace millrace {

inline int64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Tells the core that this thread is spinning.
inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Lets the calling thread's timed waits end within microseconds; Linux rounds them to 50 us
// otherwise.
inline void sharpen_timer() noexcept {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1UL);
#endif
}

inline void yield_thread() noexcept { sched_yield(); }

// One round of waiting for what another thread is about to do, ever longer: first it is spinning,
// then giving the core away, in the end sleeping (ASLEEP). `round` counts, from 0.
inline void spin(uint32_t* round) noexcept {
  const uint32_t now = (*round)++;
  if (now % SPINS != SPINS - 1) {
    pause_core();
  } else if (now < SPINS * YIELDS) {
    yield_thread();
  } else {
    const timespec nap{0, nap_ns(now / SPINS - YIELDS)};
    nanosleep(&nap, nullptr);
  }
}

// Bytes below a stack on which users' code runs that stay unused: an access may miss it by so much.
// Code that runs on the stack of a process, of 8 MiB by default, has no larger frames. Compilers
// may be asked to touch each page of a frame (-fstack-clash-protection); users need not.
inline constexpr size_t STACK_REACH = size_t{8} << 20;

class Thread {
 public:
  // below its stack: no frame of a function that is larger misses it
  static constexpr size_t GUARD_BYTES = 1 << 20;

  // 0, or the error of pthread_create (EAGAIN: the system has no more threads to give).
  int start(void* (*body)(void*), void* argument, size_t stack_bytes, const char* name) noexcept {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    constexpr size_t page = 65536;  // a multiple of every page size in use
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    stack_bytes *= 8;  // frames are larger under these
#endif
    stack_bytes = (std::max<size_t>(stack_bytes, PTHREAD_STACK_MIN) + page - 1) / page * page;
    pthread_attr_setguardsize(&attributes, STACK_REACH);
    int error = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (error == 0) error = pthread_attr_setguardsize(&attributes, GUARD_BYTES);
    if (error == 0) error = pthread_create(&thread_, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    started_ = error == 0;
#if defined(__linux__)
    if (started_) {
      char short_name[16];  // the kernel's limit
      std::snprintf(short_name, sizeof short_name, "%s", name);
      pthread_setname_np(thread_, short_name);
    }
#else
    (void)name;
#endif
    return error;
  }

  // The body's first act.
  void begins() noexcept {
#if defined(__linux__)
    id_.store(static_cast<int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
#endif
  }
  // The system's number of it; 0: it has not begun, or has none.
  int32_t id() const noexcept { return id_.load(std::memory_order_relaxed); }

  // The body's last act. Edge DONE: done_.store(release) -> done_.load(acquire): what the thread
  // did is seen by a thread that finds it done.
  void finish() noexcept { done_.store(true, std::memory_order_release); }
  bool done() const noexcept { return !started_ || done_.load(std::memory_order_acquire); }

  // Waits for the end of a thread whose body has called finish().
  void join() noexcept {
    if (started_) pthread_join(thread_, nullptr);
    started_ = false;
  }
  // Gives a thread up that does not return; its memory must outlive it.
  void abandon() noexcept {
    if (started_) pthread_detach(thread_);
    started_ = false;
  }

 private:
  pthread_t thread_{};
  bool started_ = false;
  std::atomic<int32_t> id_{0};
  std::atomic<bool> done_{false};
};

}  // namespace millrace
