// task.hpp - what a virtual thread executes: functions that may stop in the middle while virtual time passes, and call each other.
//
// C++20 co-routines. The innermost function that waits hands its handle to whoever will wake it; its return resumes the caller directly
// (symmetric transfer), so nesting costs no native stack, however deep drains nest. Frames of one virtual thread end in the reverse order in
// which they began, so each thread has an arena where taking and giving back a frame moves one index.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::sim {

class Arena {
 public:
  void* take(size_t size) {
    size = (size + sizeof(Header) + ALIGN - 1) / ALIGN * ALIGN;
    const Header header{this, top_, chunk_};
    if (chunks_.empty() || top_ + size > chunks_[chunk_].size) next_chunk(size);
    char* block = chunks_[chunk_].memory.get() + top_;
    top_ += size;
    *reinterpret_cast<Header*>(block) = header;
    return block + sizeof(Header);
  }
  // The block that was taken last, of all that were not given back.
  static void give_back(void* block) noexcept {
    const Header* header = reinterpret_cast<Header*>(static_cast<char*>(block) - sizeof(Header));
    Arena* arena = header->arena;
    arena->top_ = header->top;
    arena->chunk_ = header->chunk;
  }

 private:
  struct Header {
    Arena* arena;
    size_t top;  // of the arena before the block was taken
    size_t chunk;
    size_t unused = 0;  // keeps what follows aligned
  };
  struct Chunk {
    std::unique_ptr<char[]> memory;
    size_t size;
  };
  static constexpr size_t ALIGN = 16, FIRST_CHUNK = 4096;
  static_assert(sizeof(Header) % ALIGN == 0);

  void next_chunk(size_t size) {
    const size_t next = chunks_.empty() ? 0 : chunk_ + 1;
    if (next < chunks_.size() && chunks_[next].size < size)
      chunks_.resize(next);  // nothing lives behind the last block
    if (next == chunks_.size()) {
      const size_t grown = chunks_.empty() ? FIRST_CHUNK : 2 * chunks_.back().size;
      const size_t bytes = grown > size ? grown : size;
      chunks_.push_back({std::unique_ptr<char[]>(new char[bytes]), bytes});
    }
    chunk_ = next;
    top_ = 0;
  }

  std::vector<Chunk> chunks_;
  size_t chunk_ = 0, top_ = 0;
};

template <class T>
struct Returned {
  T value{};
  void return_value(T given) noexcept { value = given; }
};
template <>
struct Returned<void> {
  void return_void() noexcept {}
};

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : Returned<T> {
    std::coroutine_handle<> caller;

    // Every such function is a member of something and has the virtual thread as its first parameter.
    template <class Self, class Thread, class... Rest>
    static void* operator new(size_t size, Self&, Thread& thread, Rest&...) {
      return thread.arena.take(size);
    }
    static void operator delete(void* frame) noexcept { Arena::give_back(frame); }
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Return {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
          return ended.promise().caller ? ended.promise().caller : std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return Return{};
    }
    // To who let the thread go on. The frames of its callers stay as they are, and end with its arena.
    void unhandled_exception() { throw; }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() noexcept {
    if constexpr (!std::is_void_v<T>) return handle_.promise().value;
  }

  // The program of a thread: it is not destroyed, its memory goes with the arena, so frames hold nothing that needs destruction.
  std::coroutine_handle<> release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace millrace::sim
