// Every tuple comes out once and in order, whole, whatever the capacity, the batch and the moment
// of the wrap.
#include <vector>

#include "spsc_ring.hpp"
#include "stress.hpp"

using namespace millrace;

// `every`: the tuples that are pushed lie so many slots apart.
static void pass_through(size_t capacity, size_t batch, size_t every, size_t payload,
                         uint64_t tuples) {
  const size_t stride = slot_stride(payload);
  std::vector<char> memory(capacity * stride);
  SpscRing ring;
  ring.init(memory.data(), capacity, stride);
  together(2, [&](int side) {
    if (side == 0) {
      std::vector<char> made(batch * every * stride);
      Tuple* first = reinterpret_cast<Tuple*>(made.data());
      for (uint64_t sent = 0; sent < tuples;) {
        const size_t count = std::min<uint64_t>(batch, tuples - sent);
        for (size_t i = 0; i < count; ++i) {
          Tuple* tuple = slot(first, stride, i * every);
          tuple->sequence = sent + i;
          tuple->path = 0;
          fill_payload(tuple, payload);
        }
        for (size_t done = 0; done < count;) {
          const size_t room = ring.room(count - done);
          const size_t pushed =
              ring.push(slot(first, stride, done * every), count - done, stride * every, 7);
          EXPECT(room <= capacity && pushed >= std::min(room, count - done));
          EXPECT(ring.size_guess() <= capacity);
          done += pushed;
          if (pushed == 0) std::this_thread::yield();
        }
        sent += count;
      }
    } else {
      for (uint64_t expected = 0; expected < tuples;) {
        Tuple* first;
        const size_t count = ring.front(batch, &first);
        EXPECT(count <= batch && count <= capacity);
        for (size_t i = 0; i < count; ++i) {
          Tuple* tuple = slot(first, stride, i);
          EXPECT(tuple->sequence == expected + i);
          EXPECT(tuple->path == 7);
          EXPECT(payload_intact(tuple, payload, fingerprint(expected + i)));
          std::memset(static_cast<void*>(tuple), 0,
                      stride);  // the slot is ours: the producer must not look at it
        }
        ring.release(count);
        expected += count;
        if (count == 0) std::this_thread::yield();
      }
    }
  });
  EXPECT(ring.size_guess() == 0);
}

int main() {
  constexpr uint64_t shorter = THREADS_SANITIZED ? 5 : 1;
  for (const size_t capacity : {1, 2, 3, 8, 1000})
    for (const size_t batch : {1, 5, 32})
      pass_through(capacity, batch, capacity % 2 + 1, 24, 30'000 / shorter);
  pass_through(64, 32, 1, 4096, 5'000 / shorter);
  pass_through(64, 32, 3, 0, 100'000 / shorter);
}
