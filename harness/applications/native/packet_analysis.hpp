// packet_analysis.hpp - the operators of PacketAnalysis (M19 s4.3): names that programs made up
// (DGA), tunnels through DNS, and clients with many queries.
//
// What is found must not depend on threads. So all counts are of tumbling windows by the time of
// packets, and whole numbers, which may be added in any order. The volume meter of a source tells
// all its channels when a window is over: such a mark goes the way of the tuples, and whatever
// keeps something of the window sends it before the mark.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "capture.hpp"
#include "domains.hpp"
#include "operator.hpp"
#include "sketches.hpp"
#include "windows.hpp"

namespace millrace::applications {

inline constexpr int64_t WINDOW = 20'000'000'000;  // ns
inline constexpr uint32_t CLASSES = 28;            // of characters: 26 letters, digits, others
inline constexpr uint32_t PRECISION = 6;           // of HyperLogLog: 64 registers
inline constexpr uint32_t LANES = 12;              // of an analysis behind the merge

struct Packet {
  int64_t time;   // of a mark: all windows that end by then are over
  uint64_t hash;  // of the client
  uint8_t client[16];
  uint32_t wire;      // bytes; of a mark 0
  uint32_t size;      // of the message
  uint32_t dns;       // 1: it has one
  uint8_t data[276];  // of the message of DNS: its header and the longest question fit
};
struct Query {
  int64_t time;
  uint64_t hash;
  uint8_t client[16];
  uint32_t wire;    // 0: a mark
  uint16_t type;    // what is asked for
  uint8_t code;     // of an answer: 0 found, 3 there is no such name
  uint8_t flags;    // ANSWER, VALID, BLOCKED
  uint16_t domain;  // where the primary domain begins in the name, and the name of it ends
  uint16_t label_end;
  Text<256> name;  // lower case; what is not a letter, digit, - or _ is ?
};
struct Label {
  int64_t time;
  uint8_t client[16];
  uint32_t wire;  // 0: a mark
  uint32_t code;
  double entropy, digits, likelihood, chance;
  Text<68> label;
};
struct Tunnelled {
  int64_t time;
  uint64_t name;  // its hash
  uint32_t wire;  // 0: a mark
  uint32_t length;
  Text<92> domain;
  uint8_t letters[CLASSES];  // of the sub-domain, by class
  uint32_t spare;
};
struct Alert {
  int64_t time;
  uint64_t count;
  uint64_t amount;  // of DGA: names that are not there; of a tunnel: bytes of sub-domains
  uint32_t kind;
  uint32_t way;  // of which channel it is
  Text<92> key;  // empty: a mark
  uint32_t letters[CLASSES];
  uint8_t registers[1 << PRECISION];
};
struct Report {
  int64_t end;  // of the window
  uint64_t count;
  uint32_t kind;
  Text<176> text;
};
static_assert(sizeof(Packet) == 320 && sizeof(Query) == 304 && sizeof(Label) == 136,
              "no holes: equal values are equal bytes");
static_assert(sizeof(Tunnelled) == 152 && sizeof(Alert) == 304 && sizeof(Report) == 200,
              "nor here");

enum Flags : uint8_t { ANSWER = 1, VALID = 2, BLOCKED = 4, OWN = 8 };
enum Kind : uint32_t { DGA, TUNNEL, CLIENT, DOMAIN_NAME, FAILED, ON_LIST, DOMAIN_NAMES };
inline constexpr uint32_t ANALYSES = 3;
inline constexpr size_t MOST_KEY = 92;  // bytes; of a longer one the last ones
inline uint32_t analysis_of(uint32_t kind) noexcept { return std::min<uint32_t>(kind, 2); }

inline bool is_mark(const Alert& alert) noexcept { return alert.key.length == 0; }
inline uint32_t lane_of(std::string_view key) noexcept {
  return static_cast<uint32_t>((hash_of(key) >> 32) * LANES >> 32);
}

// Several domains of a lane in an alert, each with its count, where an alert of another kind has
// letters and registers: an alert for each would be most of all tuples.
class Packed {
 public:
  static constexpr size_t ROOM = sizeof(Alert::letters) + sizeof(Alert::registers);
  static_assert(offsetof(Alert, registers) == offsetof(Alert, letters) + sizeof(Alert::letters));
  void clear() noexcept { size_ = 0; }
  bool fits(std::string_view domain) const noexcept {
    return size_ + sizeof(uint32_t) + 1 + domain.size() + 1 <= ROOM;
  }
  void add(std::string_view domain, uint64_t count) noexcept {
    const uint32_t given = static_cast<uint32_t>(count);
    bytes_[size_] = static_cast<char>(domain.size());
    std::memcpy(bytes_ + size_ + 1, &given, sizeof given);
    std::memcpy(bytes_ + size_ + 1 + sizeof given, domain.data(), domain.size());
    size_ += 1 + sizeof given + domain.size();
  }
  bool empty() const noexcept { return size_ == 0; }
  void write(Alert* alert) const noexcept {
    char* to = reinterpret_cast<char*>(alert) + offsetof(Alert, letters);
    std::memcpy(to, bytes_, size_);
    std::memset(to + size_, 0, ROOM - size_);
  }
  // f(domain, count) of each. Below 0: an error.
  template <class F>
  static int32_t each(const Alert& alert, F&& f) {
    const char* at = reinterpret_cast<const char*>(&alert) + offsetof(Alert, letters);
    for (const char* end = at + ROOM; at < end && *at != 0;) {
      const size_t length = static_cast<unsigned char>(*at);
      uint32_t count;
      std::memcpy(&count, at + 1, sizeof count);
      const int32_t answer = f(std::string_view(at + 1 + sizeof count, length), count);
      if (answer < 0) return answer;
      at += 1 + sizeof count + length;
    }
    return 0;
  }

 private:
  char bytes_[ROOM];
  size_t size_ = 0;
};

inline uint32_t class_of(char letter) noexcept {
  if (letter >= 'a' && letter <= 'z') return static_cast<uint32_t>(letter - 'a');
  return letter >= '0' && letter <= '9' ? 26 : 27;
}

inline std::string text_of(const uint8_t* client) {
  char text[48];
  if (client[10] == 0xFF && client[11] == 0xFF &&
      std::all_of(client, client + 10, [](uint8_t byte) { return byte == 0; })) {
    std::snprintf(text, sizeof text, "%u.%u.%u.%u", client[12], client[13], client[14], client[15]);
  } else {
    std::string found;
    for (int i = 0; i < 16; i += 2) {
      std::snprintf(text, sizeof text, i == 0 ? "%x" : ":%x", client[i] << 8 | client[i + 1]);
      found += text;
    }
    return found;
  }
  return text;
}

inline std::string_view last_of(std::string_view text, size_t most) noexcept {
  return text.substr(text.size() > most ? text.size() - most : 0);
}

// Copies a tuple to an output port.
template <class T>
void pass(millrace_context* context, uint32_t output, const T& tuple) noexcept {
  room<T>(context, output) = tuple;
  millrace_send(context, output);
}

// -- a source -------------------------------------------------------------------------------------

// A packet as a tuple; `at`: what was captured of its message.
inline void fill(const Capture::Packet& packet, const uint8_t* at, int64_t time,
                 Packet* out) noexcept {
  out->time = time;
  out->hash = packet.hash;
  std::memcpy(out->client, packet.client.data(), sizeof out->client);
  out->wire = packet.wire;
  out->dns = packet.dns;
  out->size = std::min<uint32_t>(packet.size, sizeof out->data);
  std::memcpy(out->data, at, out->size);
  std::memset(out->data + out->size, 0, sizeof out->data - out->size);
}

// A source of packets. It counts packets; those that are not IP; records that could not be read;
// packets that are late, and ahead of time.
class PacketSource : public Operator {
 public:
  uint64_t left_out(Left why) const noexcept override {
    if (why == Left::BROKEN) return counted(2);
    if (why == Left::LATE) return counted(3);
    return why == Left::AHEAD ? counted(4) : 0;
  }
  const Example* example(Left why) const noexcept override {
    if (why != Left::BROKEN || counted(2) == 0) return nullptr;
    first_broken_.number = source().first_broken();
    return &first_broken_;
  }

 protected:
  virtual const Capture& source() const noexcept = 0;

 private:
  mutable Example first_broken_{0, "its header cannot be"};
};

// The packets of a capture whose clients are of share `share` of `shares`. Begins again at the end,
// `cycles` times in all (0: for ever).
class Packets : public PacketSource {
 public:
  Packets(const Capture* capture, uint32_t share, uint32_t shares, uint64_t cycles)
      : capture_(capture), cycles_(cycles), first_(share == 0) {
    for (uint32_t i = 0; i < capture->size(); ++i) {
      if (((capture->packets()[i].hash & UINT32_MAX) * shares) >> 32 == share) own_.push_back(i);
    }
  }
  int32_t step(millrace_context* context) override {
    if (at_ == own_.size()) {
      if (own_.empty() || ++cycle_ == cycles_) return MILLRACE_END;
      at_ = 0;
      shift_ += capture_->span();
    }
    const Capture::Packet& packet = capture_->packets()[own_[at_++]];
    ++seen_;
    if (packet.wire == 0) {
      ++(packet.unknown ? unknown_ : others_);
      return MILLRACE_MORE;
    }
    fill(packet, capture_->data() + packet.begin, packet.time + shift_, &room<Packet>(context, 0));
    millrace_send(context, 0);
    return MILLRACE_MORE;
  }
  uint64_t counted(uint32_t which) const noexcept override {
    const uint64_t cycles = first_ ? cycle_ + (cycles_ == 0 || cycle_ < cycles_ ? 1 : 0) : 0;
    return std::array<uint64_t, 5>{seen_, others_, capture_->broken() * cycles,
                                   capture_->late() * cycles, capture_->ahead() * cycles}[which];
  }

 protected:
  const Capture& source() const noexcept override { return *capture_; }

 private:
  const Capture* capture_;
  std::vector<uint32_t> own_;
  size_t at_ = 0;
  uint64_t cycles_, cycle_ = 0, seen_ = 0, others_ = 0, unknown_ = 0;
  int64_t shift_ = 0;
  bool first_;
};

// The packets of a capture that comes in pieces. They are sent in the order of their times: each
// waits for the piece behind its own, or, of a `live` input, until nothing has come for PATIENCE. A
// packet that is earlier than one that was sent is late.
class PacketsInPieces : public PacketSource {
 public:
  PacketsInPieces(const EventTime::Rule& rule, bool live) : clock_(rule), live_(live) {}
  Pieces* pieces() noexcept override { return &pieces_; }
  const Capture& capture() const noexcept { return capture_; }
  int32_t step(millrace_context* context) override {
    if (at_ == ready_) {
      const int32_t answer = next_piece();
      if (answer != MILLRACE_MORE || at_ == ready_) return answer;
    }
    room<Packet>(context, 0) = waiting_[at_++];
    millrace_send(context, 0);
    return MILLRACE_MORE;
  }
  uint64_t counted(uint32_t which) const noexcept override {
    return std::array<uint64_t, 5>{seen_, others_, capture_.broken(), late_, clock_.ahead()}[which];
  }

 protected:
  const Capture& source() const noexcept override { return capture_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds PATIENCE{1};
  int32_t next_piece() {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(at_));
    at_ = ready_ = 0;
    const Pieces::Next found = pieces_.take(&rest_);
    if (found == Pieces::Next::NONE_NOW) {
      if (!live_ || waiting_.empty() || Clock::now() - came_ < PATIENCE) return MILLRACE_IDLE;
      make_ready(clock_.reached());
      return at_ == ready_ ? MILLRACE_IDLE : MILLRACE_MORE;
    }
    came_ = Clock::now();
    const bool last = found == Pieces::Next::ENDED;
    const int64_t before = clock_.reached();
    if (!rest_.empty()) {
      const size_t whole = capture_.read(rest_.data(), rest_.size(), last);
      for (const Capture::Packet& packet : capture_.packets()) take(packet);
      rest_.erase(0, last ? rest_.size() : whole);
    }
    make_ready(last ? INT64_MAX : before);
    return last && at_ == ready_ ? MILLRACE_END : MILLRACE_MORE;
  }
  void take(const Capture::Packet& packet) {
    ++seen_;
    if (packet.wire == 0) {
      others_ += !packet.unknown;
      return;
    }
    const bool late = packet.time < sent_ || packet.time < clock_.passed();
    clock_.watch(packet.time);
    if (late) {
      ++late_;
      return;
    }
    waiting_.emplace_back();
    fill(packet, capture_.data() + packet.begin, packet.time, &waiting_.back());
  }
  // Packets until `time` are to be sent.
  void make_ready(int64_t time) {
    const auto earlier = [](const Packet& a, const Packet& b) { return a.time < b.time; };
    if (!std::is_sorted(waiting_.begin(), waiting_.end(), earlier))
      std::stable_sort(waiting_.begin(), waiting_.end(), earlier);
    const auto end = std::find_if(waiting_.begin(), waiting_.end(),
                                  [time](const Packet& each) { return each.time > time; });
    ready_ = static_cast<size_t>(end - waiting_.begin());
    if (ready_ > 0) sent_ = waiting_[ready_ - 1].time;
  }
  Pieces pieces_;
  Capture capture_;
  EventTime clock_;
  bool live_;
  std::string rest_;             // bytes that are not read yet
  std::vector<Packet> waiting_;  // packets in the order of their times, once they are ready
  size_t at_ = 0, ready_ = 0;    // of them: the next one, and the end of those to be sent
  int64_t sent_ = INT64_MIN;     // the time of the last one that is ready
  uint64_t seen_ = 0, others_ = 0, late_ = 0;
  Clock::time_point came_ = Clock::now();
};

// Packets to the channel of their client, and marks to all; it counts packets and bytes.
class VolumeMeter : public Operator {
 public:
  explicit VolumeMeter(uint32_t channels) : channels_(channels) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Packet& in = *static_cast<const Packet*>(tuple);
    const int64_t begin = floor_div(in.time, WINDOW) * WINDOW;
    if (begin > begin_) {
      if (packets_ > 0) mark(context, begin);
      begin_ = begin;
      peak_ = std::max(peak_, in_window_);
      in_window_ = 0;
    }
    ++packets_;
    ++in_window_;
    bytes_ += in.wire;
    pass(context, static_cast<uint32_t>((in.hash >> 32) * channels_ >> 32), in);
    return 0;
  }
  int32_t finish(millrace_context* context) override {
    mark(context, INT64_MAX);
    return 0;
  }
  // packets, bytes, the most packets of a window
  uint64_t counted(uint32_t which) const noexcept override {
    return which == 0 ? packets_ : which == 1 ? bytes_ : std::max(peak_, in_window_);
  }

 private:
  void mark(millrace_context* context, int64_t time) {
    Packet mark{};
    mark.time = time;
    for (uint32_t channel = 0; channel < channels_; ++channel) pass(context, channel, mark);
  }
  uint32_t channels_;
  int64_t begin_ = INT64_MIN;
  uint64_t packets_ = 0, bytes_ = 0, in_window_ = 0, peak_ = 0;
};

// -- a channel: common ----------------------------------------------------------------------------

// The header and the question of a DNS message (RFC 1035 s4.1).
class ParseDns : public LeavesOut {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Packet& in = *static_cast<const Packet*>(tuple);
    Query& out = room<Query>(context, 0);
    if (in.wire == 0) {
      out.type = 0;
      out.code = out.flags = 0;
      out.name.set({});
    } else {
      if (in.dns == 0) {
        ++others_;
        return 0;
      }
      if (!question(in.data, in.data + in.size, &out)) {
        left_out_.add_record(Left::BROKEN, Example::UNKNOWN,
                             {reinterpret_cast<const char*>(in.data), in.size});
        return 0;
      }
    }
    out.time = in.time;
    out.hash = in.hash;
    std::memcpy(out.client, in.client, sizeof out.client);
    out.wire = in.wire;
    out.domain = out.label_end = 0;
    millrace_send(context, 0);
    return 0;
  }
  // packets that are not DNS; messages that could not be read
  uint64_t counted(uint32_t which) const noexcept override {
    return which == 0 ? others_ : left_out_[Left::BROKEN];
  }

 private:
  static bool question(const uint8_t* at, const uint8_t* end, Query* out) noexcept {
    if (end - at < 12) return false;
    const bool answer = (at[2] & 0x80) != 0;
    out->code = static_cast<uint8_t>(answer ? at[3] & 15 : 0);
    out->flags = answer ? ANSWER : 0;
    // a standard query with one question
    const bool plain = (at[2] & 0x78) == 0 && big16(at + 4) == 1;
    if (!plain) {  // behind another header there may be anything, or nothing
      out->type = 0;
      out->name.set({});
      return true;
    }
    at += 12;
    char name[254];
    size_t size = 0;
    for (;;) {
      if (at == end) return false;
      const uint8_t length = *at++;
      if (length == 0) break;
      if (length > 63 || end - at < length || size + length + (size > 0) > 253) return false;
      if (size > 0) name[size++] = '.';
      for (uint8_t i = 0; i < length; ++i) name[size++] = letter_of(*at++);
    }
    if (end - at < 4) return false;
    out->type = big16(at);
    if (big16(at + 2) == 1 && size > 0)  // of class IN
      out->flags = static_cast<uint8_t>(out->flags | VALID);
    out->name.set({name, size});
    return true;
  }
  static char letter_of(uint8_t byte) noexcept {
    if (byte >= 'A' && byte <= 'Z') return static_cast<char>(byte + 32);
    const bool plain =
        (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    return plain ? static_cast<char>(byte) : '?';
  }
  uint64_t others_ = 0;
};

class ValidOnly : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Query& in = *static_cast<const Query*>(tuple);
    if (in.wire > 0 && (in.flags & VALID) == 0) {
      ++odd_;
      return 0;
    }
    pass(context, 0, in);
    return 0;
  }
  // Messages that are no plain question or answer.
  uint64_t counted(uint32_t) const noexcept override { return odd_; }

 private:
  uint64_t odd_ = 0;
};

// The place in a name at which its registered domain begins.
class FindDomain : public Operator {
 public:
  explicit FindDomain(const Suffixes* suffixes) : suffixes_(suffixes) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Query& in = *static_cast<const Query*>(tuple);
    Query& out = room<Query>(context, 0);
    out = in;
    if (in.wire > 0) {
      const Suffixes::Place place = suffixes_->of(in.name.view());
      out.domain = static_cast<uint16_t>(place.domain);
      out.label_end = static_cast<uint16_t>(place.label_end);
    }
    millrace_send(context, 0);
    return 0;
  }

 private:
  const Suffixes* suffixes_;
};

// Marks what is of a domain on a list, and what is of a domain of one's own.
class BlockList : public Operator {
 public:
  BlockList(const std::vector<std::string>& listed, const std::vector<std::string>& own)
      : listed_(listed), own_(own) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Query& in = *static_cast<const Query*>(tuple);
    Query& out = room<Query>(context, 0);
    out = in;
    if (in.wire > 0) {
      if (listed_.have(in.name.view())) {
        out.flags |= BLOCKED;
        ++blocked_;
      }
      if (own_.have(in.name.view())) out.flags |= OWN;
    }
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return blocked_; }

 private:
  Domains listed_, own_;
  uint64_t blocked_ = 0;
};

// -- a channel: names that programs made up -------------------------------------------------------

// Answers about addresses, of names that are long enough to tell: their labels.
class LabelsOnly : public Operator {
 public:
  static constexpr size_t SHORTEST = 7;
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Query& in = *static_cast<const Query*>(tuple);
    const size_t length = static_cast<size_t>(in.label_end - in.domain);
    const bool address = in.type == 1 || in.type == 28;
    const bool answer = (in.flags & (ANSWER | BLOCKED | OWN)) == ANSWER;
    if (in.wire > 0 && (!answer || !address || length < SHORTEST)) return 0;
    Label& out = room<Label>(context, 0);
    out.time = in.time;
    std::memcpy(out.client, in.client, sizeof out.client);
    out.wire = in.wire;
    out.code = in.code;
    out.entropy = out.digits = out.likelihood = out.chance = 0.0;
    out.label.set(in.name.view().substr(in.domain, length));
    millrace_send(context, 0);
    return 0;
  }
};

// What the models of names need: logarithms and the likelihood of pairs of letters, made where the
// reference's are.
struct Tables {
  std::array<double, 65> log2;
  std::array<std::array<double, CLASSES>, CLASSES> pairs;
};

// Shannon's entropy of the letters of a label [bit], and its share of digits (Yadav et al., IMC
// 2010, compare distributions of letters).
class Lexical : public Operator {
 public:
  explicit Lexical(const Tables* tables) : tables_(tables) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    Label& out = room<Label>(context, 0);
    out = *static_cast<const Label*>(tuple);
    if (out.wire > 0) {
      std::array<uint8_t, 256> counts{};
      uint32_t digits = 0;
      for (const char letter : out.label.view()) {
        ++counts[static_cast<uint8_t>(letter)];
        digits += letter >= '0' && letter <= '9';
      }
      double sum = 0.0;
      const double length = out.label.length;
      for (const char letter : out.label.view()) {  // each letter where it comes first
        uint8_t& count = counts[static_cast<uint8_t>(letter)];
        sum += count * tables_->log2[count];
        count = 0;
      }
      out.entropy = tables_->log2[out.label.length] - sum / length;
      out.digits = digits / length;
    }
    millrace_send(context, 0);
    return 0;
  }

 private:
  const Tables* tables_;
};

// The mean logarithm of the likelihood of its pairs of letters (as Schiavoni et al., Phoenix, DIMVA
// 2014, tell names that can be pronounced).
class PairScore : public Operator {
 public:
  explicit PairScore(const Tables* tables) : tables_(tables) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    Label& out = room<Label>(context, 0);
    out = *static_cast<const Label*>(tuple);
    if (out.wire > 0) {
      double sum = 0.0;
      for (uint32_t i = 1; i < out.label.length; ++i)
        sum += tables_->pairs[class_of(out.label.text[i - 1])][class_of(out.label.text[i])];
      out.likelihood = sum / (out.label.length - 1);
    }
    millrace_send(context, 0);
    return 0;
  }

 private:
  const Tables* tables_;
};

// The chance that a label was made up, by logistic regression.
class Logistic : public Operator {
 public:
  explicit Logistic(const std::array<double, 5>& weights) : weights_(weights) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    Label& out = room<Label>(context, 0);
    out = *static_cast<const Label*>(tuple);
    if (out.wire > 0) {
      const double sum = weights_[0] + weights_[1] * out.label.length + weights_[2] * out.entropy +
                         weights_[3] * out.digits + weights_[4] * out.likelihood;
      out.chance = 1.0 / (1.0 + std::exp(-sum));
    }
    millrace_send(context, 0);
    return 0;
  }

 private:
  std::array<double, 5> weights_;
};

// What is more likely made up than not, as an alert of its client.
class MadeUpOnly : public Operator {
 public:
  explicit MadeUpOnly(uint32_t way) : way_(way) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Label& in = *static_cast<const Label*>(tuple);
    if (in.wire > 0 && in.chance < 0.5) return 0;
    Alert alert{};
    alert.time = in.time;
    alert.kind = DGA;
    alert.way = way_;
    if (in.wire > 0) {
      alert.count = 1;
      alert.amount = in.code == 3 ? 1 : 0;
      alert.key.set(text_of(in.client));
    }
    pass(context, 0, alert);
    return 0;
  }

 private:
  uint32_t way_;
};

// -- a channel: tunnels ---------------------------------------------------------------------------

// A name that begins with an address, as block lists and look-ups of names are asked: four numbers
// of a byte, or 32 hexadecimal digits.
inline bool begins_with_address(std::string_view name) noexcept {
  uint32_t numbers = 0, digits = 0;
  for (;;) {
    const std::string_view label = name.substr(0, name.find('.'));
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
    const bool number = error == std::errc() && end == label.data() + label.size() && value < 256;
    const bool digit = label.size() == 1 && std::isxdigit(static_cast<unsigned char>(label[0]));
    numbers = number ? numbers + 1 : 0;
    digits = digit ? digits + 1 : 0;
    if (numbers == 4 || digits == 32) return true;
    if ((!number && !digit) || label.size() == name.size()) return false;
    name.remove_prefix(label.size() + 1);
  }
}

// Questions with long sub-domains, or for what carries much (TXT, NULL): what a tunnel sends is in
// its names. A look-up of an address is none.
class LongOnly : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Query& in = *static_cast<const Query*>(tuple);
    const bool carries = in.type == 16 || in.type == 10;
    if (in.wire > 0) {
      if ((in.flags & (ANSWER | BLOCKED | OWN)) != 0 || in.domain < (carries ? 6 : 17)) return 0;
      const std::string_view name = in.name.view();
      if (name.ends_with(".arpa") || begins_with_address(name)) return 0;
    }
    pass(context, 0, in);
    return 0;
  }
};

// The letters of a sub-domain, by class.
class SubDomain : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Query& in = *static_cast<const Query*>(tuple);
    Tunnelled& out = room<Tunnelled>(context, 0);
    out.time = in.time;
    out.wire = in.wire;
    out.spare = 0;
    std::memset(out.letters, 0, sizeof out.letters);
    const std::string_view name = in.name.view();
    const std::string_view below = name.substr(0, in.domain > 0 ? in.domain - 1U : 0U);
    for (const char letter : below)
      out.letters[class_of(letter)] =
          static_cast<uint8_t>(out.letters[class_of(letter)] + (letter != '.'));
    out.name = hash_of(below);
    out.length = static_cast<uint32_t>(below.size());
    out.domain.set(last_of(name.substr(in.domain), 92));
    millrace_send(context, 0);
    return 0;
  }
};

struct TunnelState {
  uint64_t bytes;
  std::array<uint32_t, CLASSES> letters;
  std::array<uint8_t, 1 << PRECISION> registers;
  void add(const Tunnelled& in, uint64_t) noexcept {
    bytes += in.length;
    for (uint32_t i = 0; i < CLASSES; ++i) letters[i] += in.letters[i];
    hyperloglog::add(registers.data(), PRECISION, in.name);
  }
  void combine(const TunnelState&) noexcept {}  // windows tumble
};

// What each domain was asked for in a window: different names by HyperLogLog (per domain, not per
// question: Preston, Detecting DNS tunnels, 2019).
class NamesOfDomain : public Operator {
 public:
  explicit NamesOfDomain(uint32_t way) : way_(way) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Tunnelled& in = *static_cast<const Tunnelled*>(tuple);
    if (in.wire > 0) return windows_.add(in.domain.view(), in.time, tuple);
    const int32_t answer = windows_.advance(
        in.time, [&](std::string_view key, const char* state, const millrace_window& window) {
          const TunnelState& names = *reinterpret_cast<const TunnelState*>(state);
          Alert alert{};
          alert.time = window.begin;
          alert.count = window.count;
          alert.amount = names.bytes;
          alert.kind = TUNNEL;
          alert.way = way_;
          alert.key.set(key);
          std::copy(names.letters.begin(), names.letters.end(), alert.letters);
          std::copy(names.registers.begin(), names.registers.end(), alert.registers);
          pass(context, 0, alert);
          return 0;
        });
    if (answer < 0) return answer;
    Alert mark{};
    mark.time = in.time;
    mark.kind = TUNNEL;
    mark.way = way_;
    pass(context, 0, mark);
    return 0;
  }

 private:
  uint32_t way_;
  TimeWindows<TypedFold<TunnelState, Tunnelled>> windows_{{}, WINDOW, WINDOW};
};

// Domains but those of services whose names carry data as they are meant to: block lists, caches
// and clouds.
class NoService : public Operator {
 public:
  explicit NoService(const std::vector<std::string>& services) : services_(services) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    if (is_mark(in) || !services_.have(in.key.view())) pass(context, 0, in);
    return 0;
  }

 private:
  Domains services_;
};

// -- a channel: volumes ---------------------------------------------------------------------------

// What keeps counts of a window, and sends alerts of it.
class Counting : public Operator {
 public:
  explicit Counting(uint32_t way) : way_(way) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) final {
    const Query& in = *static_cast<const Query*>(tuple);
    if (in.wire > 0) {
      begin_ = floor_div(in.time, WINDOW) * WINDOW;
      return count(context, in);
    }
    over(context);
    Alert mark{};
    mark.time = in.time;
    mark.kind = CLIENT;
    mark.way = way_;
    pass(context, 0, mark);
    return 0;
  }

 protected:
  virtual int32_t count(millrace_context* context, const Query& in) = 0;  // below 0: an error
  virtual void over(millrace_context* context) = 0;
  void send(millrace_context* context, Kind kind, std::string_view key, uint64_t count,
            uint64_t amount, const Packed* packed = nullptr) {
    Alert alert{};
    alert.time = begin_;
    alert.count = count;
    alert.amount = amount;
    alert.kind = kind;
    alert.way = way_;
    alert.key.set(last_of(key, MOST_KEY));
    if (packed != nullptr) packed->write(&alert);
    pass(context, 0, alert);
  }

 private:
  uint32_t way_;
  int64_t begin_ = 0;
};

// Clients whose packets in a window have come to MANY: an alert for each MANY of them.
class BusyClients : public Counting {
 public:
  static constexpr uint64_t MANY = 100;
  using Counting::Counting;

 protected:
  int32_t count(millrace_context* context, const Query& in) override {
    const uint32_t found =
        packets_.at({reinterpret_cast<const char*>(in.client), sizeof in.client});
    if (found == KeyTable::NONE) return TOO_MANY_KEYS;
    uint64_t& count = *reinterpret_cast<uint64_t*>(packets_.record(found));
    if (++count % MANY == 0) send(context, CLIENT, text_of(in.client), MANY, 0);
    return 0;
  }
  void over(millrace_context*) override { packets_.clear(); }

 private:
  KeyTable packets_{sizeof(uint64_t)};
};

// What each domain is asked for in a window. All are told, for a domain that few clients of each
// channel ask for may be asked for by many.
class AskedDomains : public Counting {
 public:
  using Counting::Counting;

 protected:
  int32_t count(millrace_context*, const Query& in) override {
    if ((in.flags & ANSWER) != 0) return 0;
    const uint32_t found = domains_.at(in.name.view().substr(in.domain));
    if (found == KeyTable::NONE) return TOO_MANY_KEYS;
    ++*reinterpret_cast<uint64_t*>(domains_.record(found));
    return 0;
  }
  void over(millrace_context* context) override {
    for (uint32_t i = 0; i < domains_.size(); ++i) {
      const std::string_view domain = last_of(domains_.key(i), MOST_KEY);
      const uint32_t lane = lane_of(domain);
      if (!packed_[lane].fits(domain)) send_packed(context, lane);
      packed_[lane].add(domain, *reinterpret_cast<const uint64_t*>(domains_.record(i)));
    }
    domains_.clear();
    for (uint32_t lane = 0; lane < LANES; ++lane) {
      if (!packed_[lane].empty()) send_packed(context, lane);
    }
  }

 private:
  void send_packed(millrace_context* context, uint32_t lane) {
    send(context, DOMAIN_NAMES, "domains", lane, 0, &packed_[lane]);
    packed_[lane].clear();
  }
  std::array<Packed, LANES> packed_;
  KeyTable domains_{sizeof(uint64_t)};
};

// Answers in a window by their code, and questions for what is on the list.
class AnswerCodes : public Counting {
 public:
  using Counting::Counting;

 protected:
  int32_t count(millrace_context*, const Query& in) override {
    if ((in.flags & ANSWER) != 0) {
      ++answers_;
      if (in.code != 0) ++failed_[in.code <= 3 ? in.code - 1U : in.code == 5 ? 3U : 4U];
    } else {
      blocked_ += (in.flags & BLOCKED) != 0;
    }
    return 0;
  }
  void over(millrace_context* context) override {
    static constexpr std::array<const char*, 5> NAMES{"FORMERR", "SERVFAIL", "NXDOMAIN", "REFUSED",
                                                      "other codes"};
    for (size_t i = 0; answers_ > 0 && i < NAMES.size(); ++i)
      send(context, FAILED, NAMES[i], failed_[i], answers_);
    if (blocked_ > 0) send(context, ON_LIST, "block list", blocked_, 0);
    failed_.fill(0);
    answers_ = blocked_ = 0;
  }

 private:
  std::array<uint64_t, 5> failed_{};
  uint64_t answers_ = 0, blocked_ = 0;
};

// The alerts of all three, on one stream; a mark when it has come from each of them.
class EmitRates : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    if (port > 2) return WRONG_PORT;
    if (!is_mark(in)) {
      pass(context, 0, in);
      return 0;
    }
    reached_[port] = in.time;
    const int64_t all = std::min({reached_[0], reached_[1], reached_[2]});
    if (all > told_) {
      told_ = all;
      room<Alert>(context, 0) = in;
      room<Alert>(context, 0).time = all;
      millrace_send(context, 0);
    }
    return 0;
  }

 private:
  std::array<int64_t, 3> reached_{INT64_MIN, INT64_MIN, INT64_MIN};
  int64_t told_ = INT64_MIN;
};

// -- behind the channels --------------------------------------------------------------------------

// Alerts to the analysis of their kind; a mark there when it has come from all channels.
class MergeAlerts : public Operator {
 public:
  explicit MergeAlerts(uint32_t ways) {
    for (auto& each : reached_) each.assign(ways, INT64_MIN);
  }
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    const uint32_t analysis = analysis_of(in.kind);
    if (!is_mark(in)) {
      pass(context, analysis, in);
      return 0;
    }
    std::vector<int64_t>& reached = reached_[analysis];
    reached[in.way] = in.time;
    const int64_t all = *std::min_element(reached.begin(), reached.end());
    if (all > told_[analysis]) {
      told_[analysis] = all;
      room<Alert>(context, analysis) = in;
      room<Alert>(context, analysis).time = all;
      millrace_send(context, analysis);
    }
    return 0;
  }

 private:
  std::array<std::vector<int64_t>, ANALYSES> reached_;
  std::array<int64_t, ANALYSES> told_{INT64_MIN, INT64_MIN, INT64_MIN};
};

// Alerts to the lane of their key, and marks to all.
class RouteAlerts : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    if (!is_mark(in)) {
      const uint32_t lane =
          in.kind == DOMAIN_NAMES ? static_cast<uint32_t>(in.count) : lane_of(in.key.view());
      pass(context, lane, in);
    } else {
      for (uint32_t lane = 0; lane < LANES; ++lane) pass(context, lane, in);
    }
    return 0;
  }
};

// What alerts of a kind and a key come to in a window.
class AggregateAlerts : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    if (in.kind == DOMAIN_NAMES && !is_mark(in)) {
      return Packed::each(in, [&](std::string_view domain, uint64_t count) {
        Alert one{};
        one.time = in.time;
        one.count = count;
        one.kind = DOMAIN_NAME;
        one.key.set(domain);
        return add(one);
      });
    }
    if (!is_mark(in)) return add(in);
    return windows_.advance(
        in.time, [&](std::string_view, const char* state, const millrace_window& window) {
          Alert& out = room<Alert>(context, 0);
          out = reinterpret_cast<const State*>(state)->sum;
          out.time = window.end;
          out.way = 0;
          millrace_send(context, 0);
          return 0;
        });
  }

 private:
  struct State {
    Alert sum;
    void add(const Alert& in, uint64_t count) noexcept {
      if (count == 0) {
        sum = in;
        return;
      }
      sum.count += in.count;
      sum.amount += in.amount;
      for (uint32_t i = 0; i < CLASSES; ++i) sum.letters[i] += in.letters[i];
      hyperloglog::merge(sum.registers, in.registers, PRECISION);
    }
    void combine(const State&) noexcept {}  // windows tumble
  };
  int32_t add(const Alert& in) {
    key_.assign(1, static_cast<char>(in.kind)).append(in.key.view());
    return windows_.add(key_, in.time, &in);
  }
  std::string key_;
  TimeWindows<TypedFold<State, Alert>> windows_{{}, WINDOW, WINDOW};
};

// How far the letters of what was sent are from those of natural names: half the sum of the
// differences of shares, in thousandths (Born and Gustafson, Detecting DNS tunnels using character
// frequency analysis, 2010). `natural` has shares in thousandths.
inline uint64_t departure_of(const uint32_t* letters,
                             const std::array<uint32_t, CLASSES>& natural) noexcept {
  uint64_t all = 0, sum = 0;
  for (uint32_t i = 0; i < CLASSES; ++i) all += letters[i];
  if (all == 0) return 0;
  for (uint32_t i = 0; i < CLASSES; ++i) {
    const uint64_t share = 1000 * uint64_t{letters[i]} / all;
    sum += share > natural[i] ? share - natural[i] : natural[i] - share;
  }
  return sum / 2;
}

// About how many names of a domain were asked for, never more than questions.
inline uint64_t names_of(const Alert& tunnel) noexcept {
  return std::min(hyperloglog::estimate(tunnel.registers, PRECISION), tunnel.count);
}

// What is worth a report.
class Threshold : public Operator {
 public:
  explicit Threshold(const std::array<uint32_t, CLASSES>& natural) : natural_(natural) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    if (reaches(in)) pass(context, 0, in);
    return 0;
  }

 private:
  // Bytes of a sub-domain, on average: names of machines are shorter; a guess, not tuned
  static constexpr uint64_t LEAST_CARRIED = 24;
  bool reaches(const Alert& in) const noexcept {
    switch (in.kind) {
      case DGA:
        // most are not there (Antonakakis et al., USENIX Security 2012)
        return in.count >= 5 && 2 * in.amount >= in.count;
      case TUNNEL:
        return names_of(in) >= 20 && in.amount >= LEAST_CARRIED * in.count &&
               departure_of(in.letters, natural_) >= 250;
      case CLIENT:
        return true;
      case DOMAIN_NAME:
        return in.count >= 100;
      case FAILED:
        return in.count >= 10 && 10 * in.count >= in.amount;
      default:
        return true;
    }
  }
  std::array<uint32_t, CLASSES> natural_;
};

// Alerts in words.
class FormatAlerts : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Alert& in = *static_cast<const Alert*>(tuple);
    const std::string key(in.key.view());
    const unsigned long long count = in.count, amount = in.amount,
                             names = in.kind == TUNNEL ? names_of(in) : 0;
    char text[sizeof(Report::text.text) + 1];
    switch (in.kind) {
      case DGA:
        std::snprintf(text, sizeof text, "%s asked for %llu made-up names, %llu are not there",
                      key.c_str(), count, amount);
        break;
      case TUNNEL:
        std::snprintf(text, sizeof text, "%s: %llu names in %llu questions carry %llu bytes",
                      key.c_str(), names, count, amount);
        break;
      case CLIENT:
        std::snprintf(text, sizeof text, "%s: about %llu packets", key.c_str(), count);
        break;
      case DOMAIN_NAME:
        std::snprintf(text, sizeof text, "%s: %llu questions", key.c_str(), count);
        break;
      case FAILED:
        std::snprintf(text, sizeof text, "%s: %llu of %llu answers", key.c_str(), count, amount);
        break;
      default:
        std::snprintf(text, sizeof text, "%s: %llu questions", key.c_str(), count);
    }
    Report& out = room<Report>(context, 0);
    out.end = in.time;
    out.count = in.count;
    out.kind = in.kind;
    out.text.set(text);
    millrace_send(context, 0);
    return 0;
  }
};

}  // namespace millrace::applications
