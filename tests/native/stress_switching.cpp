// The handover between queue and call (harness/runtime/native/switching.hpp), with the runtime's
// ring, flag and modes: the operator's state has no atomics, so ThreadSanitizer sees it if an edge
// is missing; tuples of a producer come once and in order.
#include <mutex>
#include <vector>

#include "state.hpp"
#include "stress.hpp"

using namespace millrace;

namespace {

constexpr size_t STRIDE = 2 * CACHE_LINE, CAPACITY = 2;

struct Handover {
  explicit Handover(int producers)
      : memory(CAPACITY * STRIDE), expected(static_cast<size_t>(producers)), shared(producers > 1) {
    ring.init(memory.data(), CAPACITY, STRIDE);
  }

  void execute(const Tuple* tuple) {  // path: who sent it
    EXPECT(tuple->sequence == expected[tuple->path]);
    ++expected[tuple->path];
    ++executed;
  }
  void drain(uint64_t most) {
    Tuple* first;
    for (uint64_t done = 0; done < most && ring.front(1, &first) > 0; ++done) {
      execute(first);
      ring.release(1);
    }
  }
  bool help(uint64_t most) {  // a scheduler thread, or a producer before a full queue
    if (!consuming.try_lock()) return false;
    drain(most);
    consuming.unlock();  // HANDOVER
    return true;
  }

  uint32_t switch_off() {
    while (shared && !producing.try_lock()) std::this_thread::yield();
    while (!consuming.try_lock()) std::this_thread::yield();  // HANDOVER
    drain(UINT64_MAX);
    EXPECT(ring.size_guess() == 0);
    const uint32_t now = mode.fetch_or(NOW_CALLED, std::memory_order_acq_rel) | NOW_CALLED;
    consuming.unlock();
    if (shared) producing.unlock();
    return now;
  }
  void shorten() {
    if (shared) return;
    shortcut.store(true, std::memory_order_seq_cst);  // SHORTCUT
    if (!(mode.load(std::memory_order_seq_cst) & WANTED_CALLED))
      shortcut.store(false, std::memory_order_seq_cst);
  }
  bool call_instead(const Tuple* tuple) {
    std::unique_lock<std::mutex> lock(call_lock, std::defer_lock);
    if (shared) lock.lock();  // CALL_LOCK
    uint32_t now = mode.load(std::memory_order_acquire);
    if (now == CLOSING) {
      now = switch_off();
    } else if (now == OPENING) {
      shortcut.store(false, std::memory_order_seq_cst);
      now =
          mode.fetch_and(~uint32_t{NOW_CALLED}, std::memory_order_acq_rel) & ~uint32_t{NOW_CALLED};
    }
    if (!(now & NOW_CALLED)) return false;
    shorten();
    execute(tuple);
    return true;
  }
  void send(Tuple* tuple) {
    if (shortcut.load(std::memory_order_relaxed) && tuple->sequence % 10 != 0)
      return execute(tuple);  // every tenth goes as punctuation does
    for (;;) {
      if (mode.load(std::memory_order_acquire) != QUEUED && call_instead(tuple)) return;
      if (!shared || producing.try_lock()) {
        const bool late = shared && mode.load(std::memory_order_acquire) & NOW_CALLED;
        const bool pushed = !late && ring.push(tuple, 1, STRIDE, 0) == 1;
        if (shared) producing.unlock();
        if (pushed) return;
        if (late) continue;
      }
      if (!help(1)) std::this_thread::yield();
    }
  }
  void want(bool called) {
    if (called) {
      mode.fetch_or(WANTED_CALLED, std::memory_order_seq_cst);
    } else {
      mode.fetch_and(~uint32_t{WANTED_CALLED}, std::memory_order_seq_cst);
      shortcut.store(false, std::memory_order_seq_cst);  // SHORTCUT
    }
  }

  std::vector<char> memory;
  SpscRing ring;
  TryFlag producing, consuming;
  std::mutex call_lock;
  std::atomic<uint32_t> mode{QUEUED};
  std::atomic<bool> shortcut{false};
  std::vector<uint64_t> expected;  // the operator's: whoever executes it is alone with it
  uint64_t executed = 0;
  const bool shared;
};

void switched(int producers, uint64_t tuples) {
  Handover port(producers);
  std::atomic<int> sending{producers};
  together(producers + 2, [&](int thread) {
    if (thread < producers) {
      std::vector<char> room(STRIDE);
      Tuple* tuple = reinterpret_cast<Tuple*>(room.data());
      for (uint64_t sent = 0; sent < tuples; ++sent) {
        tuple->sequence = sent;
        tuple->path = static_cast<uint32_t>(thread);
        port.send(tuple);
      }
      sending.fetch_sub(1);
    } else if (thread == producers) {  // a scheduler thread
      while (sending.load() > 0 || port.ring.size_guess() > 0) {
        if (port.ring.size_guess() == 0 || !port.help(32)) std::this_thread::yield();
      }
    } else {  // the controlling thread
      for (bool called = true; sending.load() > 0; called = !called) {
        port.want(called);
        std::this_thread::yield();
      }
    }
  });
  EXPECT(port.executed == tuples * static_cast<uint64_t>(producers));
}

}  // namespace

int main() {
  switched(1, 100'000);
  switched(2, 30'000);
  switched(4, 10'000);
}
