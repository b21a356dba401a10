// fibre.hpp - functions that may stop in the middle, each on a stack of its own: a switch saves the
// registers that a call preserves, and jumps.
//
// A fibre may go on on another thread than the one on which it stopped. So nothing on its stack may
// keep what belongs to a thread: a switch hands over what the fibre needs as the value that it
// returns there. That holds for thread-local variables too, whose addresses compilers keep
// (GCC PR 26461), and for locks: none may be held across a switch.
//
// A switch ends in a jump, not in a return, which the core would predict wrongly. What a call
// preserves of the floating-point unit, its control words (rounding, masks, flush to zero), is
// saved too. They are loaded only where they differ, since that takes longer than to compare them.
// A fibre begins with those of the thread that called begin(), as a thread begins with those of the
// one that made it.
//
// Stacks lie side by side in one mapping, each above a guard that must not be touched; memory is
// taken page by page as a stack grows.
//
// Source: Conway, CACM 6(7), 1963, for the idea; the calling conventions of System V (x86-64) and
// of Arm (AAPCS64) for what is saved.
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

// void* millrace_switch(void** save, void* to, void* value): keeps the stack of the caller in
// `*save`, goes on on stack `to`, where the call that stopped there returns `value`.
// millrace_begin: what a new stack goes on with. Both stand in each object file, and the linker
// keeps one.
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
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movl (%rsp), %eax
  movzwl 4(%rsp), %ecx
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  xorl (%rsp), %eax
  xorw 4(%rsp), %cx
  andl $0xffc0, %eax
  orl %ecx, %eax
  jne 2f
1:
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  movq %rdx, %rax
  popq %rcx
  jmpq *%rcx
2:
  fnclex
  fldcw 4(%rsp)
  ldmxcsr (%rsp)
  jmp 1b
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
  sub sp, sp, #176
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
  mrs x10, fpcr
  str x10, [sp, #160]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldr x9, [sp, #160]
  cmp x9, x10
  b.eq 1f
  msr fpcr, x9
1:
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
  add sp, sp, #176
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

// The control words of the floating-point unit, as a switch keeps them on a stack: what a call
// preserves.
class FloatingPoint {
 public:
  FloatingPoint() noexcept : words_(read()) {}  // the calling thread's
  uint64_t words() const noexcept { return words_; }
  // Makes them those of the calling thread.
  void restore() const noexcept {
    if (((read() ^ words_) & CONTROL) == 0) return;
#if defined(__x86_64__)
    const auto mxcsr = static_cast<uint32_t>(words_);
    const auto x87 = static_cast<uint16_t>(words_ >> 32);
    asm volatile("fnclex\n\tfldcw %1\n\tldmxcsr %0" : : "m"(mxcsr), "m"(x87));
#else
    asm volatile("msr fpcr, %0" : : "r"(words_));
#endif
  }

 private:
#if defined(__x86_64__)
  // the lowest bits tell which exceptions there were
  static constexpr uint64_t CONTROL = 0xffff'0000'ffc0;
#else
  static constexpr uint64_t CONTROL = UINT64_MAX;
#endif
  static uint64_t read() noexcept {
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t x87;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    return static_cast<uint64_t>(x87) << 32 | mxcsr;
#else
    uint64_t fpcr;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#endif
  }

  uint64_t words_;
};

class Fibre {
 public:
  Fibre() = default;
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;
  ~Fibre() { forget(); }

  // Give it a stack, on which it is to begin with `body(argument, value)`, where `value` comes with
  // the first switch to it. The body must not return: it switches away for good. `stack` is the
  // lowest address.
  void begin(char* stack, size_t bytes, void (*body)(void* argument, void* value),
             void* argument) noexcept {
    forget();
    stack_ = stack;
    bytes_ = bytes;
#if defined(__SANITIZE_ADDRESS__)
    // an earlier body on this stack never returned, and left its red zones
    __asan_unpoison_memory_region(stack, bytes);
#endif
#if defined(__x86_64__)
    // control words, r15, r14, r13, r12, rbx, rbp, where to go on; two words that stay 0
    constexpr size_t saved = 10, control = 0, entry = 7, first = 4, second = 3;
#else
    // x19 to x30, d8 to d15, control word; one that stays 0
    constexpr size_t saved = 22, control = 20, entry = 11, first = 0, second = 1;
#endif
    void** top =
        reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15});
    void** at = top - saved;
    std::memset(at, 0, saved * sizeof *at);
    at[first] = reinterpret_cast<void*>(body);
    at[second] = argument;
    at[entry] = reinterpret_cast<void*>(&millrace_begin);
    at[control] = reinterpret_cast<void*>(FloatingPoint().words());
    saved_ = at;
#if defined(__SANITIZE_THREAD__)
    twin_ = __tsan_create_fiber(0);
    owns_twin_ = true;
#endif
  }

  // Stops here and goes on in `to`. Returns the value of the switch back; `ends`: there is none.
  [[gnu::always_inline]] void* switch_to(Fibre& to, void* value,
                                         [[maybe_unused]] bool ends = false) noexcept {
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

// Stacks of one size, side by side, each above unused room: the system stops a thread that runs
// over the end of one.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() {
    if (memory_ != nullptr) munmap(memory_, total());
  }

  // Whether the system gives room for `count` stacks of `bytes` each, rounded up to pages. An
  // access may miss a stack by `reach`, as far as the frame of a function goes; a page is enough
  // where no frame is larger.
  bool reserve(size_t count, size_t bytes, size_t reach = 1) noexcept {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto up = [page](size_t size) { return (size + page - 1) / page * page; };
    bytes_ = up(bytes), reach_ = up(reach);
    count_ = count;
    void* memory = mmap(nullptr, total(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<char*>(memory);
    madvise(memory, total(), MADV_NOHUGEPAGE);  // the first touch would take 2 MiB of a large stack
    for (size_t i = 0; i < count; ++i) {
      if (!guard(stack(i))) return false;
    }
    return true;
  }
  char* stack(size_t index) const noexcept { return memory_ + index * (reach_ + bytes_) + reach_; }
  size_t bytes() const noexcept { return bytes_; }
  // The stack that an access to `address` has missed; `count` if it is none.
  size_t overflown(const void* address) const noexcept {
    const auto offset = static_cast<size_t>(static_cast<const char*>(address) - memory_);
    return memory_ != nullptr && offset < total() && offset % (reach_ + bytes_) < reach_
               ? offset / (reach_ + bytes_)
               : count_;
  }

 private:
  // A guard within the one mapping, where the system knows those (Linux 6.13): the last MiB before
  // the stack, since each of its pages takes 8 bytes. What lies before that is unused. Else all of
  // the room is a mapping of its own, of which a process has about 65,000.
  bool guard(char* stack) const noexcept {
    constexpr int install_guard = 102;  // MADV_GUARD_INSTALL
    const size_t within = reach_ < MOST_WITHIN ? reach_ : MOST_WITHIN;
    return madvise(stack - within, within, install_guard) == 0 ||
           mprotect(stack - reach_, reach_, PROT_NONE) == 0;
  }
  size_t total() const noexcept { return count_ * (reach_ + bytes_); }

  static constexpr size_t MOST_WITHIN = size_t{1} << 20;
  char* memory_ = nullptr;
  size_t reach_ = 0, bytes_ = 0, count_ = 0;
};

}  // namespace millrace
