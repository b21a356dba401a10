// stress.hpp - what the stress programs share: checked expectations that stay on in every build,
// and threads that start together.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#define EXPECT(condition)                                                           \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)

// True in a program of ThreadSanitizer. It makes a round ten times as long, and reports a missing
// edge in whichever round lacks it; a store that other cores see late is no matter for it.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool THREADS_SANITIZED = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool THREADS_SANITIZED = true;
#else
inline constexpr bool THREADS_SANITIZED = false;
#endif
#else
inline constexpr bool THREADS_SANITIZED = false;
#endif

// Runs body(0) .. body(threads - 1) at the same time and waits for all.
inline void together(int threads, const std::function<void(int)>& body) {
  std::atomic<int> ready{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      ready.fetch_add(1);
      while (ready.load() < threads) std::this_thread::yield();
      body(i);
    });
  }
  for (auto& thread : running) thread.join();
}
