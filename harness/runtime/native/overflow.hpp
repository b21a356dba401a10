// overflow.hpp - report of an operator that uses more than its co-routine's stack: the guard below
// the stack stops it, and the process ends.
//
// The signal's handler runs on a stack of the thread's own, since the co-routine's is full. It
// looks for the stack that was missed among those of all runs, under their lock: a thread that
// touches a guard does not hold that, and its holder soon gives it back. If it does not, memory is
// harmed, and the process ends without a word.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fibre.hpp"

namespace millrace {

class Overflow {
 public:
  static constexpr int EXIT_CODE = 1;  // of a run that failed

  // The second stack of a thread that executes co-routines, for as long as this lives.
  class Stack {
   public:
    Stack() noexcept {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      memory_ = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory_ == MAP_FAILED) return;  // then the system ends the process without a word
      stack_t stack{};
      stack.ss_sp = memory_;
      stack.ss_size = BYTES;
      sigaltstack(&stack, nullptr);
#endif
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    ~Stack() {
      if (memory_ == MAP_FAILED) return;
      stack_t none{};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
      munmap(memory_, BYTES);
    }

   private:
    static constexpr size_t BYTES = 64 * 1024;
    void* memory_ = MAP_FAILED;
  };

  // From now on overflows of these stacks are told, by the names of their owners; both must live
  // until they are forgotten.
  static void watch(const void* key, const Stacks& stacks, const std::vector<std::string>& names) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const std::lock_guard lock(changing());
    list().push_back({key, &stacks, &names});
    struct sigaction now{};
    now.sa_sigaction = handle;
    now.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&now.sa_mask);
    struct sigaction before{};
    sigaction(SIGSEGV, nullptr, &before);
    if (before.sa_sigaction == handle) return;
    previous() = before;
    sigaction(SIGSEGV, &now, nullptr);
#else
    (void)key, (void)stacks, (void)names;
#endif
  }
  static void forget(const void* key) {
    const std::lock_guard lock(changing());
    list().erase(std::remove_if(list().begin(), list().end(),
                                [key](const Watched& watched) { return watched.key == key; }),
                 list().end());
  }

 private:
  struct Watched {
    const void* key;
    const Stacks* stacks;
    const std::vector<std::string>* names;
  };

  static std::mutex& changing() {
    static std::mutex mutex;
    return mutex;
  }
  static std::vector<Watched>& list() {
    // never deleted: threads that were given up may outlive all else
    static auto& all = *new std::vector<Watched>;
    return all;
  }
  static struct sigaction& previous() {
    static struct sigaction before{};
    return before;
  }
  static void write_text(const char* text, size_t bytes) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, bytes);
  }

  static void explain(const void* address) {
    std::unique_lock lock(changing(), std::defer_lock);
    for (int tries = 0; !lock.try_lock(); ++tries) {
      if (tries == 10'000) return;
      sched_yield();
    }
    for (const Watched& watched : list()) {
      const size_t owner = watched.stacks->overflown(address);
      if (owner >= watched.names->size()) continue;
      char text[256];
      const int bytes = std::snprintf(
          text, sizeof text, "millrace: operator '%.100s' used more than its stack of %zu KiB\n",
          (*watched.names)[owner].c_str(), watched.stacks->bytes() / 1024);
      write_text(text, std::min(sizeof text - 1, static_cast<size_t>(bytes)));
      _exit(EXIT_CODE);
    }
  }
  static void handle(int signal, siginfo_t* about, void* context) {
    explain(about->si_addr);
    const struct sigaction& before = previous();
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, about, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else {
      std::signal(SIGSEGV, SIG_DFL);  // the access is made again, and ends the process
    }
  }
};

}  // namespace millrace
