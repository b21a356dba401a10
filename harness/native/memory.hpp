// memory.hpp - the memory of all queues of a run: reserved at once, taken from the system page by
// page as it is first touched, so that resident memory follows what the queues really held (BOUND).
//
// Pages are large ones where the system has some to spare: threads go round queues of more pages
// than a core's translation look-aside buffers hold, which cost 5 % of throughput
// (docs/explanation/design.md). Not where queues take a GiB and more together: one large page holds
// the beginnings of several, most of which may never fill.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace millrace {

inline constexpr size_t LARGE_PAGES_BELOW = size_t{1} << 30;  // bytes: a guess, not tuned

// Zeroed; null if the system refuses.
inline char* reserve_memory(size_t bytes) noexcept {
#if defined(MAP_NORESERVE)
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  if (bytes < LARGE_PAGES_BELOW)
    madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: no harm done if it is refused
#endif
  return static_cast<char*>(memory);
}

inline void give_back_memory(char* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace millrace
