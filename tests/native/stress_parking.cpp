// No wake-up is lost: two threads hand a word back and forth, each asleep until the other has changed it, and a stop wakes everybody.
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
      while (word.load(std::memory_order_acquire) != turn) mine.sleep_while(word, turn == 0 ? 0 : turn - 1, stop);
      word.store(turn + 1, std::memory_order_release);
      other.wake_one();
    }
  });
  EXPECT(word.load() == rounds);
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
      while (!stop.load()) place.sleep_for(1'000'000, stop);
      awake.fetch_add(1);
    }
  });
  EXPECT(awake.load() == 4);
  EXPECT(!place.somebody_guess());
}

int main() {
  hand_over(20'000);
  for (int i = 0; i < 200; ++i) stop_wakes_all();
}
