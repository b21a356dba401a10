// domains.hpp - the registered domain in a name of DNS, by public suffixes; and sets of domains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::applications {

// A set of endings of names. An ending consists of whole labels, up to the last one of a name. With
// an ending the set has each shorter ending of it. So the search of a name goes from its last label
// backwards and stops at the first ending that is not in the set: for most names after one label or
// two.
class Endings {
 public:
  enum Kind : uint8_t { ABSENT = 0, PART = 1, RULE = 2, ANY_BELOW = 4, EXCEPTION = 8 };
  bool empty() const noexcept { return entries_.empty(); }
  void add(std::string_view ending, Kind kind) {
    Label label{ending.size()};
    while (label.find_begin(ending), label.begin > 0) {
      mark(ending.substr(label.begin), label.hash, PART);
      label.go_before();
    }
    mark(ending, label.hash, kind);
  }
  // Calls found(begin, kind) for each ending of a name, the shortest first, while it returns true.
  // The last one may be absent.
  template <class F>
  void each(std::string_view name, F&& found) const noexcept {
    for (Label label{name.size()};; label.go_before()) {
      label.find_begin(name);
      const uint32_t entry = find(name.substr(label.begin), label.hash);
      const uint32_t kind = entry == 0 ? uint32_t{ABSENT} : entries_[entry - 1].kind;
      if (!found(label.begin, kind) || kind == ABSENT || label.begin == 0) return;
    }
  }

 private:
  // A label of a name, and a hash of the ending that begins there, made from its last letter on.
  struct Label {
    size_t begin;
    uint64_t hash = 0;
    void find_begin(std::string_view name) noexcept {
      for (; begin > 0 && name[begin - 1] != '.'; --begin) add(name[begin - 1]);
    }
    void go_before() noexcept {
      --begin;
      add('.');
    }
    void add(char letter) noexcept {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x9E3779B97F4A7C15;
    }
  };
  struct Entry {
    uint64_t hash;
    size_t begin;  // in text_
    uint32_t length;
    uint32_t kind;
  };
  // A slot of an index by hash, with linear probing.
  struct Slot {
    uint32_t hash;   // the upper half
    uint32_t entry;  // its number from 1; 0: the slot is free
  };
  size_t slot_of(uint64_t hash) const noexcept { return (hash ^ hash >> 32) & (slots_.size() - 1); }
  size_t slot_after(size_t place) const noexcept { return (place + 1) & (slots_.size() - 1); }
  // The number of an entry from 1; 0: there is none.
  uint32_t find(std::string_view ending, uint64_t hash) const noexcept {
    if (slots_.empty()) return 0;
    for (size_t place = slot_of(hash);; place = slot_after(place)) {
      const Slot& slot = slots_[place];
      if (slot.entry == 0) return 0;
      if (slot.hash != hash >> 32) continue;
      const Entry& entry = entries_[slot.entry - 1];
      if (entry.length == ending.size() &&
          std::memcmp(text_.data() + entry.begin, ending.data(), ending.size()) == 0)
        return slot.entry;
    }
  }
  void mark(std::string_view ending, uint64_t hash, Kind kind) {
    if (const uint32_t entry = find(ending, hash); entry != 0) {
      entries_[entry - 1].kind |= kind;
      return;
    }
    entries_.push_back({hash, text_.size(), static_cast<uint32_t>(ending.size()), kind});
    text_.append(ending);
    if (2 * entries_.size() <= slots_.size()) {
      enter(static_cast<uint32_t>(entries_.size()));
      return;
    }
    slots_.assign(std::max<size_t>(16, 2 * slots_.size()), Slot{0, 0});
    for (uint32_t entry = 1; entry <= entries_.size(); ++entry) enter(entry);
  }
  void enter(uint32_t entry) noexcept {
    const uint64_t hash = entries_[entry - 1].hash;
    size_t place = slot_of(hash);
    while (slots_[place].entry != 0) place = slot_after(place);
    slots_[place] = {static_cast<uint32_t>(hash >> 32), entry};
  }
  std::string text_;  // all endings, one behind the other
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // at most half of them are in use
};

// The public suffixes of https://publicsuffix.org/list/: rules such as com, *.ck and !www.ck.
// Operators may share one, since of() changes nothing.
class Suffixes {
 public:
  explicit Suffixes(const std::vector<std::string>& rules) {
    for (const std::string& each : rules) {
      const std::string_view rule = each;
      if (rule.starts_with('!')) {
        rules_.add(rule.substr(1), Endings::EXCEPTION);
      } else if (rule.starts_with("*.")) {
        rules_.add(rule.substr(2), Endings::ANY_BELOW);
      } else {
        rules_.add(rule, Endings::RULE);
      }
    }
  }
  struct Place {
    size_t domain;     // begin of the registered domain
    size_t label_end;  // end of its first label
  };
  // The registered domain of a name; all of a name that is a suffix itself.
  Place of(std::string_view name) const noexcept {
    constexpr size_t NONE = std::string_view::npos;
    size_t suffix = NONE, domain = NONE, shorter = NONE;  // where each begins
    bool below_any = false;  // `*.` precedes the shorter ending in the list
    rules_.each(name, [&](size_t begin, uint32_t kind) {
      if ((kind & Endings::EXCEPTION) != 0) {
        suffix = shorter == NONE ? 0 : shorter;
        domain = begin;
        return false;
      }
      // the last label is a suffix by itself, whether it is on the list or not
      if (shorter == NONE || below_any || (kind & Endings::RULE) != 0) {
        suffix = begin;
        domain = NONE;
      } else if (suffix == shorter) {
        domain = begin;
      }
      below_any = (kind & Endings::ANY_BELOW) != 0;
      shorter = begin;
      return true;
    });
    if (suffix == 0) return {0, std::min(name.find('.'), name.size())};
    if (domain == NONE) domain = begin_of_label(name, suffix - 1);
    return {domain, suffix - 1};
  }

 private:
  static size_t begin_of_label(std::string_view name, size_t end) noexcept {
    const size_t dot = end == 0 ? std::string_view::npos : name.rfind('.', end - 1);
    return dot == std::string_view::npos ? 0 : dot + 1;
  }
  Endings rules_;
};

// A set of domains, with all names below them.
class Domains {
 public:
  explicit Domains(const std::vector<std::string>& domains) {
    for (const std::string& domain : domains) domains_.add(domain, Endings::RULE);
  }
  bool have(std::string_view name) const noexcept {
    bool found = false;
    if (domains_.empty()) return found;
    domains_.each(name, [&](size_t, uint32_t kind) {
      found = (kind & Endings::RULE) != 0;
      return !found;
    });
    return found;
  }

 private:
  Endings domains_;
};

}  // namespace millrace::applications
