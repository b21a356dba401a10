// Ports that come and go while threads sleep for them: none is handed out twice, none is left while
// all sleep, each wakes a thread, flags wake everybody.
#include <memory>

#include "ready_flag.hpp"
#include "ready_ports.hpp"
#include "stress.hpp"

using namespace millrace;

// One thread at a time executes a port, whoever has its consumer flag; its count is not atomic, so
// that ThreadSanitizer sees who does not.
struct Port {
  static constexpr size_t STRIDE = 2 * CACHE_LINE, CAPACITY = 4;

  Port() { ring.init(memory, CAPACITY, STRIDE); }
  uint64_t drain(uint64_t most) {
    uint64_t done = 0;
    Tuple* first;
    while (done < most && ring.front(1, &first) > 0) {
      ++executed;
      ring.release(1);
      ++done;
    }
    return done;
  }

  alignas(CACHE_LINE) char memory[CAPACITY * STRIDE];
  SpscRing ring;
  TryFlag producing, consuming;
  ReadyFlag ready;
  uint64_t executed = 0;
};

// Producers send `rounds` tuples each, and drain the queues that they find full; others drain now
// and then what is not theirs, as a split does while its merge waits; scheduler threads take ports
// from the list, sleep when there is none, and let a port stay on it for a turn now and then. If a
// tuple were left lying, or a wake-up lost, the program would not end.
static void nothing_is_left_lying(uint32_t count, int producers, int consumers, uint64_t rounds) {
  ReadyPorts list(count);
  std::unique_ptr<Port[]> ports(new Port[count]);
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stop{false};
  const std::atomic<uint64_t> suspended{0};
  const uint64_t total = rounds * static_cast<uint64_t>(producers);
  const auto put_on_list = [&](uint32_t port) {
    list.push(port);
    list.wake_one();
  };
  const auto account = [&](uint64_t tuples) {
    if (done.fetch_add(tuples) + tuples == total) {
      stop.store(true);
      list.wake_all();
    }
  };
  const auto help = [&](uint32_t index) {
    Port& port = ports[index];
    if (port.ring.size_guess() == 0 || !port.consuming.try_lock()) return false;
    const uint64_t tuples = port.drain(2);
    if (port.ready.release(port.ring, port.consuming)) put_on_list(index);
    account(tuples);
    return true;
  };
  const auto produce = [&](uint64_t seed) {
    alignas(CACHE_LINE) char tuple[Port::STRIDE] = {};
    uint32_t unannounced = count;
    const auto announce = [&] {
      if (unannounced < count && ports[unannounced].ready.set()) put_on_list(unannounced);
      unannounced = count;
    };
    for (uint64_t i = 0; i < rounds;) {
      const uint32_t index = static_cast<uint32_t>((i * 7 + seed) % count);
      Port& port = ports[index];
      bool pushed = false;
      if (port.producing.try_lock()) {
        pushed = port.ring.push(reinterpret_cast<Tuple*>(tuple), 1, Port::STRIDE, 0) == 1;
        port.producing.unlock();
      }
      if (!pushed) {
        announce();
        if (!help(index)) std::this_thread::yield();
        continue;
      }
      ++i;
      if (unannounced != index) announce();
      unannounced = index;
      if (!port.ready.seems_set()) announce();
    }
    announce();
  };
  const auto schedule = [&] {
    for (uint64_t turn = 0; !stop.load(); ++turn) {
      const uint32_t index = list.pop();
      if (index == ReadyPorts::NONE) {
        list.sleep(stop, suspended);
        continue;
      }
      Port& port = ports[index];
      if (port.consuming.try_lock()) {
        list.wake_one();
        const uint64_t tuples = port.drain(8);
        port.consuming.unlock();
        if ((tuples > 0 && turn % 4 == 0) || port.ring.size_guess() > 0) {
          list.push(index);
        } else if (port.ready.clear(port.ring, port.consuming)) {
          put_on_list(index);
        }
        account(tuples);
      } else if (port.ready.clear(port.ring, port.consuming)) {
        put_on_list(index);
      }
    }
  };
  together(producers + consumers + 1, [&](int thread) {
    if (thread < producers) return produce(static_cast<uint64_t>(thread));
    if (thread < producers + consumers) return schedule();
    for (uint64_t i = 0; i < rounds / 8; ++i) {
      help(static_cast<uint32_t>(i % count));
      std::this_thread::yield();
    }
  });
  uint64_t executed = 0;
  for (uint32_t port = 0; port < count; ++port) executed += ports[port].executed;
  EXPECT(done.load() == total && executed == total);
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

// Only one sleeper is on its way at a time, and yet as many are woken as there are ports: each
// keeps its port until all have one.
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
