// thread_stack.hpp - what is told if an operator uses more than the stack of its thread: the guard
// below that stops it, and the process ends.
//
// Users' code runs on threads' stacks; overflow.hpp does this for those of co-routines. Its handler
// is installed after this one, and hands on to it what it does not know. The handler runs on a part
// of the thread's stack that is kept for it, at the other end.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>

#include "state.hpp"

namespace millrace {

class ThreadStack {
 public:
  static constexpr int EXIT_CODE = 1;  // of a run that failed

  // Once, before any thread, and before overflow.hpp's.
  static void install_handler() noexcept {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct sigaction now{};
    now.sa_sigaction = handle;
    now.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&now.sa_mask);
    sigaction(SIGSEGV, &now, &previous());
#endif
  }

  ThreadStack() = default;
  ThreadStack(const ThreadStack&) = delete;
  ThreadStack& operator=(const ThreadStack&) = delete;
  ~ThreadStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (own().worker != nullptr) sigaltstack(&none, nullptr);
    own() = {};
  }
  // From now on, for as long as this lives, what is at the calling thread's guard is told. This
  // must lie on its stack.
  void begin([[maybe_unused]] const Worker* worker) noexcept {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
      return;  // then the system ends the process without a word
    Own about;
    void* lowest = nullptr;
    pthread_attr_getstack(&attributes, &lowest, &about.bytes);
    pthread_attr_getguardsize(&attributes, &about.guard);
    pthread_attr_destroy(&attributes);
    about.lowest = static_cast<char*>(lowest);
    about.worker = worker;
    own() = about;
    stack_t stack{};
    stack.ss_sp = memory_;
    stack.ss_size = sizeof memory_;
    sigaltstack(&stack, nullptr);
#endif
  }

 private:
  struct Own {
    const Worker* worker = nullptr;
    char* lowest = nullptr;
    size_t bytes = 0, guard = 0;
  };

  static Own& own() noexcept {
    // the signal handler reads it, and must not allocate it
    [[gnu::tls_model("initial-exec")]] static thread_local constinit Own own;
    return own;
  }
  static struct sigaction& previous() noexcept {
    static struct sigaction before{};
    return before;
  }

  static void handle(int signal, siginfo_t* about, void* context) {
    const Own& thread = own();
    const auto* at = static_cast<char*>(about->si_addr);
    if (thread.worker != nullptr && at < thread.lowest && at >= thread.lowest - thread.guard) {
      const uint32_t op = operator_of(*thread.worker);
      char text[256];
      const int bytes =
          op == 0 ? std::snprintf(text, sizeof text, "millrace: a thread used more than its stack")
                  : std::snprintf(text, sizeof text,
                                  "millrace: operator '%.100s' used more than its thread's stack",
                                  thread.worker->run->names[op - 1]);
      const auto written = std::min(sizeof text - 1, static_cast<size_t>(bytes));
      const int more = std::snprintf(text + written, sizeof text - written,
                                     " of %zu KiB; MILLRACE_STACK_KIB=N makes it larger\n",
                                     (thread.bytes - sizeof(ThreadStack)) / 1024);
      [[maybe_unused]] const auto told = write(
          STDERR_FILENO, text, std::min(sizeof text - 1, written + static_cast<size_t>(more)));
      _exit(EXIT_CODE);
    }
    const struct sigaction& before = previous();
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, about, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else {
      std::signal(SIGSEGV, SIG_DFL);  // the access is made again, and ends the process
    }
  }

  alignas(16) char memory_[64 * 1024];
};

}  // namespace millrace
