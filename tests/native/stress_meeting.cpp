// Threads that meet see what the others did before, none leaves early, and one that may not be
// pinned keeps nobody waiting.
#include <cstdint>

#include "pinned.hpp"
#include "stress.hpp"

int main() {
  constexpr int THREADS = 4;
  constexpr uint64_t ROUNDS = 300;
  cpu_set_t allowed;
  EXPECT(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int cpus[THREADS], found = 0;
  for (int cpu = 0; found < THREADS;
       cpu = (cpu + 1) % CPU_SETSIZE) {  // round and round: they share CPUs where there are few
    if (CPU_ISSET(cpu, &allowed)) cpus[found++] = cpu;
  }
  millrace::Meeting meeting(THREADS);
  uint64_t counts[THREADS] = {};  // not atomic: the meeting alone keeps them whole
  EXPECT(millrace::together(cpus, THREADS, [&](int i) {
           for (uint64_t round = 1; round <= ROUNDS; ++round) {
             ++counts[i];
             meeting.arrive();
             for (const uint64_t count : counts) EXPECT(count == round);
             meeting.arrive();
           }
         }) == 0);
  std::atomic<int> ran{0};
  cpus[1] = CPU_SETSIZE - 1;
  if (!CPU_ISSET(cpus[1], &allowed))
    EXPECT(millrace::together(cpus, THREADS, [&](int) { ran.fetch_add(1); }) == EINVAL);
  EXPECT(millrace::together(cpus, 0, [&](int) { ran.fetch_add(1); }) == EINVAL);
  EXPECT(ran.load() == 0);
}
