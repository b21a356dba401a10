// The window that is read is never empty, holds half a window or more, and no more than a whole
// one, also after a time in which nobody counted.
#include <numeric>

#include "stress.hpp"
#include "windows.hpp"

using namespace millrace;

static uint64_t sum(Windows& windows) {
  const std::vector<uint64_t> counts = windows.read();
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// A look a unit of time, and windows of 100.
static void a_stall_is_no_reason_to_hurry() {
  Windows windows;
  windows.init(1, 100);
  int64_t now = 1;
  const auto look = [&](int64_t until) {
    for (; now < until; ++now) {
      windows.pass(now);
      windows.count(0);
      EXPECT(now < 50 || (sum(windows) >= 50 && sum(windows) <= 100));
    }
  };
  look(1'000);
  now += 10'000;  // the thread that counts has no CPU for that long, and then a turn is due
  const uint64_t before = sum(windows);
  look(now + 10);
  EXPECT(before >= 50 && sum(windows) >= 50);
  look(now + 1'000);
}

static void what_was_before_the_window_is_forgotten() {
  Windows windows;
  windows.init(2, 100);
  for (int64_t now = 1; now < 1'000; ++now) {
    windows.pass(now);
    windows.count(now < 500 ? 0 : 1);
    if (now >= 600) EXPECT(windows.read()[0] == 0);
  }
}

static void readers_see_a_window_and_never_half_of_one() {
  constexpr size_t THINGS = 64;
  constexpr int64_t TURNS = THREADS_SANITIZED ? 20'000 : 100'000;
  Windows windows;
  windows.init(THINGS, 20);
  std::atomic<bool> filled{false}, done{false};
  together(3, [&](int thread) {
    if (thread == 0) {
      for (int64_t now = 1; now <= TURNS; ++now) {
        windows.pass(now);
        for (size_t thing = 0; thing < THINGS; ++thing) windows.count(thing);
        if (now == 100) filled.store(true);
      }
      done.store(true);
      return;
    }
    while (!filled.load()) std::this_thread::yield();
    while (!done.load()) {
      for (const uint64_t count : windows.read()) EXPECT(count >= 9 && count <= 21);
      std::this_thread::yield();
    }
  });
}

int main() {
  a_stall_is_no_reason_to_hurry();
  what_was_before_the_window_is_forgotten();
  readers_see_a_window_and_never_half_of_one();
}
