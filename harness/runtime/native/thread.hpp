// thread.hpp - threads with a stack of a given size and a join that gives up in time; std::thread has neither.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>

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

inline void yield_thread() noexcept { sched_yield(); }

// How long to spin before yielding: another thread on another core is done with a flag within about this many pauses; a guess, not tuned.
inline constexpr uint32_t SPINS = 32;

inline void spin(uint32_t* round) noexcept {
  if (++*round % SPINS != 0)
    pause_core();
  else
    yield_thread();
}

class Thread {
 public:
  // 0, or the error of pthread_create (EAGAIN: the system has no more threads to give).
  int start(void* (*body)(void*), void* argument, size_t stack_bytes, const char* name) noexcept {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    constexpr size_t page = 65536;  // a multiple of every page size in use
    stack_bytes = (std::max<size_t>(stack_bytes, PTHREAD_STACK_MIN) + page - 1) / page * page;
    int error = pthread_attr_setstacksize(&attributes, stack_bytes);
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

  // The body's last act. Edge DONE: done_.store(release) -> done_.load(acquire): what the thread did is seen by who finds it done.
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
  std::atomic<bool> done_{false};
};

}  // namespace millrace
