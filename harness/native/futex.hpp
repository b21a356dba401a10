// futex.hpp - sleeping on an atomic word, and waking who does: the calls of Linux, which the
// standard library wraps without a time limit.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace millrace {

using Futex = std::atomic<uint32_t>;
static_assert(sizeof(Futex) == sizeof(uint32_t) && Futex::is_always_lock_free);

// Sleeps if the word is still `seen`, until woken, or until `most` has passed; may end without a
// cause.
inline void futex_sleep(Futex& word, uint32_t seen, const timespec* most = nullptr) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, most, nullptr, 0);
}
// Wakes one of those that sleep there.
inline void futex_wake(Futex& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace millrace
