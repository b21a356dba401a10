// At most one thread holds the flag, and the next holder sees what the last one did.
#include <cstdint>

#include "stress.hpp"
#include "try_flag.hpp"

int main() {
  constexpr int THREADS = 4;
  constexpr uint64_t ROUNDS = 20'000;
  millrace::TryFlag flag;
  std::atomic<int> inside{0};
  uint64_t guarded = 0;  // not atomic: the flag alone keeps it whole
  together(THREADS, [&](int) {
    for (uint64_t done = 0; done < ROUNDS;) {
      if (!flag.try_lock()) {
        std::this_thread::yield();
        continue;
      }
      EXPECT(inside.fetch_add(1) == 0);
      ++guarded;
      EXPECT(inside.fetch_sub(1) == 1);
      flag.unlock();
      ++done;
    }
  });
  EXPECT(guarded == THREADS * ROUNDS);
}
