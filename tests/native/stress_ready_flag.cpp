// A port is never left to nobody (READY): a holder lets go of it while a producer sends to it and
// then, as a scheduler thread, takes it from the list. Round by round, since whoever came later
// would find a tuple that was lost.
//
// The same rounds with a plain store and a plain look in the place of ReadyFlag::release() say
// whether this machine would show the loss, and how often. That number is printed, and promises
// nothing: it takes two CPUs. Under ThreadSanitizer there are none, since instrumented stores
// hardly ever wait in a store buffer.
#include <vector>

#include "pinned.hpp"
#include "ready_flag.hpp"
#include "stress.hpp"

using namespace millrace;

namespace {

constexpr size_t STRIDE = 2 * CACHE_LINE, CAPACITY = 16;
constexpr uint64_t QUEUED =
    // tuples that the holder executes: the stores before its last one go to lines that the
    // producer's core has
    8;
constexpr uint64_t ROUNDS = THREADS_SANITIZED ? 20'000 : 200'000;
// As many rounds as there is time for
constexpr int64_t LONGEST_NS = THREADS_SANITIZED ? 1'000'000'000 : 5'000'000'000;

void spin_for(uint64_t pauses) {
  for (uint64_t i = 0; i < pauses; ++i) pause_core();
}

struct Port {
  alignas(CACHE_LINE) SpscRing ring;
  alignas(CACHE_LINE) TryFlag consuming;
  alignas(CACHE_LINE) ReadyFlag ready;
  alignas(CACHE_LINE) uint64_t executed = 0;  // the consumer flag alone keeps it whole

  void push(uint64_t count) {
    alignas(CACHE_LINE) char memory[STRIDE] = {};
    for (uint64_t i = 0; i < count; ++i)
      EXPECT(ring.push(reinterpret_cast<Tuple*>(memory), 1, STRIDE, 0) == 1);
  }
  void drain() {
    Tuple* first;
    while (const size_t count = ring.front(CAPACITY, &first)) {
      for (size_t i = 0; i < count; ++i) slot(first, STRIDE, i)->value += 1.0;
      ring.release(count);
      executed += count;
    }
  }
};

struct Found {
  uint64_t rounds = 0;
  uint64_t lost =
      // rounds that left a tuple in the queue of a port that is on no list and in nobody's hands
      0;
};

template <class Release>
Found play(const int* cpus, Release release) {
  Port port;
  std::vector<char> memory(CAPACITY * STRIDE);
  port.ring.init(memory.data(), CAPACITY, STRIDE);
  Meeting meeting(2);
  Found found;
  bool goes_on = true, back_by_holder = false;
  const int64_t until = now_ns() + LONGEST_NS;
  const auto holder = [&](uint64_t delay) {
    if (delay % 2 == 0) spin_for(delay);
    port.drain();
    back_by_holder = release(port);
  };
  const auto producer = [&](uint64_t delay) {
    if (delay % 2 == 1) spin_for(delay);
    port.push(1);
    EXPECT(!port.ready.set());
    if (port.consuming.try_lock()) {  // taken from the list
      port.drain();
      port.consuming.unlock();
    }
    return port.ready.clear(port.ring, port.consuming);
  };
  EXPECT(together(cpus, 2, [&](int thread) {
           for (uint64_t round = 0;; ++round) {
             const uint64_t delay = (round * 0x9E3779B97F4A7C15) >> 59;
             if (thread == 0) {
               meeting.arrive();
               if (!goes_on) return;
               holder(delay);
               meeting.arrive();
               continue;
             }
             port.push(QUEUED);
             EXPECT(port.ready.set());           // and so it is on the list
             EXPECT(port.consuming.try_lock());  // for the other thread
             goes_on = round < ROUNDS && now_ns() < until;
             meeting.arrive();
             if (!goes_on) return;
             const bool back = producer(delay);
             meeting.arrive();
             EXPECT(!(back && back_by_holder));
             ++found.rounds;
             if (port.ring.size_guess() > 0) {
               found.lost += !back && !back_by_holder;
               EXPECT(port.consuming.try_lock());
               port.drain();
               port.consuming.unlock();
             }
             port.ready.clear(port.ring, port.consuming);
             EXPECT(port.executed == (round + 1) * (QUEUED + 1));
           }
         }) == 0);
  return found;
}

void tell(const char* how, const Found& found) {
  std::printf("stress: %llu of %llu rounds lost a tuple %s\n",
              static_cast<unsigned long long>(found.lost),
              static_cast<unsigned long long>(found.rounds), how);
  std::fflush(stdout);
}

}  // namespace

int main() {
  cpu_set_t allowed;
  EXPECT(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int cpus[2], count = 0;
  for (int cpu = 0; count < 2;
       cpu = (cpu + 1) % CPU_SETSIZE) {  // the same one twice if it is alone
    if (CPU_ISSET(cpu, &allowed)) cpus[count++] = cpu;
  }
  const Found shipped =
      play(cpus, [](Port& port) { return port.ready.release(port.ring, port.consuming); });
  tell("as shipped", shipped);
  if (!THREADS_SANITIZED) {
    tell("with a plain store", play(cpus, [](Port& port) {
           port.consuming.unlock();
           return port.ring.size_guess() > 0 && !port.consuming.held() && port.ready.set();
         }));
  }
  EXPECT(shipped.rounds > 0 && shipped.lost == 0);
}
