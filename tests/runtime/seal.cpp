// Of tests/runtime/test_typed_operators.py: how many changes of a tuple keep its seal.
#include <algorithm>

#include "typed.hpp"

namespace {

constexpr uint64_t SEQUENCE = 1234567, PORT = 0x123456789ABCDEF;

// In `content`, which is behind the header of a slot of `stride` bytes and is left as it was.
struct Trial {
  char* content;
  size_t stride;
  uint64_t seal = millrace::seal_of(content, stride, SEQUENCE, PORT);

  size_t bytes() const { return stride - sizeof(millrace::Tuple); }
  bool kept(uint64_t sequence = SEQUENCE, uint64_t port = PORT) const {
    return millrace::seal_of(content, stride, sequence, port) == seal;
  }
  void flip(size_t bit) { content[bit / 8] = static_cast<char>(content[bit / 8] ^ (1 << bit % 8)); }
  void swap(size_t a, size_t b, size_t size) {
    std::swap_ranges(content + size * a, content + size * (a + 1), content + size * b);
  }
};

}  // namespace

extern "C" {

uint64_t bytes_changed(char* content, size_t stride) {
  Trial trial{content, stride};
  uint64_t kept = 0;
  for (size_t i = 0; i < trial.bytes(); ++i) {
    const char before = content[i];
    for (int change = 1; change < 256; ++change) {
      content[i] = static_cast<char>(before ^ change);
      kept += trial.kept();
    }
    content[i] = before;
  }
  return kept;
}

uint64_t bits_changed_in_two_words(char* content, size_t stride) {
  Trial trial{content, stride};
  uint64_t kept = 0;
  for (size_t a = 0; a < trial.bytes() * 8; ++a) {
    for (size_t b = a + 64; b < trial.bytes() * 8; b += 64) {
      trial.flip(a);
      trial.flip(b);
      kept += trial.kept();
      trial.flip(a);
      trial.flip(b);
    }
  }
  return kept;
}

uint64_t places_changed(char* content, size_t stride, size_t size) {
  Trial trial{content, stride};
  uint64_t kept = 0;
  for (size_t a = 0; a < trial.bytes() / size; ++a) {
    for (size_t b = a + 1; b < trial.bytes() / size; ++b) {
      trial.swap(a, b, size);
      kept += trial.kept();
      trial.swap(a, b, size);
    }
  }
  return kept;
}

uint64_t header_changed(char* content, size_t stride) {
  const Trial trial{content, stride};
  uint64_t kept = 0;
  for (uint64_t bit = 1; bit != 0; bit <<= 1)
    kept += trial.kept(SEQUENCE ^ bit) + trial.kept(SEQUENCE, PORT ^ bit);
  return kept;
}
}
