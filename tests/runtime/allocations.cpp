// allocations.cpp - preloaded into a process, it ends that where a thread of a run takes memory by
// operator new: nothing there could say that the system refuses it. Connectors and users' code may,
// and are not tried with it.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace {

void* take(size_t bytes, size_t alignment) {
  if (syscall(SYS_gettid) != getpid()) {
    constexpr char told[] = "a thread of the run takes memory\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, told, sizeof told - 1);
    _exit(9);
  }
  void* memory = alignment == 0 ? std::malloc(bytes)
                                : std::aligned_alloc(
                                      alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return take(bytes, 0); }
void* operator new[](size_t bytes) { return take(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
