// syslog.hpp - lines of system logs: where a line ends, what it says.
//
// Two forms of time are read: that of RFC 3164, `Jun 14 15:16:01`, and that of RFC 5424 and of
// today's log files, `2024-06-14T15:16:01.5+02:00`. The first has no year; it is read as of 1972, a
// leap year. A line is time, host, service and message, divided by blanks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "lines.hpp"

namespace millrace::applications {

inline constexpr int NO_YEAR = 1972;
inline constexpr int LAST_YEAR = 2200;  // later than that is no time: nanoseconds would not fit

// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, chrono-compatible low-level
// date algorithms).
inline int64_t days_of(int64_t year, unsigned month, unsigned day) noexcept {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const unsigned of_era = static_cast<unsigned>(year - era * 400);
  const unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + (of_era * 365 + of_era / 4 - of_era / 100 + of_year) - 719468;
}

inline unsigned month_of(const char* name) noexcept {
  static constexpr char NAMES[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (unsigned month = 0; month < 12; ++month) {
    if (std::memcmp(NAMES + 3 * month, name, 3) == 0) return month + 1;
  }
  return 0;
}

inline bool digits(const char* at, int count, int64_t* value) noexcept {
  int64_t number = 0;
  for (int i = 0; i < count; ++i) {
    const unsigned digit = static_cast<unsigned char>(at[i]) - '0';
    if (digit > 9) return false;
    number = 10 * number + digit;
  }
  *value = number;
  return true;
}

// `15:16:01` as seconds of the day; below 0: it is none.
inline int64_t clock_of(std::string_view word) noexcept {
  int64_t hour, minute, second;
  if (word.size() < 8 || word[2] != ':' || word[5] != ':') return -1;
  if (!digits(word.data(), 2, &hour) || !digits(word.data() + 3, 2, &minute) ||
      !digits(word.data() + 6, 2, &second))
    return -1;
  return hour < 24 && minute < 60 && second < 61 ? 3600 * hour + 60 * minute + second : -1;
}

// `2024-06-14T15:16:01.5+02:00` [ns since 1970]; false: it is none.
inline bool iso_time(std::string_view word, int64_t* time) noexcept {
  int64_t year, month, day;
  if (word.size() < 19 || word[4] != '-' || word[7] != '-' || word[10] != 'T') return false;
  if (!digits(word.data(), 4, &year) || !digits(word.data() + 5, 2, &month) ||
      !digits(word.data() + 8, 2, &day))
    return false;
  const int64_t clock = clock_of(word.substr(11, 8));
  if (clock < 0 || year < 1970 || year > LAST_YEAR || month < 1 || month > 12 || day < 1 ||
      day > 31)
    return false;
  int64_t at =
      (days_of(year, static_cast<unsigned>(month), static_cast<unsigned>(day)) * 86400 + clock) *
      SECOND;
  size_t place = 19;
  if (place < word.size() && word[place] == '.') {
    int64_t unit = SECOND;
    for (++place; place < word.size() && word[place] >= '0' && word[place] <= '9'; ++place) {
      unit /= 10;
      at += unit * (word[place] - '0');
    }
  }
  if (place < word.size() && (word[place] == '+' || word[place] == '-')) {
    int64_t hours, minutes;
    if (word.size() != place + 6 || !digits(word.data() + place + 1, 2, &hours) ||
        !digits(word.data() + place + 4, 2, &minutes))
      return false;
    at -= (word[place] == '+' ? 1 : -1) * (3600 * hours + 60 * minutes) * SECOND;
  } else if (place != word.size() && !(word[place] == 'Z' && place + 1 == word.size())) {
    return false;
  }
  *time = at;
  return true;
}

struct LogLine {
  int64_t time;  // ns since 1970
  bool dated;    // with a year
  std::string_view host, service, message;
};

class Words {
 public:
  explicit Words(std::string_view text) noexcept
      : at_(text.data()), end_(text.data() + text.size()) {}
  std::string_view next() noexcept {
    while (at_ < end_ && *at_ == ' ') ++at_;
    const char* begin = at_;
    while (at_ < end_ && *at_ != ' ') ++at_;
    return {begin, static_cast<size_t>(at_ - begin)};
  }
  std::string_view rest() noexcept {
    while (at_ < end_ && *at_ == ' ') ++at_;
    return {at_, static_cast<size_t>(end_ - at_)};
  }

 private:
  const char* at_;
  const char* end_;
};

// Whether `text` is a line of a log, without its end.
inline bool parse_log(std::string_view text, LogLine* line) noexcept {
  Words words(text);
  const std::string_view first = words.next();
  line->dated = first.size() != 3;
  if (!line->dated) {
    const unsigned month = month_of(first.data());
    const std::string_view day = words.next();
    int64_t number;
    if (month == 0 || day.empty() || day.size() > 2 ||
        !digits(day.data(), static_cast<int>(day.size()), &number))
      return false;
    const std::string_view clock_word = words.next();
    const int64_t clock = clock_of(clock_word);
    if (clock < 0 || clock_word.size() != 8 || number < 1 || number > 31) return false;
    line->time = (days_of(NO_YEAR, month, static_cast<unsigned>(number)) * 86400 + clock) * SECOND;
  } else if (!iso_time(first, &line->time)) {
    return false;
  }
  line->host = words.next();
  line->service = words.next();
  line->message = words.rest();
  return !line->message.empty();
}

}  // namespace millrace::applications
