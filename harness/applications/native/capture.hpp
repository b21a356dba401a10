// capture.hpp - files of packets: pcap (draft-ietf-opsawg-pcap) and pcapng
// (draft-ietf-opsawg-pcapng), and what IP packets say of DNS.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "key_table.hpp"

namespace millrace::applications {

using namespace operators;

inline uint16_t big16(const uint8_t* at) noexcept {
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

// An IP address: of IPv4 as ::ffff:a.b.c.d.
using Address = std::array<uint8_t, 16>;

// A UDP datagram in an IP packet. `client` is who asks port 53, or is answered by it; of all else
// it is the sender.
struct Datagram {
  Address client;
  bool dns;          // UDP, of or to port 53, not a later fragment
  bool answer;       // of port 53
  uint32_t payload;  // where it begins
};

inline Address address4(const uint8_t* at) noexcept {
  Address found{};
  found[10] = found[11] = 0xFF;
  std::memcpy(found.data() + 12, at, 4);
  return found;
}

inline Address address6(const uint8_t* at) noexcept {
  Address found;
  std::memcpy(found.data(), at, 16);
  return found;
}

// False: `size` bytes at `ip` are no IP packet.
inline bool read_datagram(const uint8_t* ip, uint32_t size, Datagram* found) noexcept {
  Address from, to;
  uint32_t at;
  uint8_t protocol;
  bool whole = true;
  if (size >= 20 && ip[0] >> 4 == 4 && (ip[0] & 15) >= 5) {
    from = address4(ip + 12);
    to = address4(ip + 16);
    protocol = ip[9];
    at = 4 * (ip[0] & 15);
    whole = (big16(ip + 6) & 0x1FFF) == 0;
  } else if (size >= 40 && ip[0] >> 4 == 6) {
    from = address6(ip + 8);
    to = address6(ip + 24);
    protocol = ip[6];
    at = 40;
    for (int headers = 0;
         headers < 8 && at + 8 <= size && (protocol == 0 || protocol == 43 || protocol == 60);
         ++headers) {
      protocol = ip[at];  // hop-by-hop, routing and destination options (RFC 8200)
      at += 8 * (ip[at + 1] + 1U);
    }
  } else {
    return false;
  }
  found->client = from;
  found->dns = found->answer = false;
  if (protocol != 17 || !whole || at + 8 > size) return true;
  const bool asks = big16(ip + at + 2) == 53, answers = big16(ip + at) == 53;
  found->dns = asks || answers;
  found->answer = answers && !asks;
  if (found->answer) found->client = to;
  found->payload = at + 8;
  return true;
}

// The packets of a file in memory, by where they lie. Times never go back: such ones are moved
// forward.
class Capture {
 public:
  static constexpr uint32_t MOST = 1
                                   << 18;  // bytes of a packet that was captured; more is no packet
  struct Packet {
    size_t begin;   // of what is IP in it
    int64_t time;   // ns
    uint64_t hash;  // of the client
    uint32_t size;  // bytes of it that were captured, from `begin`
    uint32_t wire;  // bytes that it had; 0: it is no IP packet
  };
  Capture(const char* data, size_t size)
      : data_(reinterpret_cast<const uint8_t*>(data)), size_(size) {
    if (size >= 24 && pcap_magic()) {
      read_pcap();
    } else if (size >= 28 && little32(0) == 0x0A0D0D0A) {
      read_pcapng();
    }
    int64_t last = INT64_MIN;
    for (Packet& packet : packets_) last = packet.time = std::max(packet.time, last);
  }
  const std::vector<Packet>& packets() const noexcept { return packets_; }
  const uint8_t* data() const noexcept { return data_; }
  bool known() const noexcept { return known_; }
  bool truncated() const noexcept { return truncated_; }
  uint64_t broken() const noexcept { return broken_; }
  size_t size() const noexcept { return packets_.size(); }
  int64_t span() const noexcept {
    return packets_.empty() ? 0 : packets_.back().time - packets_.front().time + 1'000'000'000;
  }

 private:
  uint32_t little32(size_t at) const noexcept {
    uint32_t value;
    std::memcpy(&value, data_ + at, 4);
    return value;
  }
  uint32_t u32(size_t at) const noexcept {
    return swapped_ ? __builtin_bswap32(little32(at)) : little32(at);
  }
  uint16_t u16(size_t at) const noexcept {
    uint16_t value;
    std::memcpy(&value, data_ + at, 2);
    return swapped_ ? __builtin_bswap16(value) : value;
  }
  bool pcap_magic() noexcept {
    for (const bool swapped : {false, true}) {
      swapped_ = swapped;
      if (u32(0) == 0xA1B2C3D4 || u32(0) == 0xA1B23C4D) return true;
    }
    return false;
  }
  void read_pcap() {
    const int64_t unit = u32(0) == 0xA1B2C3D4 ? 1000 : 1;  // ns
    const uint32_t link = u32(20) & 0xFFFF;
    known_ = true;
    size_t at = 24;
    while (at < size_) {
      if (size_ - at < 16) {
        truncated_ = true;
        return;
      }
      const uint32_t size = u32(at + 8);
      if (size > MOST) {  // where the next record begins nobody knows
        ++broken_;
        return;
      }
      if (size_ - at - 16 < size) {
        truncated_ = true;
        return;
      }
      if (u32(at) >> 31 != 0 || u32(at + 4) * unit >= 1'000'000'000 || u32(at + 12) < size) {
        ++broken_;
      } else {
        add(at + 16, size, u32(at + 12), u32(at) * int64_t{1'000'000'000} + u32(at + 4) * unit,
            link);
      }
      at += 16 + size;
    }
  }
  struct Interface {
    uint32_t link, snap;
    uint64_t per_second;
    int64_t offset;  // s
  };
  void read_pcapng() {
    std::vector<Interface> interfaces;
    size_t at = 0;
    while (at < size_) {
      if (size_ - at < 12) {
        truncated_ = true;
        return;
      }
      if (little32(at) == 0x0A0D0D0A) {  // a section, with a byte order of its own
        const uint32_t magic = little32(at + 8);
        if (magic != 0x1A2B3C4D && magic != 0x4D3C2B1A) {
          if (known_) ++broken_;
          return;
        }
        swapped_ = magic == 0x4D3C2B1A;
        known_ = true;
        interfaces.clear();
      }
      const uint32_t kind = u32(at), length = u32(at + 4);
      if (length < 12 || length % 4 != 0) {
        ++broken_;
        return;
      }
      if (size_ - at < length) {
        truncated_ = true;
        return;
      }
      if (u32(at + length - 4) != length) {
        ++broken_;
        return;
      }
      read_block(kind, at + 8, length - 12, &interfaces);
      at += length;
    }
  }
  void read_block(uint32_t kind, size_t body, uint32_t size, std::vector<Interface>* interfaces) {
    if (kind == 1 && size >= 8) {
      interfaces->push_back(interface_of(body, size));
    } else if (kind == 6 || kind == 2) {  // an enhanced packet, or an obsolete one
      const uint32_t number = size >= 20 ? (kind == 6 ? u32(body) : u16(body)) : UINT32_MAX;
      if (number >= interfaces->size() || u32(body + 12) > size - 20 ||
          u32(body + 16) < u32(body + 12)) {
        ++broken_;
        return;
      }
      const Interface& on = (*interfaces)[number];
      const uint64_t ticks = uint64_t{u32(body + 4)} << 32 | u32(body + 8);
      const uint64_t seconds = ticks / on.per_second;
      if (seconds >= uint64_t{1} << 31) {
        ++broken_;
        return;
      }
      const auto part =
          static_cast<unsigned __int128>(ticks % on.per_second) * 1'000'000'000 / on.per_second;
      const int64_t time =
          (static_cast<int64_t>(seconds) + on.offset) * 1'000'000'000 + static_cast<int64_t>(part);
      add(body + 20, u32(body + 12), u32(body + 16), time, on.link);
    } else if (kind == 3) {  // a simple packet, which has no time: that of the one before
      if (size < 4 || interfaces->empty()) {
        ++broken_;
        return;
      }
      const uint32_t snap = (*interfaces)[0].snap == 0 ? UINT32_MAX : (*interfaces)[0].snap;
      const uint32_t captured = std::min({u32(body), size - 4, snap});
      add(body + 4, captured, u32(body), packets_.empty() ? 0 : packets_.back().time,
          (*interfaces)[0].link);
    }
  }
  Interface interface_of(size_t body, uint32_t size) const noexcept {
    Interface found{u16(body), u32(body + 4), 1'000'000, 0};
    for (size_t at = body + 8; at + 4 <= body + size;) {
      const uint16_t code = u16(at), length = u16(at + 2);
      if (code == 0 || at + 4 + length > body + size) break;
      if (code == 9 && length == 1) found.per_second = resolution(data_[at + 4]);
      if (code == 14 && length == 8) {
        const uint64_t low = u32(at + 4), high = u32(at + 8);
        const int64_t offset = static_cast<int64_t>(swapped_ ? low << 32 | high : high << 32 | low);
        if (offset > -(int64_t{1} << 31) && offset < int64_t{1} << 31) found.offset = offset;
      }
      at += 4 + (length + 3U) / 4 * 4;
    }
    return found;
  }
  static uint64_t resolution(uint8_t given) noexcept {  // a negative power of 10, or of 2
    if (given & 0x80) return uint64_t{1} << std::min(given & 0x7F, 62);
    uint64_t found = 1;
    for (int i = 0; i < std::min<int>(given, 18); ++i) found *= 10;
    return found;
  }
  // A packet of a link type: what is before its IP header is left out.
  void add(size_t begin, uint32_t size, uint32_t wire, int64_t time, uint32_t link) {
    uint32_t skipped = UINT32_MAX;
    const uint8_t* at = data_ + begin;
    if (link == 1 && size >= 14) {  // Ethernet, with tags of VLANs
      skipped = 12;
      while (skipped + 6 <= size &&
             (big16(at + skipped) == 0x8100 || big16(at + skipped) == 0x88A8))
        skipped += 4;
      skipped += 2;
    } else if (link == 101 || link == 12 || link == 14 || link == 228 || link == 229) {  // IP alone
      skipped = 0;
    } else if (link == 0 || link == 108) {  // loopback
      skipped = 4;
    } else if (link == 113) {  // Linux cooked
      skipped = 16;
    } else if (link == 276) {
      skipped = 20;
    }
    Datagram found{};
    Packet packet{begin, time, 0, size, 0};
    if (skipped <= size && read_datagram(at + skipped, size - skipped, &found)) {
      packet.begin += skipped;
      packet.size -= skipped;
      packet.wire = std::max(wire - skipped, 1U);
      packet.hash =
          hash_of({reinterpret_cast<const char*>(found.client.data()), found.client.size()});
    }
    packets_.push_back(packet);
  }
  const uint8_t* data_;
  size_t size_;
  bool swapped_ = false, known_ = false, truncated_ = false;
  uint64_t broken_ = 0;
  std::vector<Packet> packets_;
};

}  // namespace millrace::applications
