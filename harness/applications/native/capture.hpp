// capture.hpp - files of packets: pcap (draft-ietf-opsawg-pcap) and pcapng
// (draft-ietf-opsawg-pcapng), and what IP packets say of DNS.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event_time.hpp"
#include "key_table.hpp"

namespace millrace::applications {

using namespace operators;

inline uint16_t big16(const uint8_t* at) noexcept {
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}
inline uint32_t big32(const uint8_t* at) noexcept {
  return uint32_t{big16(at)} << 16 | big16(at + 2);
}

// An IP address: of IPv4 as ::ffff:a.b.c.d.
using Address = std::array<uint8_t, 16>;

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

// What is behind the headers of an IP packet.
struct Carried {
  enum Protocol : uint8_t { TCP = 6, UDP = 17 };
  Address from, to;
  uint32_t at, end;  // where it begins and ends; what is behind the end is padding
  uint8_t protocol;
  bool first;  // it is no later fragment
};

// False: `size` bytes at `ip` are no IP packet.
inline bool read_ip(const uint8_t* ip, uint32_t size, Carried* found) noexcept {
  if (size >= 20 && ip[0] >> 4 == 4 && (ip[0] & 15) >= 5) {
    found->from = address4(ip + 12);
    found->to = address4(ip + 16);
    found->protocol = ip[9];
    found->at = 4 * (ip[0] & 15);
    found->first = (big16(ip + 6) & 0x1FFF) == 0;
    const uint32_t length = big16(ip + 2);
    found->end = length >= found->at && length < size ? length : size;
    return true;
  }
  if (size < 40 || ip[0] >> 4 != 6) return false;
  found->from = address6(ip + 8);
  found->to = address6(ip + 24);
  found->protocol = ip[6];
  found->at = 40;
  found->first = true;
  const uint32_t length = big16(ip + 4) + 40U;
  found->end = length > 40 && length < size ? length : size;
  // Extension headers (RFC 8200 s4): the options, routing, authentication, mobility, HIP and shim6,
  // and that of a fragment
  for (int headers = 0; headers < 16 && found->at + 8 <= size; ++headers) {
    const uint8_t protocol = found->protocol;
    const uint8_t* at = ip + found->at;
    uint32_t bytes = 8 * (at[1] + 1U);
    if (protocol == 51) {
      bytes = 4 * (at[1] + 2U);
    } else if (protocol == 44) {
      bytes = 8;
      found->first = found->first && big16(at + 2) >> 3 == 0;
    } else if (protocol != 0 && protocol != 43 && protocol != 60 && protocol != 135 &&
               protocol != 139 && protocol != 140) {
      break;
    }
    found->protocol = at[0];
    found->at += bytes;
  }
  return true;
}

// The packets of a file in memory, by their places in it, ordered by time; late ones are left out.
// Or the packets of one piece after the other, in the order in which they come.
class Capture {
 public:
  static constexpr uint32_t MOST = 1 << 18;  // bytes of a captured packet; more is no packet
  // A packet of IP, or a message of DNS in it: a segment of TCP may have several.
  struct Packet {
    int64_t time;   // ns
    size_t begin;   // of the message
    uint64_t hash;  // of the client
    Address client;
    uint32_t size;  // of the message, as far as it was captured
    uint32_t wire;  // bytes that the packet had; 0: it is no IP packet
    bool dns;       // UDP or TCP of or to port 53, and no continuation
    bool unknown;   // of a link type that is not read
  };
  Capture(const char* data, size_t size, const EventTime::Rule& rule) {
    read(data, size, true);
    connections_ = {};
    order(rule);
  }
  Capture() = default;
  // Reads the next piece, in place of the one before; returns the bytes of its whole records. The
  // others are the beginning of the next piece. `last`: there is none.
  size_t read(const char* data, size_t size, bool last) {
    data_ = reinterpret_cast<const uint8_t*>(data);
    size_ = size;
    last_ = last;
    at_ = 0;
    packets_.clear();
    if (connections_.size() > MOST_CONNECTIONS) connections_.clear();  // old ones are not known
    if (size < 28 && !last) return 0;
    if (form_ == Form::UNKNOWN) {
      if (size >= 24 && pcap_magic()) {
        form_ = Form::PCAP;
        begin_pcap();
      } else if (size >= 28 && little32(0) == 0x0A0D0D0A) {
        form_ = Form::PCAPNG;
      } else {
        form_ = Form::NONE;
      }
    }
    if (form_ == Form::PCAP) read_pcap();
    if (form_ == Form::PCAPNG) read_pcapng();
    if (form_ == Form::NONE) at_ = size_;
    return at_;
  }
  const std::vector<Packet>& packets() const noexcept { return packets_; }
  const uint8_t* data() const noexcept { return data_; }
  bool known() const noexcept { return known_; }
  bool truncated() const noexcept { return truncated_; }
  uint64_t broken() const noexcept { return broken_; }
  // The first record that cannot be read, from 0.
  uint64_t first_broken() const noexcept { return first_broken_; }
  size_t size() const noexcept { return packets_.size(); }
  uint64_t late() const noexcept { return late_; }
  uint64_t ahead() const noexcept { return ahead_; }
  // Packets of each link type that is not read.
  const std::map<uint32_t, uint64_t>& unknown_links() const noexcept { return unknown_links_; }
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
  void begin_pcap() {
    unit_ = u32(0) == 0xA1B2C3D4 ? 1000 : 1;
    link_ = u32(20) & 0xFFFF;
    known_ = true;
    at_ = 24;
  }
  void leave_out_broken() noexcept {
    if (broken_++ == 0) first_broken_ = records_;
  }
  // The piece ends within a record.
  void cut() noexcept { truncated_ = last_; }
  // It is unknown where the next record begins: the rest is left out.
  void give_up() noexcept {
    leave_out_broken();
    form_ = Form::NONE;
  }
  void read_pcap() {
    while (at_ < size_) {
      if (size_ - at_ < 16) return cut();
      const uint32_t size = u32(at_ + 8);
      if (size > MOST) return give_up();
      if (size_ - at_ - 16 < size) return cut();
      if (u32(at_ + 4) * unit_ >= 1'000'000'000) {
        leave_out_broken();
      } else {
        add(at_ + 16, size, u32(at_ + 12), u32(at_) * int64_t{1'000'000'000} + u32(at_ + 4) * unit_,
            link_);
      }
      at_ += 16 + size;
      ++records_;
    }
  }
  struct Interface {
    uint32_t link, snap;
    uint64_t per_second;
    int64_t offset;  // s
  };
  void read_pcapng() {
    while (at_ < size_) {
      if (size_ - at_ < 12) return cut();
      if (little32(at_) == 0x0A0D0D0A) {  // a section, with a byte order of its own
        const uint32_t magic = little32(at_ + 8);
        if (magic != 0x1A2B3C4D && magic != 0x4D3C2B1A) {
          if (known_) give_up();
          form_ = Form::NONE;
          return;
        }
        swapped_ = magic == 0x4D3C2B1A;
        known_ = true;
        interfaces_.clear();
      }
      const uint32_t kind = u32(at_), length = u32(at_ + 4);
      if (length < 12 || length % 4 != 0 || (!last_ && length > MOST_BLOCK)) return give_up();
      if (size_ - at_ < length) return cut();
      if (u32(at_ + length - 4) != length) return give_up();
      read_block(kind, at_ + 8, length - 12, &interfaces_);
      at_ += length;
      records_ += kind == 2 || kind == 3 || kind == 6;
    }
  }
  void read_block(uint32_t kind, size_t body, uint32_t size, std::vector<Interface>* interfaces) {
    if (kind == 1 && size >= 8) {
      interfaces->push_back(interface_of(body, size));
    } else if (kind == 6 || kind == 2) {  // an enhanced packet, or an obsolete one
      const uint32_t number = size >= 20 ? (kind == 6 ? u32(body) : u16(body)) : UINT32_MAX;
      if (number >= interfaces->size() || u32(body + 12) > size - 20) {
        leave_out_broken();
        return;
      }
      const Interface& on = (*interfaces)[number];
      const uint64_t ticks = uint64_t{u32(body + 4)} << 32 | u32(body + 8);
      const uint64_t seconds = ticks / on.per_second;
      if (seconds >= uint64_t{1} << 32) {  // 2106, when those of pcap end, too
        leave_out_broken();
        return;
      }
      const auto part =
          static_cast<unsigned __int128>(ticks % on.per_second) * 1'000'000'000 / on.per_second;
      const int64_t time =
          (static_cast<int64_t>(seconds) + on.offset) * 1'000'000'000 + static_cast<int64_t>(part);
      if (!is_time(time)) {
        leave_out_broken();
        return;
      }
      add(body + 20, u32(body + 12), u32(body + 16), time, on.link);
    } else if (kind == 3) {  // a simple packet, which has no time: that of the one before
      if (size < 4 || interfaces->empty()) {
        leave_out_broken();
        return;
      }
      const uint32_t snap = (*interfaces)[0].snap == 0 ? UINT32_MAX : (*interfaces)[0].snap;
      const uint32_t captured = std::min({u32(body), size - 4, snap});
      add(body + 4, captured, u32(body), last_time_, (*interfaces)[0].link);
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
  // Where an IP packet begins behind an Ethernet type at `at`: 0x8100 and the like are tags of
  // VLANs (802.1Q, 802.1ad), 0x8864 is PPPoE, 0x8847 MPLS. Above `size`: there is none.
  static uint32_t behind_type(const uint8_t* frame, uint32_t at, uint32_t size) noexcept {
    while (at + 6 <= size) {
      const uint16_t type = big16(frame + at);
      if (type == 0x8100 || type == 0x88A8 || type == 0x9100 || type == 0x9200) {
        at += 4;
        continue;
      }
      if (type == 0x0800 || type == 0x86DD) return at + 2;
      if (type == 0x8864) return behind_ppp(frame, at + 8, size);
      if (type != 0x8847 && type != 0x8848) return UINT32_MAX;
      for (at += 2; at + 4 <= size; at += 4) {
        if ((frame[at + 2] & 1) != 0) return at + 4;  // the last label
      }
    }
    return UINT32_MAX;
  }
  static uint32_t behind_ppp(const uint8_t* frame, uint32_t at, uint32_t size) noexcept {
    if (at + 4 > size) return UINT32_MAX;
    if (frame[at] == 0xFF && frame[at + 1] == 0x03) at += 2;
    const bool brief = (frame[at] & 1) != 0;  // a protocol in one byte
    const uint16_t protocol = brief ? frame[at] : big16(frame + at);
    return protocol == 0x0021 || protocol == 0x0057 ? at + (brief ? 1 : 2) : UINT32_MAX;
  }
  static bool known_link(uint32_t link) noexcept {
    static constexpr std::array<uint32_t, 14> KNOWN{0,   1,   9,   12,  14,  50,  51,
                                                    101, 104, 108, 113, 228, 229, 276};
    return std::find(KNOWN.begin(), KNOWN.end(), link) != KNOWN.end();
  }
  static uint32_t behind_link(const uint8_t* at, uint32_t size, uint32_t link) noexcept {
    switch (link) {
      case 1:  // Ethernet
        return behind_type(at, 12, size);
      case 0:
      case 108:  // loopback
        return 4;
      case 9:
      case 50:
        return behind_ppp(at, 0, size);
      case 51:
        return behind_ppp(at, 6, size);
      case 104:  // Cisco's HDLC
        return behind_type(at, 2, size);
      case 113:  // Linux cooked
        return behind_type(at, 14, size);
      case 276: {
        const uint32_t found = size >= 20 ? behind_type(at, 0, size) : UINT32_MAX;
        return found == 2 ? 20 : UINT32_MAX;  // the type is the first thing in its header
      }
      default:  // IP alone
        return 0;
    }
  }
  void add(size_t begin, uint32_t size, uint32_t wire, int64_t time, uint32_t link) {
    Packet packet{time, begin, 0, {}, 0, 0, false, !known_link(link)};
    last_time_ = time;
    if (packet.unknown) {
      ++unknown_links_[link];
      packets_.push_back(packet);
      return;
    }
    const uint8_t* frame = data_ + begin;
    const uint32_t skipped = behind_link(frame, size, link);
    Carried carried{};
    if (skipped > size || !read_ip(frame + skipped, size - skipped, &carried)) {
      packets_.push_back(packet);
      return;
    }
    packet.wire = std::max(std::max(wire, size) - skipped, 1U);
    add_messages(frame + skipped, carried, packet);
  }
  void add_messages(const uint8_t* ip, const Carried& carried, Packet packet) {
    const uint8_t* at = ip + carried.at;
    const bool ports = carried.first && carried.at + 8 <= carried.end &&
                       (carried.protocol == Carried::UDP || carried.protocol == Carried::TCP);
    if (!ports || (big16(at) != 53 && big16(at + 2) != 53)) {
      push(packet, carried, false, nullptr, 0);
      return;
    }
    const uint32_t left = carried.end - carried.at;
    if (carried.protocol == Carried::UDP) {
      push(packet, carried, true, at + 8, left - 8);
      return;
    }
    const uint32_t header = left >= 20 ? 4U * (at[12] >> 4) : UINT32_MAX;
    if (header < 20 || header > left) {
      push(packet, carried, false, nullptr, 0);
      return;
    }
    add_segment(at, at + header, left - header, carried, packet);
  }
  // The messages of DNS that begin in a segment of TCP (RFC 7766): before each is its length. What
  // continues one is left out, and counts as a packet without a message.
  void add_segment(const uint8_t* tcp, const uint8_t* content, uint32_t size,
                   const Carried& carried, Packet packet) {
    std::string key(reinterpret_cast<const char*>(carried.from.data()), 16);
    key.append(reinterpret_cast<const char*>(carried.to.data()), 16);
    key.append(reinterpret_cast<const char*>(tcp), 4);
    const uint32_t sequence = big32(tcp + 4);
    if ((tcp[13] & 2) != 0) connections_[key] = {sequence + 1, 0, 0};  // SYN
    bool any = false;
    if (size > 0) {
      Connection& connection =
          connections_.try_emplace(key, Connection{sequence, 0, 0}).first->second;
      const uint32_t until = connection.next - sequence;  // bytes until what comes next
      // What came already, or continues a message, is passed over; behind a gap all begins anew
      const bool follows = until < uint32_t{1} << 17;
      if (!follows) connection.body = connection.half = 0;
      uint32_t place = follows ? until : 0;
      while (place < size) {
        uint32_t length = connection.body;
        if (length == 0) {
          if (connection.half == 0 && place + 1 == size) {  // the first byte of a length
            connection.half = 0x100U | content[place++];
            break;
          }
          length = connection.half == 0 ? big16(content + place)
                                        : (connection.half & 0xFF) << 8 | uint32_t{content[place]};
          place += connection.half == 0 ? 2 : 1;
        }
        connection.body = connection.half = 0;
        if (length < 12) {
          place = size;
          break;
        }
        if (place == size) {  // the length alone
          connection.body = length;
          break;
        }
        push(packet, carried, true, content + place, std::min(length, size - place));
        packet.wire = 1;  // the same packet once more
        any = true;
        place += length;
      }
      connection.next = sequence + place;
    }
    if (!any) push(packet, carried, false, nullptr, 0);
  }
  // `message`: of a packet that is about DNS, as far as it was captured. The client is the side
  // that asks: the QR bit of the header says whether a message is an answer (RFC 1035 s4.1.1).
  void push(Packet packet, const Carried& carried, bool dns, const uint8_t* message,
            uint32_t size) {
    packet.dns = dns;
    packet.size = size;
    packet.client = dns && size > 2 && (message[2] & 0x80) != 0 ? carried.to : carried.from;
    packet.hash =
        hash_of({reinterpret_cast<const char*>(packet.client.data()), packet.client.size()});
    if (dns) packet.begin = static_cast<size_t>(message - data_);
    packets_.push_back(packet);
  }
  // Leaves out late packets, and brings the others in the order of their times.
  void order(const EventTime::Rule& rule) {
    EventTime clock(rule);
    size_t kept = 0;
    for (size_t i = 0; i < packets_.size(); ++i) {
      const int64_t time = packets_[i].time;
      const bool late = time < clock.passed();
      clock.watch(time);
      if (late) {
        ++late_;
      } else {
        packets_[kept++] = packets_[i];
      }
    }
    packets_.resize(kept);
    ahead_ = clock.ahead();
    const auto earlier = [](const Packet& a, const Packet& b) { return a.time < b.time; };
    if (!std::is_sorted(packets_.begin(), packets_.end(), earlier))
      std::stable_sort(packets_.begin(), packets_.end(), earlier);
  }
  enum class Form { UNKNOWN, PCAP, PCAPNG, NONE };
  static constexpr size_t MOST_CONNECTIONS = size_t{1} << 20;  // of TCP, between two pieces
  static constexpr uint32_t MOST_BLOCK = 1 << 24;  // bytes of pcapng that a piece waits for
  const uint8_t* data_ = nullptr;
  size_t size_ = 0, at_ = 0;
  Form form_ = Form::UNKNOWN;
  bool swapped_ = false, known_ = false, truncated_ = false, last_ = true;
  int64_t unit_ = 1, last_time_ = 0;  // of times [ns]; of the packet before [ns]
  uint32_t link_ = 0;
  std::vector<Interface> interfaces_;
  uint64_t records_ = 0, broken_ = 0, first_broken_ = 0, late_ = 0, ahead_ = 0;
  std::map<uint32_t, uint64_t> unknown_links_;
  struct Connection {
    uint32_t next;  // the number of its byte at which the next message begins, or its length
    uint32_t body;  // bytes of that message, if its length has come; else 0
    uint32_t half;  // the first byte of its length and 0x100, if only that has come; else 0
  };
  std::unordered_map<std::string, Connection> connections_;
  std::vector<Packet> packets_;
};

}  // namespace millrace::applications
