// two_threads.cpp - one queue between two threads, each with half of the operators, which work in
// place: the yardstick of one threaded port in the middle of a pipeline.
//
//   two_threads OPERATORS COST TUPLES
//
// The first thread makes a tuple, calls its operators on it and copies it into a ring of 1,024; the
// second calls its operators on the tuple in the ring. Each side publishes its index every 32
// tuples and before it waits. Threads are pinned if there are two CPUs. Prints ns per hop, over all
// operators.
//
// Edges  PUBLISH  tail.store(release) -> tail.load(acquire)   slots before tail are filled
//        RECYCLE  head.store(release) -> head.load(acquire)   slots before head are free again
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "yardstick.hpp"

inline constexpr uint64_t SLOTS = 1024;
inline constexpr int SPINS =
    1000;  // looks before a waiting side lets others have its CPU: some microseconds, a guess

struct Ring {
  alignas(128) std::atomic<uint64_t> tail{0};  // the first thread's
  alignas(128) std::atomic<uint64_t> head{0};  // the second thread's
  alignas(128) Tuple slots[SLOTS];
};

inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `index`, the other side's, is no longer `known`; returns it.
uint64_t wait_for(const std::atomic<uint64_t>& index, uint64_t known) {
  for (int looks = 0;; ++looks) {
    const uint64_t now = index.load(std::memory_order_acquire);  // PUBLISH or RECYCLE
    if (now != known) return now;
    if (looks < SPINS)
      pause_core();
    else
      std::this_thread::yield();
  }
}

// The end of the first half: copies the tuple into the ring.
struct Enqueue : Operator {
  explicit Enqueue(Ring& ring) : ring(ring) {}
  void process(Tuple& tuple) override {
    if (count - head_seen == SLOTS) {
      publish();
      head_seen = wait_for(ring.head, head_seen);
    }
    ring.slots[count % SLOTS] = tuple;
    ++count;
    if (count % BATCH == 0) publish();
  }
  void publish() { ring.tail.store(count, std::memory_order_release); }  // PUBLISH
  Ring& ring;
  uint64_t head_seen = 0;
};

// The second thread: calls `first` on the tuples of the ring.
void dequeue(Ring& ring, Operator& first, uint64_t total) {
  uint64_t head = 0, tail_seen = 0;
  while (head < total) {
    if (head == tail_seen) {
      ring.head.store(head, std::memory_order_release);  // RECYCLE
      tail_seen = wait_for(ring.tail, tail_seen);
    }
    first.process(ring.slots[head % SLOTS]);
    ++head;
    if (head % BATCH == 0) ring.head.store(head, std::memory_order_release);  // RECYCLE
  }
}

void pin(int place) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || place-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

int main(int argc, char** argv) {
  const Options options(argc, argv);
  const auto ring = std::make_unique<Ring>();
  Enqueue enqueue(*ring);
  Sink sink(options);
  const Chain before = chain_of<Work>(options.operators / 2, options, enqueue);
  const Chain behind = chain_of<Work>(options.operators - options.operators / 2, options, sink);
  std::thread second([&] {
    pin(1);
    dequeue(*ring, *behind.front(), static_cast<uint64_t>(options.total()));
  });
  std::thread first([&] {
    pin(0);
    Operator& head = before.empty() ? static_cast<Operator&>(enqueue) : *before.front();
    Tuple tuple{};
    for (long i = 0; i < options.total(); ++i) {
      fill(tuple, i);
      head.process(tuple);
    }
    enqueue.publish();
  });
  first.join();
  second.join();
  return sink.report();
}
