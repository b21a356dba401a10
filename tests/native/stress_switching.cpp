// Queues that come and go while tuples flow (switching.hpp, and what it uses of submit.hpp and
// dynamic.hpp) on real threads: the operator's state has no atomics, so ThreadSanitizer sees it if
// an edge is missing. The invariants are those of switched_port.hpp.
#include "run_path.hpp"
#include "stress.hpp"
#include "switched_port.hpp"

using namespace millrace;

namespace {

struct Checks {
  struct Owned {  // the sanitizer watches what it stands for
    void touch() {}
  };
  template <class T>
  using Seen = std::atomic<T>;
};
using Case = switched::SwitchedPort<RunPlatform, Checks>;

// Every third wish is taken back at once, and every third is given time.
// On a machine with other things to do a switch takes long, so that fewer have to do.
void switched_under_load(switched::Sizes sizes, uint64_t switches, bool cut_short) {
  const int64_t end = now_ns() + 500'000'000;
  sizes.tuples = UINT64_MAX;
  Case port(sizes);
  const auto producers = static_cast<int>(sizes.producers);
  together(producers + 2, [&](int thread) {
    if (thread < producers) {
      port.produce(static_cast<uint32_t>(thread));
    } else if (thread == producers) {
      port.schedule();
    } else {
      bool suspended = false;
      while (port.switches() < (now_ns() < end ? switches : 20)) {
        const uint64_t before = port.switches();
        port.want_other();
        // A wish that was taken back just in time changes nothing
        for (int i = 0; i < 100 && port.switches() == before; ++i) std::this_thread::yield();
        for (int wish = 0; wish < 2; ++wish) port.want_other();
        if (before % 16 == 0) port.suspend(suspended = !suspended);
      }
      if (suspended) port.suspend(false);
      cut_short ? port.cut_short() : port.finish();
    }
  });
  port.check();
}

}  // namespace

int main() {
  for (const bool cut_short : {false, true}) {
    switched_under_load({.mark_every = 10}, 5'000, cut_short);
    switched_under_load({.only_way = false}, 5'000, cut_short);
    switched_under_load({.producers = 2, .mark_every = 10}, 2'000, cut_short);
    switched_under_load({.producers = 4, .mark_every = 10}, 1'000, cut_short);
  }
}
