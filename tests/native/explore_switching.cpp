// Queues that come and go while tuples flow (switching.hpp, and what it uses of submit.hpp and
// dynamic.hpp), in many interleavings. The invariants are those of switched_port.hpp.
#include "explored_path.hpp"
#include "switched_port.hpp"

using explore::world;

namespace {

struct Checks {
  using Owned = explore::Owned;
  template <class T>
  class Seen {  // no step: the threads are not seen to look at it
   public:
    Seen(T value) : value_(value) {}  // NOLINT: as std::atomic
    T load() const { return value_; }
    void store(T value) { value_ = value; }

   private:
    T value_;
  };
};
using Case = switched::SwitchedPort<explore::PathPlatform, Checks>;

enum Act : uint32_t { WANT, SUSPEND, CUT_SHORT };

// `acts`: of the controlling thread, each one of the first so many of Act.
void scenario(const switched::Sizes& sizes, uint32_t changes, uint32_t acts) {
  auto of = std::make_shared<Case>(sizes);
  for (uint32_t i = 0; i < sizes.producers; ++i)
    world.spawn("producer " + std::to_string(i), [c = of.get(), i] { c->produce(i); });
  world.spawn("scheduler", [c = of.get()] { c->schedule(); });
  world.spawn("control", [c = of.get(), changes, acts] {
    bool suspended = false;
    for (uint32_t i = 0; i < changes; ++i) {
      switch (acts == 1 ? WANT : world.any(acts)) {
        case WANT:
          c->want_other();
          break;
        case SUSPEND:
          suspended = !suspended;
          c->suspend(suspended);
          break;
        case CUT_SHORT:
          c->cut_short();
          break;
      }
    }
    if (suspended) c->suspend(false);
  });
  world.at_end([of] { of->check(); });
}

}  // namespace

int main(int argc, char** argv) {
  return explore::main_of(
      argc, argv,
      {
          {"one-producer", [] { scenario({.capacity = 1}, 2, 1); }},
          {"with-punctuation",
           [] { scenario({.mark_every = 2, .capacity = 1, .begins_called = true}, 2, 1); }},
          {"shortcut-of-the-sender", [] { scenario({.begins_called = true}, 1, 1); }},
          {"shortcut-of-the-way",
           [] { scenario({.only_way = false, .begins_called = true}, 1, 1); }},
          {"suspended", [] { scenario({}, 2, 2); }, {.surprises = 1}},
          {"cut-short", [] { scenario({.tuples = 2, .capacity = 1}, 2, 3); }, {.surprises = 1}},
          {"two-producers",
           [] { scenario({.producers = 2, .tuples = 1, .capacity = 1}, 1, 1); },
           {.surprises = 1}},
          {"two-change-their-mind",
           [] { scenario({.producers = 2, .tuples = 2, .capacity = 1}, 2, 1); },
           {.surprises = 1}},
          {"two-begin-called",
           [] {
             scenario({.producers = 2, .tuples = 1, .capacity = 1, .begins_called = true}, 1, 1);
           },
           {.surprises = 1}},
          {"two-cut-short",
           [] { scenario({.producers = 2, .tuples = 1, .capacity = 1}, 2, 3); },
           {.surprises = 1}},
      });
}
