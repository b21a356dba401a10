// fibre.hpp - functions that may stop in the middle, each on a stack of its own: a switch saves the registers that a call preserves, and jumps.
//
// A fibre may go on on another thread than the one on which it stopped. So nothing on its stack may keep what belongs to a thread: whoever
// switches to it hands over what it needs as the value that the switch returns. That holds for thread-local variables too, whose addresses
// compilers keep (GCC PR 26461), and for locks: none may be held across a switch.
//
// A switch ends in a jump, not in a return, which the core would predict wrongly. The state of the floating-point unit that a call preserves
// (rounding, exceptions) is not saved: nobody here changes it.
//
// Stacks lie side by side in one mapping, each above a page that must not be touched; memory is taken page by page as a stack grows.
//
// Source: Conway, CACM 6(7), 1963, for the idea; the calling conventions of System V (x86-64) and of Arm (AAPCS64) for what is saved.
// Checked by: tests/native/stress_fibre.cpp
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// void* millrace_switch(void** save, void* to, void* value): keeps the stack of the caller in `*save`, goes on on stack `to`, where the call
// that stopped there returns `value`. millrace_begin: what a new stack goes on with. Both stand in each object file, and the linker keeps one.
#if defined(__x86_64__)
asm(R"(
  .pushsection .text.millrace_switch,"axG",@progbits,millrace_switch,comdat
  .weak millrace_switch
  .hidden millrace_switch
  .type millrace_switch,@function
  .p2align 5
millrace_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  movq %rdx, %rax
  popq %rcx
  jmpq *%rcx
  .size millrace_switch, .-millrace_switch
  .weak millrace_begin
  .hidden millrace_begin
  .type millrace_begin,@function
  .p2align 5
millrace_begin:
  movq %r13, %rdi
  movq %rax, %rsi
  callq *%r12
  ud2
  .size millrace_begin, .-millrace_begin
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text.millrace_switch,"axG",@progbits,millrace_switch,comdat
  .weak millrace_switch
  .hidden millrace_switch
  .type millrace_switch,%function
  .p2align 5
millrace_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  mov x0, x2
  br x30
  .size millrace_switch, .-millrace_switch
  .weak millrace_begin
  .hidden millrace_begin
  .type millrace_begin,%function
  .p2align 5
millrace_begin:
  hint #36
  mov x1, x0
  mov x0, x20
  blr x19
  brk #1
  .size millrace_begin, .-millrace_begin
  .popsection
)");
#else
#error "fibres need x86-64 or aarch64"
#endif
extern "C" {
void* millrace_switch(void** save, void* to, void* value) noexcept;
void millrace_begin() noexcept;
}

namespace millrace {

class Fibre {
 public:
  Fibre() = default;
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;
  ~Fibre() { forget(); }

  // Give it a stack, on which it is to begin with `body(argument, value)`, where `value` comes with the first switch to it. The body must not
  // return: it switches away for good. `stack` is the lowest address.
  void begin(char* stack, size_t bytes, void (*body)(void* argument, void* value), void* argument) noexcept {
    forget();
    stack_ = stack;
    bytes_ = bytes;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stack, bytes);  // a body that was here before has never returned, and left its red zones
#endif
#if defined(__x86_64__)
    constexpr size_t saved = 9, entry = 6, first = 3, second = 2;  // r15, r14, r13, r12, rbx, rbp, where to go on; two words that stay 0
#else
    constexpr size_t saved = 20, entry = 11, first = 0, second = 1;  // x19 to x30, d8 to d15
#endif
    void** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15});
    void** at = top - saved;
    std::memset(at, 0, saved * sizeof *at);
    at[first] = reinterpret_cast<void*>(body);
    at[second] = argument;
    at[entry] = reinterpret_cast<void*>(&millrace_begin);
    saved_ = at;
#if defined(__SANITIZE_THREAD__)
    twin_ = __tsan_create_fiber(0);
    owns_twin_ = true;
#endif
  }

  // Stop here and go on in `to`; returns the value of whoever comes back. `ends`: nobody ever will.
  [[gnu::always_inline]] void* switch_to(Fibre& to, void* value, [[maybe_unused]] bool ends = false) noexcept {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.twin_, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake, to.stack_, to.bytes_);
    void* given = millrace_switch(&saved_, to.saved_, value);
    arrive(fake);
    return given;
#else
    return millrace_switch(&saved_, to.saved_, value);
#endif
  }

  // To be called first in a body: the switch is done.
  void arrived() noexcept { arrive(nullptr); }

  // Make this the fibre of the calling thread, with its own stack, before it switches from it.
  void adopt_thread() noexcept {
#if defined(__SANITIZE_THREAD__)
    twin_ = __tsan_get_current_fiber();
#endif
#if defined(__SANITIZE_ADDRESS__)
    pthread_attr_t attributes;
    void* stack;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &bytes_);
    pthread_attr_destroy(&attributes);
    stack_ = static_cast<char*>(stack);
#endif
  }

 private:
  void arrive([[maybe_unused]] void* fake) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  void forget() noexcept {
#if defined(__SANITIZE_THREAD__)
    if (owns_twin_) __tsan_destroy_fiber(twin_);
    owns_twin_ = false;
#endif
  }

  void* saved_ = nullptr;
  char* stack_ = nullptr;
  size_t bytes_ = 0;
#if defined(__SANITIZE_THREAD__)
  void* twin_ = nullptr;
  bool owns_twin_ = false;
#endif
};

// Stacks of one size, side by side, each above a guard: who runs over the end of one is stopped by the system.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    if (memory_ != nullptr) munmap(memory_, total());
  }

  // Whether the system gives room for `count` stacks of `bytes` each, rounded up to pages.
  bool reserve(size_t count, size_t bytes) noexcept {
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (bytes + page_ - 1) / page_ * page_;
    count_ = count;
    void* memory = mmap(nullptr, total(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<char*>(memory);
    for (size_t i = 0; i < count; ++i) {
      if (!guard(memory_ + i * (page_ + bytes_))) return false;
    }
    return true;
  }
  char* stack(size_t index) const noexcept { return memory_ + index * (page_ + bytes_) + page_; }
  size_t bytes() const noexcept { return bytes_; }
  // The stack whose guard is at `address`; `count` if it is none.
  size_t overflown(const void* address) const noexcept {
    const auto offset = static_cast<size_t>(static_cast<const char*>(address) - memory_);
    return memory_ != nullptr && offset < total() && offset % (page_ + bytes_) < page_ ? offset / (page_ + bytes_) : count_;
  }

 private:
  // Guards within one mapping where the system knows them (Linux 6.13), else a mapping each, of which a process has about 65,000.
  bool guard(char* at) const noexcept {
    constexpr int install_guard = 102;  // MADV_GUARD_INSTALL
    return madvise(at, page_, install_guard) == 0 || mprotect(at, page_, PROT_NONE) == 0;
  }
  size_t total() const noexcept { return count_ * (page_ + bytes_); }

  char* memory_ = nullptr;
  size_t page_ = 0, bytes_ = 0, count_ = 0;
};

}  // namespace millrace
