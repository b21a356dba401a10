// memory.hpp - the memory of all queues of a run: reserved at once, taken from the system page by page as it is first touched, so that
// resident memory follows what the queues really held (BOUND).
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace millrace {

// Zeroed; null if the system refuses.
inline char* reserve_memory(size_t bytes) noexcept {
#if defined(MAP_NORESERVE)
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

inline void give_back_memory(char* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace millrace
