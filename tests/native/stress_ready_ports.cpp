// Ports that come and go while threads sleep for them: none is handed out twice, none is left while all sleep, each wakes a thread, flags wake everybody.
#include <memory>

#include "ready_ports.hpp"
#include "stress.hpp"

using namespace millrace;

// Producers make each port ready `rounds` times by the exchange READY of dynamic.pyx; consumers sleep when there is none. If a wake-up were lost
// the program would not end.
static void nothing_is_left_lying(uint32_t ports, int producers, int consumers, uint64_t rounds) {
  ReadyPorts ready(ports);
  std::unique_ptr<std::atomic<uint32_t>[]> listed(new std::atomic<uint32_t>[ports]());
  std::unique_ptr<std::atomic<uint64_t>[]> work(new std::atomic<uint64_t>[ports]());
  std::unique_ptr<std::atomic<int>[]> holders(new std::atomic<int>[ports]());
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stop{false};
  const std::atomic<uint64_t> suspended{0};
  const uint64_t total = rounds * static_cast<uint64_t>(producers);
  together(producers + consumers, [&](int thread) {
    if (thread < producers) {
      for (uint64_t i = 0; i < rounds; ++i) {
        const uint32_t port = static_cast<uint32_t>((i * 7 + static_cast<uint64_t>(thread)) % ports);
        work[port].fetch_add(1, std::memory_order_release);
        if (listed[port].exchange(1, std::memory_order_acq_rel) == 0) {
          ready.push(port);
          ready.wake_one();
        }
      }
      return;
    }
    while (!stop.load()) {
      const uint32_t port = ready.pop();
      if (port == ReadyPorts::NONE) {
        ready.sleep(stop, suspended);
        continue;
      }
      EXPECT(holders[port].fetch_add(1) == 0);
      uint64_t taken = work[port].exchange(0, std::memory_order_acquire);
      EXPECT(holders[port].fetch_sub(1) == 1);
      listed[port].exchange(0, std::memory_order_acq_rel);
      if (work[port].load(std::memory_order_acquire) > 0 && listed[port].exchange(1, std::memory_order_acq_rel) == 0) ready.push(port);
      if (done.fetch_add(taken) + taken == total) {
        stop.store(true);
        ready.wake_all();
      }
    }
  });
  EXPECT(done.load() == total);
}

static void a_suspended_thread_is_woken_by_its_flag() {
  ReadyPorts ready(1);
  const std::atomic<bool> stop{false};
  std::atomic<uint64_t> suspended{0};
  together(3, [&](int thread) {
    if (thread > 0) {
      ready.sleep(stop, suspended);
    } else {
      std::this_thread::yield();
      suspended.store(1);
      ready.wake_all();
    }
  });
}

// Only one sleeper is on its way at a time, and yet as many are woken as there are ports: each keeps its port until all have one.
static void a_burst_of_ports_wakes_a_thread_for_each(uint32_t threads, uint32_t rounds) {
  ReadyPorts ready(threads);
  const std::atomic<bool> stop{false};
  const std::atomic<uint64_t> suspended{0};
  std::atomic<uint32_t> held{0};
  together(static_cast<int>(threads) + 1, [&](int thread) {
    for (uint32_t round = 1; round <= rounds; ++round) {
      if (thread == 0) {
        for (uint32_t port = 0; port < threads; ++port) {
          ready.push(port);
          ready.wake_one();
        }
      } else {
        while (ready.pop() == ReadyPorts::NONE) ready.sleep(stop, suspended);
        ready.wake_one();
        held.fetch_add(1);
      }
      while (held.load() < threads * round) std::this_thread::yield();
    }
  });
}

int main() {
  nothing_is_left_lying(1, 2, 3, 20'000);
  nothing_is_left_lying(5, 2, 3, 20'000);
  nothing_is_left_lying(200, 1, 4, 20'000);
  a_burst_of_ports_wakes_a_thread_for_each(2, 2'000);
  a_burst_of_ports_wakes_a_thread_for_each(8, 1'000);
  for (int i = 0; i < 200; ++i) a_suspended_thread_is_woken_by_its_flag();
}
