// No wake-up is lost: two threads hand a word back and forth, each asleep until the other has
// changed it; several fill one queue, all asleep in one place when it is full, and each who is
// woken wakes the next; and a stop wakes everybody.
#include "parking.hpp"
#include "stress.hpp"

using millrace::Parking;

static void hand_over(uint64_t rounds) {
  Parking even, odd;
  std::atomic<uint64_t> word{0};
  const std::atomic<bool> stop{false};
  together(2, [&](int side) {
    Parking& mine = side == 0 ? even : odd;
    Parking& other = side == 0 ? odd : even;
    for (uint64_t turn = side; turn < rounds; turn += 2) {
      while (word.load(std::memory_order_acquire) != turn)
        mine.sleep_while(word, turn == 0 ? 0 : turn - 1, stop);
      word.store(turn + 1, std::memory_order_release);
      other.wake_one();
    }
  });
  EXPECT(word.load() == rounds);
}

static void fill(int producers, uint64_t each) {
  constexpr uint64_t CAPACITY = 2;  // so few that most of them sleep most of the time
  Parking room, arrivals;
  std::atomic<uint64_t> head{0}, tail{0};
  const std::atomic<bool> stop{false};
  together(producers + 1, [&](int thread) {
    if (thread == 0) {
      while (head.load(std::memory_order_relaxed) < each * static_cast<uint64_t>(producers)) {
        const uint64_t seen = tail.load(std::memory_order_acquire);
        if (seen != head.load(std::memory_order_relaxed)) {
          head.store(seen, std::memory_order_release);
          continue;
        }
        room.wake_one();
        arrivals.sleep_while(tail, seen, stop);
      }
      return;
    }
    for (uint64_t pushed = 0; pushed < each;) {
      const uint64_t seen = head.load(std::memory_order_acquire);
      uint64_t place = tail.load(std::memory_order_relaxed);
      if (place - seen >= CAPACITY) {
        arrivals.wake_one();
        room.sleep_while(head, seen, stop);
        continue;
      }
      if (!tail.compare_exchange_weak(place, place + 1, std::memory_order_acq_rel)) continue;
      ++pushed;
      if (place + 1 - head.load(std::memory_order_relaxed) < CAPACITY && room.somebody_guess())
        room.wake_one();
      arrivals.wake_one();
    }
    room.wake_one();  // what was left to it, it leaves to the next
  });
  EXPECT(tail.load() == each * static_cast<uint64_t>(producers));
  EXPECT(!room.somebody_guess() && !arrivals.somebody_guess());
}

static void stop_wakes_all() {
  Parking place;
  const std::atomic<uint64_t> word{0};
  std::atomic<bool> stop{false};
  std::atomic<int> awake{0};
  together(5, [&](int thread) {
    if (thread == 0) {
      std::this_thread::yield();
      stop.store(true);
      place.wake_all();
    } else if (thread < 3) {
      place.sleep_while(word, 0, stop);
      awake.fetch_add(1);
    } else {
      while (!stop.load())
        place.sleep_for(600'000'000'000,
                        stop);  // a lost wake-up shows: it outlasts the program's time
      awake.fetch_add(1);
    }
  });
  EXPECT(awake.load() == 4);
  EXPECT(!place.somebody_guess());
}

int main() {
  hand_over(20'000);
  fill(4, 20'000);
  for (int i = 0; i < 200; ++i) stop_wakes_all();
}
