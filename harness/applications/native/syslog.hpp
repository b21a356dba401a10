// syslog.hpp - parser of the lines of system logs.
//
// Forms of a line:
//   RFC 3164    `Jun 14 15:16:01 HOST SERVICE: MESSAGE`, with or without a fraction of the second
//               and a priority, `<34>`
//   ISO 8601    the same with a time such as `2024-06-14T15:16:01.5+02:00`
//   date, time  the same with `2024-06-14 15:16:01`
//   RFC 5424
//   journalctl  its output formats short-iso, short-precise, short-full and json
// A time without a year is read as of 1972, a leap year.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "json.hpp"
#include "lines.hpp"

namespace millrace::applications {

inline constexpr int NO_YEAR = 1972;
inline constexpr int LAST_YEAR = 2200;  // nanoseconds of later times would not fit

// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, chrono-compatible low-level
// date algorithms).
inline int64_t days_of(int64_t year, unsigned month, unsigned day) noexcept {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const unsigned of_era = static_cast<unsigned>(year - era * 400);
  const unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + (of_era * 365 + of_era / 4 - of_era / 100 + of_year) - 719468;
}

// The month of an abbreviated name such as `Jun`, 1 to 12; 0: it is none.
inline unsigned month_of(const char* name) noexcept {
  static constexpr char NAMES[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (unsigned month = 0; month < 12; ++month) {
    if (std::memcmp(NAMES + 3 * month, name, 3) == 0) return month + 1;
  }
  return 0;
}

// Exactly `count` digits as a number; false: they are none.
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

// `15:16:01.5` as nanoseconds of the day; below 0: it is none. `rest` is what follows.
inline int64_t clock_of(std::string_view word, std::string_view* rest) noexcept {
  int64_t hour, minute, second;
  if (word.size() < 8 || word[2] != ':' || word[5] != ':') return -1;
  if (!digits(word.data(), 2, &hour) || !digits(word.data() + 3, 2, &minute) ||
      !digits(word.data() + 6, 2, &second))
    return -1;
  if (hour > 23 || minute > 59 || second > 60) return -1;
  int64_t at = (3600 * hour + 60 * minute + second) * SECOND;
  size_t place = 8;
  if (place < word.size() && (word[place] == '.' || word[place] == ',')) {
    int64_t unit = SECOND;
    for (++place; place < word.size() && word[place] >= '0' && word[place] <= '9'; ++place) {
      unit /= 10;
      at += unit * (word[place] - '0');
    }
  }
  *rest = word.substr(place);
  return at;
}

// `2024-06-14` as nanoseconds since 1970; below 0: it is none.
inline int64_t date_of(std::string_view word) noexcept {
  int64_t year, month, day;
  if (word.size() < 10 || word[4] != '-' || word[7] != '-') return -1;
  if (!digits(word.data(), 4, &year) || !digits(word.data() + 5, 2, &month) ||
      !digits(word.data() + 8, 2, &day))
    return -1;
  if (year < 1970 || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > 31) return -1;
  return days_of(year, static_cast<unsigned>(month), static_cast<unsigned>(day)) * DAY;
}

// `Z`, `+02:00`, `+0200` or `+02` as nanoseconds ahead of UTC; false: it is none.
inline bool zone_of(std::string_view word, int64_t* ahead) noexcept {
  *ahead = 0;
  if (word.empty() || word == "Z") return true;
  if (word[0] != '+' && word[0] != '-') return false;
  int64_t hours, minutes = 0;
  if (word.size() < 3 || !digits(word.data() + 1, 2, &hours)) return false;
  if (word.size() > 3) {
    const size_t at = word[3] == ':' ? 4 : 3;
    if (word.size() != at + 2 || !digits(word.data() + at, 2, &minutes)) return false;
  }
  *ahead = (word[0] == '+' ? 1 : -1) * (3600 * hours + 60 * minutes) * SECOND;
  return true;
}

// A zone, or its name as `date` writes it, as nanoseconds ahead of UTC; false: it is not known.
inline bool zone_named(std::string_view name, int64_t* ahead) noexcept {
  struct Zone {
    std::string_view name;
    int minutes;
  };
  static constexpr std::array<Zone, 23> ZONES{{
      {"UTC", 0},    {"GMT", 0},    {"WET", 0},    {"WEST", 60},  {"BST", 60},   {"CET", 60},
      {"CEST", 120}, {"EET", 120},  {"EEST", 180}, {"MSK", 180},  {"IST", 330},  {"JST", 540},
      {"KST", 540},  {"AEST", 600}, {"AEDT", 660}, {"EST", -300}, {"EDT", -240}, {"CST", -360},
      {"CDT", -300}, {"MST", -420}, {"MDT", -360}, {"PST", -480}, {"PDT", -420},
  }};
  *ahead = 0;
  if (!name.empty() && zone_of(name, ahead)) return true;
  for (const Zone& zone : ZONES) {
    if (zone.name != name) continue;
    *ahead = zone.minutes * 60 * SECOND;
    return true;
  }
  return false;
}

// `2024-06-14T15:16:01.5+02:00` [ns since 1970]; false: it is none.
inline bool iso_time(std::string_view word, int64_t* time) noexcept {
  if (word.size() < 19 || word[10] != 'T') return false;
  const int64_t date = date_of(word);
  std::string_view zone;
  const int64_t clock = clock_of(word.substr(11), &zone);
  int64_t ahead;
  if (date < 0 || clock < 0 || !zone_of(zone, &ahead)) return false;
  *time = date + clock - ahead;
  return true;
}

struct LogLine {
  int64_t time;  // ns since 1970
  bool dated;    // with a year
  std::string_view host, service, message;
  // the message is text, a string of JSON with escapes, or an array of JSON of its bytes
  enum Form { PLAIN, ESCAPED, BYTES } form = PLAIN;
};

// The words of a text, divided by blanks.
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

// Removes the structured data of RFC 5424 from the front: `-`, or `[ID NAME="VALUE"]`, once or more
// often; false: there are none.
inline bool remove_structured_data(std::string_view* text) noexcept {
  if (text->empty()) return false;
  if (text->front() == '-') {
    text->remove_prefix(1);
    return true;
  }
  bool quoted = false, inside = false;
  size_t i = 0;
  for (; i < text->size() && (inside || (*text)[i] == '['); ++i) {
    const char letter = (*text)[i];
    if (letter == '[' && !quoted) inside = true;
    if (letter == '\\' && quoted)
      ++i;
    else if (letter == '"')
      quoted = !quoted;
    else if (letter == ']' && !quoted)
      inside = false;
  }
  if (i == 0 || inside) return false;
  text->remove_prefix(std::min(i, text->size()));
  return true;
}

// Parses what follows the time (RFC 5424 s6): `HOST SERVICE PROCESS MSGID STRUCTURED-DATA MESSAGE`.
inline bool parse_5424(std::string_view rest, LogLine* line) noexcept {
  Words words(rest);
  line->host = words.next();
  line->service = words.next();
  words.next();  // the process
  words.next();  // the kind of message
  std::string_view message = words.rest();
  if (!remove_structured_data(&message)) return false;
  while (!message.empty() && message[0] == ' ') message.remove_prefix(1);
  if (message.substr(0, 3) == "\xEF\xBB\xBF") message.remove_prefix(3);  // a byte-order mark
  line->message = message;
  return !line->host.empty() && !line->service.empty();
}

// Parses an entry of the journal, an object of JSON. A message that is no text in UTF-8, or has
// control characters, is an array of its bytes there.
inline bool parse_entry(std::string_view text, LogLine* line) noexcept {
  std::array<Member, 5> members{Member{"__REALTIME_TIMESTAMP"}, Member{"_HOSTNAME"},
                                Member{"SYSLOG_IDENTIFIER"}, Member{"_COMM"}, Member{"MESSAGE"}};
  if (!JsonLine::read(text, members.data(), members.size())) return false;
  const std::string_view time = members[0].raw;
  int64_t micros = 0;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), micros);
  if (time.empty() || error != std::errc() || end != time.data() + time.size() || micros < 0 ||
      micros > MOST_TIME / 1000)
    return false;
  line->time = micros * 1000;
  line->dated = true;
  line->host = members[1].kind == Member::TEXT ? members[1].raw : "-";
  line->service = members[2].kind == Member::TEXT   ? members[2].raw
                  : members[3].kind == Member::TEXT ? members[3].raw
                                                    : "-";
  const Member& message = members[4];
  if (message.kind != Member::TEXT && !message.raw.starts_with('[')) return false;
  line->message = message.raw;
  line->form = message.kind == Member::TEXT ? LogLine::ESCAPED : LogLine::BYTES;
  return true;
}

// The time that follows `month`, such as `14 15:16:01`; false: it is none.
inline bool time_without_year(unsigned month, Words* words, int64_t* time) noexcept {
  const std::string_view day = words->next();
  int64_t number;
  if (day.empty() || day.size() > 2 || !digits(day.data(), static_cast<int>(day.size()), &number))
    return false;
  std::string_view rest;
  const int64_t clock = clock_of(words->next(), &rest);
  if (clock < 0 || !rest.empty() || number < 1 || number > 31) return false;
  *time = days_of(NO_YEAR, month, static_cast<unsigned>(number)) * DAY + clock;
  return true;
}

// The time of `Fri 2023-09-08 17:00:30 CEST`, where `first` is the day of the week or, if that is
// missing, the date; false: it is none.
inline bool date_and_time(std::string_view first, Words* words, LogLine* line) noexcept {
  const bool of_journal = first.size() == 3;
  if (of_journal) first = words->next();
  const int64_t date = first.size() == 10 ? date_of(first) : -1;
  std::string_view zone;
  const int64_t clock = clock_of(words->next(), &zone);
  int64_t ahead;
  if (date < 0 || clock < 0 || !zone_of(zone, &ahead)) return false;
  if (zone.empty()) {  // others than the journal may leave it out, and name the host
    const std::string_view word = words->next();
    if (!zone_named(word, &ahead) && !of_journal) line->host = word;
  }
  line->time = date + clock - ahead;
  return true;
}

// Parses a line of a log, without its end; false: it is none.
inline bool parse_log(std::string_view text, LogLine* line) noexcept {
  line->form = LogLine::PLAIN;
  line->host = {};
  if (!text.empty() && text[0] == '{') return parse_entry(text, line);
  if (!text.empty() && text[0] == '<') {  // a priority
    const size_t end = text.find('>');
    int64_t number;
    if (end > 4 || end < 2 || !digits(text.data() + 1, static_cast<int>(end) - 1, &number))
      return false;
    text.remove_prefix(end + 1);
    if (text.size() > 2 && text[0] == '1' && text[1] == ' ') {
      Words words(text.substr(2));
      line->dated = true;
      return iso_time(words.next(), &line->time) && parse_5424(words.rest(), line);
    }
  }
  Words words(text);
  const std::string_view first = words.next();
  const unsigned month = first.size() == 3 ? month_of(first.data()) : 0;
  line->dated = month == 0;
  if (month > 0) {
    if (!time_without_year(month, &words, &line->time)) return false;
  } else if (!iso_time(first, &line->time) && !date_and_time(first, &words, line)) {
    return false;
  }
  if (line->host.empty()) line->host = words.next();
  // BSD's syslogd may name facility and level: `<auth.info>`
  if (line->host.starts_with('<') && line->host.ends_with('>')) line->host = words.next();
  line->service = words.next();
  line->message = words.rest();
  return !line->service.empty();
}

}  // namespace millrace::applications
