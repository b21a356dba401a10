// explore.hpp - a platform on which the runtime's own headers are executed in many interleavings,
// one after the other: virtual threads on fibres, of which one runs at a time, and every access to
// a word, lock or signal is a choice.
//
// Memory is that of C++20. Each word keeps all values that it had. A load may return an old one
// unless the thread has seen a newer one: by itself, by an acquire load of what a release store
// published, or by a seq_cst fence or access. Memory that a thread owns for a while (Owned, fibres)
// is checked for races by vector clocks. Left out: values enter a word's history in the order in
// which stores are executed, so there is no load buffering; a read-modify-write reads the newest
// value, also where it fails; a weak one never fails without a cause.
//
// A *surprise* is a thread that is interrupted although it could go on, or a load of an old value.
// All runs with up to `surprises` of them are executed, those with few first (iterative context
// bounding: Musuvathi and Qadeer, PLDI 2007). A run that comes to a state from which all has been
// tried is given up: states are told apart by which event saw which. Words that one thread alone
// touches, or that nobody changes, are no place for an interruption. Beyond the bound: random runs
// with priorities that change at a few random steps (PCT: Burckhardt et al., ASPLOS 2010).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "fibre.hpp"

#define EXPECT(condition)                                          \
  do {                                                             \
    if (!(condition)) explore::world.fail("expected " #condition); \
  } while (false)

namespace explore {

using Order = std::memory_order;
using Where = std::source_location;

inline constexpr uint32_t MOST_THREADS = 8;
inline constexpr size_t STACK_BYTES = 64 << 10;

inline uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15 + (a << 6) + (a >> 2))) * 0xD6E8FEB86659FD93;
  return (x ^ (x >> 32)) * 0xD6E8FEB86659FD93;
}
inline bool acquires(Order order) {
  return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}
inline bool releases(Order order) {
  return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}

// What a thread knows: of each word the newest value that it must see, of each thread how far it is
// ordered before.
struct Knowledge {
  std::vector<uint32_t> seen;
  std::array<uint32_t, MOST_THREADS> clock{};

  uint32_t of(uint32_t word) const { return word < seen.size() ? seen[word] : 0; }
  void see(uint32_t word, uint32_t index) {
    if (word >= seen.size()) seen.resize(word + 1);
    seen[word] = std::max(seen[word], index);
  }
  void add(const Knowledge& other) {
    if (other.seen.size() > seen.size()) seen.resize(other.seen.size());
    for (size_t i = 0; i < other.seen.size(); ++i) seen[i] = std::max(seen[i], other.seen[i]);
    for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
  }
  void clear() {
    seen.clear();
    clock = {};
  }
};

class World {
 public:
  static constexpr int64_t NEVER = INT64_MAX;
  struct Bounds {
    uint32_t surprises = 2;
    uint64_t executions = 2'000'000;
    uint32_t steps = 5'000;
  };

  // -- for scenarios: before the threads run

  void spawn(std::string name, std::function<void()> body) {
    Thread& thread = threads_[count_];
    thread.name = std::move(name);
    thread.body = std::move(body);
    thread.fibre.begin(stacks_.stack(count_++), stacks_.bytes(), enter, &thread);
  }
  void at_end(std::function<void()> check) { checks_.push_back(std::move(check)); }

  [[noreturn]] void fail(const std::string& what) {
    std::printf("failure: %s\n", what.c_str());
    for (const Event& event : events_) {
      std::string_view file = event.where.file_name();
      file = file.substr(file.rfind('/') + 1);
      std::printf("  %-12s %-10s", threads_[event.thread].name.c_str(), event.what);
      if (event.word != NONE)
        std::printf(" word %-3u = %-6lld%s", event.word, static_cast<long long>(event.value),
                    event.age == 0 ? "   " : "old");
      std::printf("  %.*s:%u\n", static_cast<int>(file.size()), file.data(), event.where.line());
    }
    std::printf("replay:");
    for (const Choice& choice : choices_)
      if (choice.taken != 0) std::printf(" %u:%u", choice.moment, choice.taken);
    std::printf("\n");
    std::fflush(stdout);
    std::_Exit(1);
  }

  // -- for words

  uint32_t begin_word(uint64_t value) {
    if (words_used_ == words_.size()) words_.emplace_back();
    Word& word = words_[words_used_];
    word.stores.clear();
    word.newest_of_all = 0;
    word.early = !running_;
    const uint64_t hash = mixed(self().hash, words_used_);
    if (running_) self().hash = hash;
    word.stores.push_back({value, hash, message()});
    messages_[word.stores[0].message].add(self().knows);
    return words_used_++;
  }
  uint64_t load(uint32_t id, Order order, Where where) {
    step(id, false);
    Word& word = words_[id];
    Thread& thread = self();
    uint32_t oldest = thread.knows.of(id);
    if (order == Order::seq_cst) oldest = std::max(oldest, word.newest_of_all);
    const auto newest = static_cast<uint32_t>(word.stores.size() - 1);
    const uint32_t index = newest - (running_ && newest > oldest ? age(newest - oldest) : 0);
    read(thread, word, id, index, order);
    note(order == Order::relaxed ? "load" : "load acq", id, word.stores[index].value, where,
         newest - index);
    return word.stores[index].value;
  }
  void store(uint32_t id, uint64_t value, Order order, Where where) {
    step(id, true);
    write(words_[id], id, value, order, NONE);
    note(order == Order::relaxed ? "store" : "store rel", id, value, where);
  }
  // `change(value, &result)`: whether it changes it, and to what.
  template <class Change>
  uint64_t exchange(uint32_t id, Change change, Order order, Order order_of_failure, Where where) {
    step(id, true);
    Word& word = words_[id];
    const auto newest = static_cast<uint32_t>(word.stores.size() - 1);
    const uint64_t before = word.stores[newest].value;
    uint64_t after = before;
    const bool changes = change(before, &after);
    read(self(), word, id, newest, changes ? order : order_of_failure);
    if (changes) write(word, id, after, order, word.stores[newest].message);
    note(changes ? "exchange" : "compare", id, after, where);
    return before;
  }
  void fence(Where where) {
    step(NONE, true);
    Thread& thread = self();
    thread.knows.add(thread.relaxed);
    Knowledge joint =
        thread.knows;  // clocks are not passed on: a fence alone orders no other memory
    for (uint32_t word = 0; word < words_used_; ++word) {
      joint.see(word, words_[word].newest_of_all);
      words_[word].newest_of_all = joint.of(word);
    }
    thread.knows.seen = joint.seen;
    thread.released = thread.knows;
    in_one_order(thread);
    note("fence", NONE, 0, where);
  }

  // -- for locks and sleep

  struct Mutex {
    bool held = false;
    uint64_t hash = 0;
    Knowledge knows;
  };
  void lock(Mutex& mutex, Where where) {
    step(NONE, true);
    take(mutex, where);
  }
  bool try_lock(Mutex& mutex, Where where) {
    step(NONE, true);
    if (!mutex.held) {
      take(mutex, where);
      return true;
    }
    self().hash = mixed(self().hash, mutex.hash);
    note("try lock", NONE, 0, where);
    return false;
  }
  void unlock(Mutex& mutex) {
    if (!mutex.held) fail("a lock is given back that nobody holds");
    mutex.held = false;
    mutex.knows = self().knows;
    self().knows.clock[current_]++;
    mutex.hash = self().hash = mixed(self().hash, 3);
  }
  // Sleeps until woken there, or until `time_ns`; the mutex is given back meanwhile.
  void sleep(const void* place, Mutex* mutex, int64_t time_ns, Where where) {
    note("sleep", NONE, 0, where);
    if (mutex != nullptr) unlock(*mutex);
    Thread& thread = self();
    thread.sleeps_at = place;
    thread.until_ns = time_ns;
    thread.where = where;
    choose(false);
    thread.sleeps_at = nullptr;
    if (mutex != nullptr) take(*mutex, where);
  }
  void wake(const void* place, bool all, Where where) {
    step(NONE, true);
    note(all ? "wake all" : "wake one", NONE, 0, where);
    std::vector<uint32_t>& there = options_;
    there.clear();
    for (uint32_t i = 1; i < count_; ++i)
      if (threads_[i].sleeps_at == place && !threads_[i].done) there.push_back(i);
    if (there.empty()) return;
    if (!all) there = {there[pick(static_cast<uint32_t>(there.size()), 0, OTHER)]};
    for (const uint32_t i : there) {
      threads_[i].sleeps_at = nullptr;
      threads_[i].hash = mixed(threads_[i].hash, self().hash);
    }
    self().hash = mixed(self().hash, 5);
  }
  // As futex(2): sleeps if the word has this value now.
  void sleep_on(const void* place, uint32_t id, uint64_t value, int64_t most_ns, Where where) {
    step(NONE, true);
    const Store& newest = words_[id].stores.back();
    self().hash = mixed(self().hash, newest.hash);
    if (newest.value == value)
      sleep(place, nullptr, most_ns == NEVER ? NEVER : now_ns_ + most_ns, where);
  }
  int64_t now() const { return now_ns_; }
  // Lets every other thread take a step first, if it can.
  void yield(Where where) {
    if (!running_) return;
    note("yield", NONE, 0, where);
    uint32_t others = 0;
    for (uint32_t i = 1; i < count_; ++i)
      if (i != current_ && can_run(threads_[i])) others |= 1U << i;
    self().goes_after = others;
    for (uint32_t i = 1; i < count_; ++i) threads_[i].goes_after &= ~(1U << current_);
    ++moment_;
    choose(true);
  }
  // One of so many things that may happen: each of them is tried.
  uint32_t any(uint32_t options) {
    step(NONE, true);
    const uint32_t one = pick(options, 0, OTHER);
    self().hash = mixed(self().hash, one);
    return one;
  }

  // -- for memory that one thread at a time uses

  struct Owner {
    uint32_t thread = 0, time = 0;
    Where where{};
  };
  void own(Owner& last, Where where) {
    Thread& thread = self();
    if (running_ && thread.knows.clock[last.thread] < last.time) {
      note("touch", NONE, 0, where);
      fail("a race with what " + threads_[last.thread].name + " did at line " +
           std::to_string(last.where.line()));
    }
    last = {current_, ++thread.knows.clock[current_], where};
  }

  // -- for main

  // All runs within the bounds. Returns their number, and in `complete` whether there are no more.
  uint64_t all_runs(void (*scenario)(), const Bounds& bounds, bool* complete) {
    mode_ = SEARCH;
    bounds_ = bounds;
    uint64_t executions = 0;
    shared_.clear();
    for (uint32_t most = 0; most <= bounds.surprises;) {
      const uint64_t shared_before = shared_count_;
      visited_.clear();
      choices_.clear();
      bool more = true;
      while (more && shared_count_ == shared_before) {
        surprises_left_ = most;
        execute(scenario);
        if (*complete = ++executions < bounds.executions; !*complete) return executions;
        more = next_choices();
      }
      // Else more is shared than was known, and choices are made at more moments: from the start
      if (shared_count_ == shared_before) ++most;
    }
    return executions;
  }
  void random_runs(void (*scenario)(), const Bounds& bounds, uint64_t seed, uint64_t runs) {
    mode_ = CHANCE;
    bounds_ = bounds;
    for (uint64_t run = 0; run < runs; ++run) {
      choices_.clear();
      chance_ = mixed(seed, run) | 1;
      surprises_left_ = bounds.surprises;
      execute(scenario);
    }
  }
  // The run in which these options were taken at these moments, and else always the first.
  void replay(void (*scenario)(), const Bounds& bounds,
              const std::unordered_map<uint32_t, uint32_t>& taken) {
    mode_ = REPLAY;
    bounds_ = bounds;
    surprises_left_ = UINT32_MAX;
    choices_.clear();
    replayed_ = taken;
    execute(scenario);
  }
  World() {
    if (!stacks_.reserve(MOST_THREADS, STACK_BYTES)) std::abort();
    threads_[0].name = "main";
  }

 private:
  static constexpr uint32_t NONE = UINT32_MAX;
  enum Mode { SEARCH, CHANCE, REPLAY };
  enum Kind : uint32_t { THREAD, OTHER };

  struct Store {
    uint64_t value, hash;
    uint32_t message;  // what an acquire load learns
  };
  struct Word {
    std::vector<Store> stores;
    uint32_t newest_of_all = 0;  // in the order of seq_cst operations
    bool early = false;          // made before the threads ran: its number is the same in all runs
  };
  struct Thread {
    std::string name;
    std::function<void()> body;
    millrace::Fibre fibre;
    Knowledge knows, relaxed, released;  // by relaxed loads; at the last fence
    uint64_t hash = 0;
    bool done = false;
    const Mutex* waits_for = nullptr;
    const void* sleeps_at = nullptr;
    int64_t until_ns = NEVER;
    uint32_t goes_after = 0;  // threads, a bit each: it has yielded to them
    uint64_t priority = 0;
    Where where{};
  };
  struct Choice {
    uint32_t taken, options, moment;
  };
  struct Event {
    uint32_t thread;
    const char* what;
    uint32_t word;
    uint64_t value;
    uint32_t age;
    Where where;
  };
  struct Sharing {
    uint32_t threads = 0;
    bool written = false, shared = false;
  };

  Thread& self() { return threads_[current_]; }

  static void enter(void* argument, void*) {
    Thread& thread = *static_cast<Thread*>(argument);
    thread.fibre.arrived();
    thread.body();
    thread.done = true;
    world_of_all().choose(false);
    std::abort();
  }
  static World& world_of_all();

  // -- a run

  void execute(void (*scenario)()) {
    words_used_ = messages_used_ = steps_ = moment_ = 0;
    place_ = 0;
    current_ = 0;
    count_ = 1;
    now_ns_ = 0;
    order_hash_ = 0;
    events_.clear();
    for (Thread& thread : threads_) {
      thread.knows.clear(), thread.relaxed.clear(), thread.released.clear();
      thread.hash = static_cast<uint64_t>(&thread - threads_.data());
      thread.done = false;
      thread.waits_for = nullptr;
      thread.sleeps_at = nullptr;
      thread.until_ns = NEVER;
      thread.goes_after = 0;
    }
    scenario();
    for (uint32_t i = 1; i < count_; ++i) threads_[i].knows = threads_[0].knows;
    if (mode_ == CHANCE) begin_chance();
    running_ = true;
    given_up_ = false;
    threads_[0].done = true;
    choose(false);
    running_ = false;
    current_ = 0;
    if (!given_up_) {
      for (uint32_t i = 1; i < count_; ++i) threads_[0].knows.add(threads_[i].knows);
      for (const auto& check : checks_) check();
    }
    longest_ = std::max(longest_, steps_);
    for (Thread& thread : threads_) thread.body = nullptr;
    checks_.clear();
  }
  bool can_run(const Thread& thread) const {
    return !thread.done && thread.sleeps_at == nullptr &&
           (thread.waits_for == nullptr || !thread.waits_for->held);
  }
  // The next thread goes on from here; `stays`: the current one may, too.
  void choose(bool stays) {
    if (!stays) ++moment_;
    self().hash = mixed(self().hash, stays);
    for (;;) {
      options_.clear();
      for (uint32_t i = 1; i < count_; ++i) {
        const Thread& thread = threads_[i];
        if ((i == current_ ? stays : can_run(thread)) && (thread.goes_after & able()) == 0)
          options_.push_back(i);
      }
      if (!options_.empty()) break;
      if (able() != 0) {  // they wait for each other
        for (Thread& thread : threads_) thread.goes_after = 0;
        stays = stays || (current_ > 0 && can_run(self()));
        continue;
      }
      if (!pass_time()) break;
      stays = stays || (current_ > 0 && can_run(self()));
    }
    if (options_.empty()) {
      for (uint32_t i = 1; i < count_; ++i)
        if (!threads_[i].done) return stuck();
      return go(0);
    }
    // the current one first, else the one after it
    std::rotate(
        options_.begin(),
        std::find_if(options_.begin(), options_.end(), [&](uint32_t i) { return i >= current_; }),
        options_.end());
    const bool interrupts = options_[0] == current_;
    go(options_[pick(static_cast<uint32_t>(options_.size()), interrupts ? 1 : 0, THREAD)]);
  }
  uint32_t able() const {
    uint32_t able = 0;
    for (uint32_t i = 1; i < count_; ++i)
      if (can_run(threads_[i])) able |= 1U << i;
    return able;
  }
  void go(uint32_t next) {
    if (given_up_) next = 0;
    for (uint32_t i = 1; i < count_; ++i) threads_[i].goes_after &= ~(1U << next);
    if (next == current_) return;
    Thread& from = self();
    current_ = next;
    from.fibre.switch_to(threads_[next].fibre, nullptr);
  }
  bool pass_time() {
    int64_t next = NEVER;
    for (uint32_t i = 1; i < count_; ++i)
      if (!threads_[i].done && threads_[i].sleeps_at != nullptr)
        next = std::min(next, threads_[i].until_ns);
    if (next == NEVER) return false;
    now_ns_ = next;
    for (uint32_t i = 1; i < count_; ++i) {
      if (threads_[i].until_ns > next) continue;
      threads_[i].sleeps_at = nullptr;
      threads_[i].until_ns = NEVER;
      threads_[i].hash = mixed(threads_[i].hash, static_cast<uint64_t>(next));
    }
    return true;
  }
  void stuck() {
    std::string what = "deadlock:";
    for (uint32_t i = 1; i < count_; ++i) {
      if (threads_[i].done) continue;
      what += " " + threads_[i].name + (threads_[i].waits_for != nullptr ? " waits" : " sleeps") +
              " at line " + std::to_string(threads_[i].where.line()) + ";";
    }
    fail(what);
  }

  // Before each access. `id`: the word; NONE: a lock, a signal or a fence.
  void step(uint32_t id, bool writes) {
    if (!running_) return;
    if (++steps_ > bounds_.steps) fail("livelock: no end after so many steps");
    ++moment_;
    if (id == NONE || is_shared(id, writes)) choose(true);
  }
  bool is_shared(uint32_t id, bool writes) {
    if (!words_[id].early) return true;
    if (id >= shared_.size()) shared_.resize(id + 1);
    Sharing& word = shared_[id];
    word.threads |= 1U << current_;
    word.written = word.written || writes;
    if (!word.shared && word.written && (word.threads & (word.threads - 1)) != 0) {
      word.shared = true;
      ++shared_count_;
    }
    return word.shared;
  }
  void take(Mutex& mutex, Where where) {
    Thread& thread = self();
    if (running_ && mutex.held) {
      thread.waits_for = &mutex;
      thread.where = where;
      while (mutex.held) choose(false);
      thread.waits_for = nullptr;
    }
    mutex.held = true;
    thread.knows.add(mutex.knows);
    mutex.hash = thread.hash = mixed(thread.hash, mutex.hash);
    note("lock", NONE, 0, where);
  }

  // -- memory

  uint32_t message() {
    if (messages_used_ == messages_.size()) messages_.emplace_back();
    messages_[messages_used_].clear();
    return messages_used_++;
  }
  void read(Thread& thread, Word& word, uint32_t id, uint32_t index, Order order) {
    const Store& store = word.stores[index];
    thread.knows.see(id, index);
    (acquires(order) ? thread.knows : thread.relaxed).add(messages_[store.message]);
    thread.hash = mixed(thread.hash, store.hash);
    if (order != Order::seq_cst) return;
    word.newest_of_all = std::max(word.newest_of_all, index);
    in_one_order(thread);
  }
  // `continues`: the message of the store that a read-modify-write has read.
  void write(Word& word, uint32_t id, uint64_t value, Order order, uint32_t continues) {
    Thread& thread = self();
    const auto index = static_cast<uint32_t>(word.stores.size());
    thread.knows.see(id, index);
    const uint32_t message_of_it = message();
    Knowledge& told = messages_[message_of_it];
    told.add(releases(order) ? thread.knows : thread.released);
    if (continues != NONE) told.add(messages_[continues]);
    ++thread.knows.clock[current_];
    thread.hash = mixed(mixed(thread.hash, word.stores.back().hash), value);
    if (order == Order::seq_cst) {
      word.newest_of_all = index;
      in_one_order(thread);
    }
    word.stores.push_back({value, thread.hash, message_of_it});
  }
  void in_one_order(Thread& thread) { order_hash_ = thread.hash = mixed(thread.hash, order_hash_); }
  // Of a value that a load returns: how many newer ones there are, up to `most`.
  uint32_t age(uint32_t most) { return pick(most + 1, 1, OTHER); }

  // -- choices

  // One of so many options. All but the first are surprises, if that costs anything.
  uint32_t pick(uint32_t options, uint32_t cost, Kind kind) {
    if (!running_ || given_up_ || options == 1) return 0;
    const bool by_priority = mode_ == CHANCE && kind == THREAD;
    if (by_priority) cost = 0;
    if (cost > surprises_left_) return 0;
    uint32_t taken = 0;
    const uint32_t moment = 2 * moment_ + kind;
    if (mode_ == SEARCH && place_ < choices_.size()) {
      taken = choices_[place_].taken;
    } else {
      if (mode_ == SEARCH && been_here(kind)) {
        given_up_ = true;
        go(0);
      }
      if (by_priority) {
        taken = first_by_priority();
      } else if (mode_ == CHANCE) {
        taken = cost > 0 && drawn() % 8 != 0 ? 0 : static_cast<uint32_t>(drawn() % options);
      } else if (const auto known = replayed_.find(moment);
                 mode_ == REPLAY && known != replayed_.end()) {
        taken = std::min(known->second, options - 1);
      }
      choices_.push_back({taken, options, moment});
    }
    ++place_;
    if (taken != 0) surprises_left_ -= cost;
    return taken;
  }
  // Whether all that may follow has been tried already, with as many surprises left. All that
  // threads do follows from what each has done and seen until now, so that is what the hash is of.
  bool been_here(Kind kind) {
    uint64_t state = mixed(2 * current_ + kind, static_cast<uint64_t>(now_ns_));
    for (uint32_t i = 1; i < count_; ++i)
      state = mixed(state, mixed(threads_[i].hash, threads_[i].goes_after));
    const auto [known, fresh] = visited_.try_emplace(state, surprises_left_);
    if (!fresh && known->second >= surprises_left_) return true;
    known->second = surprises_left_;
    return false;
  }
  bool next_choices() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().options)
      choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  uint64_t drawn() {
    chance_ ^= chance_ >> 12, chance_ ^= chance_ << 25, chance_ ^= chance_ >> 27;
    return (chance_ * 0x2545F4914F6CDD1D) >> 33;
  }
  void begin_chance() {
    for (Thread& thread : threads_) thread.priority = 1'000'000 + drawn() % 1'000'000;
    changes_.clear();
    for (uint32_t i = 0; i < bounds_.surprises; ++i)
      changes_.push_back(static_cast<uint32_t>(drawn() % std::max(longest_, 50U)));
  }
  uint32_t first_by_priority() {
    const auto change = std::find(changes_.begin(), changes_.end(), steps_);
    if (change != changes_.end()) {
      self().priority = static_cast<uint64_t>(change - changes_.begin());
      *change = UINT32_MAX;
    }
    const auto highest = std::max_element(
        options_.begin(), options_.end(),
        [&](uint32_t a, uint32_t b) { return threads_[a].priority < threads_[b].priority; });
    return static_cast<uint32_t>(highest - options_.begin());
  }

  void note(const char* what, uint32_t word, uint64_t value, Where where, uint32_t age = 0) {
    if (running_) events_.push_back({current_, what, word, value, age, where});
  }

  Bounds bounds_;
  Mode mode_ = SEARCH;
  millrace::Stacks stacks_;
  std::array<Thread, MOST_THREADS> threads_;
  uint32_t count_ = 1, current_ = 0;
  bool running_ = false, given_up_ = false;
  uint32_t steps_ = 0, longest_ = 0;
  uint32_t moment_ =
      0;  // at which there may be a choice of a thread, and then one of something else
  int64_t now_ns_ = 0;
  std::vector<Word> words_;
  std::vector<Knowledge> messages_;
  uint32_t words_used_ = 0, messages_used_ = 0;
  uint64_t order_hash_ = 0;
  std::vector<std::function<void()>> checks_;
  std::vector<uint32_t> options_;
  std::vector<Event> events_;
  std::vector<Choice> choices_;
  size_t place_ = 0;
  uint32_t surprises_left_ = 0;
  std::unordered_map<uint64_t, uint32_t> visited_;  // states: surprises that were left
  std::unordered_map<uint32_t, uint32_t> replayed_;
  std::vector<Sharing> shared_;
  uint64_t shared_count_ = 0;
  uint64_t chance_ = 1;
  std::vector<uint32_t> changes_;  // steps at which a priority falls
};

inline World world;
inline World& World::world_of_all() { return world; }

// -- the platform

template <class T>
class Word {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);

 public:
  Word() : Word(T{}) {}
  Word(T value) : id_(world.begin_word(bits(value))) {}  // NOLINT: as std::atomic
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;

  T load(Order order = Order::seq_cst, Where where = Where::current()) const {
    return value(world.load(id_, order, where));
  }
  void store(T value, Order order = Order::seq_cst, Where where = Where::current()) {
    world.store(id_, bits(value), order, where);
  }
  T exchange(T to, Order order = Order::seq_cst, Where where = Where::current()) {
    return change([&](T) { return to; }, order, where);
  }
  T fetch_add(T by, Order order = Order::seq_cst, Where where = Where::current()) {
    return change([&](T was) { return static_cast<T>(was + by); }, order, where);
  }
  T fetch_sub(T by, Order order = Order::seq_cst, Where where = Where::current()) {
    return change([&](T was) { return static_cast<T>(was - by); }, order, where);
  }
  T fetch_or(T by, Order order = Order::seq_cst, Where where = Where::current()) {
    return change([&](T was) { return static_cast<T>(was | by); }, order, where);
  }
  T fetch_and(T by, Order order = Order::seq_cst, Where where = Where::current()) {
    return change([&](T was) { return static_cast<T>(was & by); }, order, where);
  }
  bool compare_exchange_strong(T& expected, T desired, Order order, Order order_of_failure,
                               Where where = Where::current()) {
    const uint64_t wanted = bits(expected);
    const uint64_t was = world.exchange(
        id_,
        [&](uint64_t before, uint64_t* after) {
          if (before != wanted) return false;
          *after = bits(desired);
          return true;
        },
        order, order_of_failure, where);
    expected = value(was);
    return was == wanted;
  }
  bool compare_exchange_weak(T& expected, T desired, Order order, Order order_of_failure,
                             Where where = Where::current()) {
    return compare_exchange_strong(expected, desired, order, order_of_failure, where);
  }
  uint32_t id() const { return id_; }

 private:
  static uint64_t bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T value(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  template <class To>
  T change(To to, Order order, Where where) {
    return value(world.exchange(
        id_,
        [&](uint64_t before, uint64_t* after) {
          *after = bits(to(value(before)));
          return true;
        },
        order, order, where));
  }

  uint32_t id_;
};

class Lock {
 public:
  void lock(Where where = Where::current()) { world.lock(mutex_, where); }
  bool try_lock(Where where = Where::current()) { return world.try_lock(mutex_, where); }
  void unlock() { world.unlock(mutex_); }

 private:
  friend class Signal;
  World::Mutex mutex_;
};

class Signal {
 public:
  void wait(Lock& lock, Where where = Where::current()) {
    world.sleep(this, &lock.mutex_, World::NEVER, where);
  }
  void wait_until(Lock& lock, int64_t time_ns, Where where = Where::current()) {
    world.sleep(this, &lock.mutex_, time_ns, where);
  }
  void wake_one(Where where = Where::current()) { world.wake(this, false, where); }
  void wake_all(Where where = Where::current()) { world.wake(this, true, where); }
};

// Memory without atomics that one thread at a time uses.
class Owned {
 public:
  void touch(Where where = Where::current()) { world.own(last_, where); }

 private:
  World::Owner last_;
};

class Fibre {
 public:
  void begin(char* stack, size_t bytes, void (*body)(void*, void*), void* argument) {
    own_.begin(stack, bytes, body, argument);
    stopped_ = true;
  }
  void* switch_to(Fibre& to, void* value, bool ends = false) {
    if (!to.stopped_) world.fail("a fibre is resumed while it is on its stack");
    to.stopped_ = false;
    stopped_ = true;
    owner_.touch();
    to.owner_.touch();
    return own_.switch_to(to.own_, value, ends);
  }
  void arrived() { own_.arrived(); }
  void adopt_thread() { own_.adopt_thread(); }

 private:
  millrace::Fibre own_;
  Owned owner_;
  bool stopped_ = false;
};

struct Platform {
  template <class T>
  using Word = explore::Word<T>;
  template <class T>
  using RareWord = explore::Word<T>;
  using Lock = explore::Lock;
  using Signal = explore::Signal;
  using Fibre = explore::Fibre;

  void fence(Where where = Where::current()) { world.fence(where); }
  int64_t now() const { return world.now(); }
  static void sleep_on(const Word<uint32_t>& word, uint32_t seen, int64_t most_ns = World::NEVER,
                       Where where = Where::current()) {
    world.sleep_on(&word, word.id(), seen, most_ns, where);
  }
  static void wake_one_on(const Word<uint32_t>& word, Where where = Where::current()) {
    world.wake(&word, false, where);
  }
};

// -- programs

// `begin` makes what the threads share, and spawns them. Their bodies keep no memory of the heap in
// what is on their stacks, since a run may be given up in the middle.
struct Scenario {
  const char* name;
  void (*begin)();
  World::Bounds bounds{};
};

// program [NAME] [--surprises N] [--executions N] [--steps N] [--random SEED RUNS] [--replay
// MOMENT:OPTION ...]
inline int main_of(int argc, char** argv, const std::vector<Scenario>& scenarios) {
  std::string only;
  uint64_t surprises = UINT64_MAX, executions = 0, steps = 0, seed = 0, random_runs = 0;
  bool replays = false;
  std::unordered_map<uint32_t, uint32_t> replayed;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (word == "--surprises") {
      surprises = number();
    } else if (word == "--executions") {
      executions = number();
    } else if (word == "--steps") {
      steps = number();
    } else if (word == "--random") {
      seed = number();
      random_runs = number();
    } else if (word == "--replay") {
      replays = true;
    } else if (uint32_t moment, option; std::sscanf(argv[i], "%u:%u", &moment, &option) == 2) {
      replayed[moment] = option;
    } else {
      only = word;
    }
  }
  bool found = false;
  for (const Scenario& scenario : scenarios) {
    if (!only.empty() && only != scenario.name) continue;
    found = true;
    std::printf("%s: ", scenario.name);
    std::fflush(stdout);
    World::Bounds bounds = scenario.bounds;
    if (surprises != UINT64_MAX) bounds.surprises = static_cast<uint32_t>(surprises);
    if (executions > 0) bounds.executions = executions;
    if (steps > 0) bounds.steps = static_cast<uint32_t>(steps);
    if (replays) {
      world.replay(scenario.begin, bounds, replayed);
      std::printf("no failure in this run\n");
    } else if (random_runs > 0) {
      world.random_runs(scenario.begin, bounds, seed, random_runs);
      std::printf("no failure in %llu random runs\n", static_cast<unsigned long long>(random_runs));
    } else {
      bool complete = false;
      const uint64_t runs = world.all_runs(scenario.begin, bounds, &complete);
      std::printf("no failure in %s %llu runs with up to %u surprises\n",
                  complete ? "all" : "the first", static_cast<unsigned long long>(runs),
                  bounds.surprises);
    }
  }
  if (!found) std::printf("explore: there is no scenario '%s'\n", only.c_str());
  return found ? 0 : 2;
}

}  // namespace explore
