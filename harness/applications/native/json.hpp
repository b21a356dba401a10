// json.hpp - one line of JSON (RFC 8259): whether it is an object, and what some of its members
// hold. Nothing is built in memory.
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace millrace::applications {

// A member of an object: what is asked for, and what was found. Of members of the same name the
// last counts.
struct Member {
  enum Kind { ABSENT, TEXT, INTEGER, OTHER };
  std::string_view name;
  Kind kind = ABSENT;
  std::string_view raw = {};  // of a text: what is between the quotes, with its escapes
};

// Length of the UTF-8 character at `at`; 0: there is none (RFC 3629).
inline int utf8_length(const char* at, const char* end) noexcept {
  const auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
  const auto follows = [&](int i, unsigned low = 0x80, unsigned high = 0xBF) {
    return at + i < end && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return follows(1) ? 2 : 0;
  if (first < 0xF0)
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3
                                                                                              : 0;
  if (first < 0xF5)
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) &&
                   follows(3)
               ? 4
               : 0;
  return 0;
}

inline void append_utf8(uint32_t code, std::string* to) {
  if (code < 0x80) {
    to->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    to->append({static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))});
  } else if (code < 0x10000) {
    to->append({static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                static_cast<char>(0x80 | (code & 0x3F))});
  } else {
    to->append({static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3F)),
                static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                static_cast<char>(0x80 | (code & 0x3F))});
  }
}

inline uint32_t hex4(const char* at) noexcept {  // four digits that have been looked at
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i)
    code =
        code << 4 | static_cast<uint32_t>(at[i] <= '9' ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
  return code;
}

// The text of `raw`, of a member that was found. Half of a surrogate pair becomes U+FFFD.
inline void unescape(std::string_view raw, std::string* to) {
  to->clear();
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      size_t end = raw.find('\\', i);
      if (end == std::string_view::npos) end = raw.size();
      to->append(raw.substr(i, end - i));
      i = end;
      continue;
    }
    const char what = raw[i + 1];
    i += 2;
    if (what != 'u') {
      static constexpr std::string_view FROM = "bfnrt", TO = "\b\f\n\r\t";
      const size_t place = FROM.find(what);
      to->push_back(place == std::string_view::npos ? what : TO[place]);
      continue;
    }
    uint32_t code = hex4(raw.data() + i);
    i += 4;
    if (code >= 0xD800 && code < 0xDC00 && raw.substr(i, 2) == "\\u") {
      const uint32_t low = hex4(raw.data() + i + 2);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
    }
    append_utf8(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code, to);
  }
}

// The bytes of `raw`, an array; false: it has anything but whole numbers below 256.
inline bool bytes_of(std::string_view raw, std::string* to) {
  to->clear();
  raw = raw.substr(1, raw.size() - 2);
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] < '0' || raw[i] > '9') {
      if (std::string_view(", \t").find(raw[i++]) == std::string_view::npos) return false;
      continue;
    }
    unsigned byte = 0;
    for (; i < raw.size() && raw[i] >= '0' && raw[i] <= '9'; ++i) {
      byte = 10 * byte + static_cast<unsigned>(raw[i] - '0');
      if (byte > 255) return false;
    }
    to->push_back(static_cast<char>(byte));
  }
  return true;
}

class JsonLine {
 public:
  static constexpr int DEEPEST = 64;  // arrays and objects within each other

  // Whether `text` is an object in JSON; `members` are filled in.
  static bool read(std::string_view text, Member* members, size_t count) {
    JsonLine line(text, members, count);
    return line.object();
  }

 private:
  JsonLine(std::string_view text, Member* members, size_t count)
      : at_(text.data()), end_(at_ + text.size()), members_(members), count_(count) {}

  bool object() {
    blanks();
    if (at_ == end_ || *at_ != '{') return false;
    int depth = 0;
    for (;;) {  // before a value
      Member::Kind kind = Member::OTHER;
      const char* begin = at_;
      if (at_ == end_) return false;
      bool closed = true;  // the value is whole
      if (*at_ == '{' || *at_ == '[') {
        if (depth == DEEPEST) return false;
        if (depth == 1) opened_ = begin;
        braces_[static_cast<size_t>(depth++)] = *at_ == '{';
        ++at_;
        blanks();
        if (at_ < end_ && *at_ == (braces_[static_cast<size_t>(depth - 1)] ? '}' : ']')) {
          ++at_;
          --depth;
        } else {
          closed = false;
        }
      } else if (*at_ == '"') {
        if (!text()) return false;
        kind = Member::TEXT;
      } else if (*at_ == '-' || (*at_ >= '0' && *at_ <= '9')) {
        if (!number(&kind)) return false;
      } else if (!word("true") && !word("false") && !word("null")) {
        return false;
      }
      if (closed && depth == 1 && member_ != nullptr) {
        member_->kind = kind;
        member_->raw = kind == Member::TEXT
                           ? std::string_view(begin + 1, static_cast<size_t>(at_ - begin) - 2)
                           : std::string_view(begin, static_cast<size_t>(at_ - begin));
      }
      if (!closed && depth == 2 && member_ != nullptr) member_->kind = Member::OTHER;
      while (closed) {  // behind a value
        blanks();
        if (depth == 0) return at_ == end_;
        if (at_ == end_) return false;
        if (*at_ == ',') {
          ++at_;
          blanks();
          break;
        }
        if (*at_ != (braces_[static_cast<size_t>(depth - 1)] ? '}' : ']')) return false;
        ++at_;
        --depth;
        if (depth == 1 && member_ != nullptr)
          member_->raw = {opened_, static_cast<size_t>(at_ - opened_)};
      }
      if (braces_[static_cast<size_t>(depth - 1)] && !key(depth)) return false;
    }
  }
  // A name, its colon, and what is blank behind that.
  bool key(int depth) {
    const char* begin = at_;
    if (at_ == end_ || *at_ != '"' || !text()) return false;
    std::string_view name(begin + 1, static_cast<size_t>(at_ - begin) - 2);
    if (depth == 1) {
      if (name.find('\\') != std::string_view::npos) {
        unescape(name, &name_);
        name = name_;
      }
      member_ = nullptr;
      for (size_t i = 0; i < count_; ++i) {
        if (members_[i].name == name) member_ = &members_[i];
      }
    }
    blanks();
    if (at_ == end_ || *at_ != ':') return false;
    ++at_;
    blanks();
    return true;
  }
  bool text() noexcept {
    ++at_;
    while (at_ < end_) {
      const unsigned char byte = static_cast<unsigned char>(*at_);
      if (byte == '"') {
        ++at_;
        return true;
      }
      if (byte < 0x20) return false;
      if (byte == '\\') {
        if (!escape()) return false;
      } else {
        const int length = utf8_length(at_, end_);
        if (length == 0) return false;
        at_ += length;
      }
    }
    return false;
  }
  bool escape() noexcept {
    if (++at_ == end_) return false;
    if (std::string_view("\"\\/bfnrt").find(*at_) != std::string_view::npos) {
      ++at_;
      return true;
    }
    if (*at_ != 'u' || end_ - at_ < 5) return false;
    for (int i = 1; i <= 4; ++i) {
      const char digit = at_[i];
      if (!((digit >= '0' && digit <= '9') || ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')))
        return false;
    }
    at_ += 5;
    return true;
  }
  bool digits() noexcept {
    const char* begin = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ > begin;
  }
  bool number(Member::Kind* kind) noexcept {
    *kind = Member::INTEGER;
    if (*at_ == '-') ++at_;
    if (at_ < end_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (at_ < end_ && *at_ == '.') {
      *kind = Member::OTHER;
      ++at_;
      if (!digits()) return false;
    }
    if (at_ < end_ && (*at_ | 0x20) == 'e') {
      *kind = Member::OTHER;
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return false;
    }
    return true;
  }
  bool word(std::string_view expected) noexcept {
    if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, expected.size()) !=
        expected)
      return false;
    at_ += expected.size();
    return true;
  }
  void blanks() noexcept {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  const char* at_;
  const char* end_;
  Member* members_;
  size_t count_;
  Member* member_ = nullptr;      // whose value comes next
  const char* opened_ = nullptr;  // where an array or an object that is a member begins
  std::bitset<DEEPEST> braces_;
  std::string name_;
};

}  // namespace millrace::applications
