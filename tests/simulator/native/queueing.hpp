// queueing.hpp - small queueing networks on the calendar: the event core is held against what
// queueing theory says of them.
//
// Stations in a row, one server each, first come first served. Open: customers come at the first
// after exponential gaps, and leave behind the last. Closed: the same customers go round for ever.
// A process of the calendar is a station that serves, whose event is the end of the service, or the
// way in.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "calendar.hpp"

namespace millrace::sim {

// The natural logarithm of x > 0, to twelve digits, from basic arithmetic alone: libraries differ
// in the last bit, and runs must not.
inline double logarithm(double x) noexcept {
  constexpr double LN_2 = 0.693147180559945309417, ROOT_2 = 1.41421356237309504880;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  double exponent = static_cast<double>(static_cast<int64_t>(bits >> 52) - 1023);
  double mantissa = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (mantissa > ROOT_2) mantissa /= 2, exponent += 1;
  const double s = (mantissa - 1) / (mantissa + 1), z = s * s;  // log m = 2 artanh s
  double sum = 0;
  for (int odd = 15; odd >= 1; odd -= 2) sum = sum * z + 1.0 / odd;
  return exponent * LN_2 + 2 * s * sum;
}

class Queueing {
 public:
  struct Station {
    double service;       // mean time [ps]
    uint64_t number = 0;  // customers, the one in service included
    uint64_t area = 0;    // customers x time, up to `since`
    Time since = 0;
  };

  // `gap`: mean time between two arrivals [ps], 0 for a closed network of `customers`, who are
  // spread evenly to begin with.
  Queueing(const std::vector<double>& services, bool exponential, double gap, uint32_t customers,
           uint64_t seed)
      : calendar_(static_cast<uint32_t>(services.size()) + 1),
        exponential_(exponential),
        gap_(gap),
        random_(seed) {
    for (const double service : services) stations_.push_back(Station{.service = service});
    for (uint32_t number = 0; number < customers; ++number) arrive(number % size(), 0);
    if (gap_ > 0) calendar_.schedule(size(), draw(gap_, true));
  }

  void run(Time until) {
    while (!calendar_.empty() && calendar_.next().time < until) {
      const Time now = calendar_.next().time;
      const uint32_t process = calendar_.next().process();
      ++events_;
      if (process == size()) {
        calendar_.schedule(process, now + draw(gap_, true));
        arrive(0, now);
      } else {
        leave(process, now);
      }
    }
    for (Station& station : stations_) change(station, until, 0);
  }

  const std::vector<Station>& stations() const noexcept { return stations_; }
  uint64_t events() const noexcept { return events_; }
  uint64_t passed() const noexcept {
    return passed_;
  }  // customers that the last station has served

 private:
  uint32_t size() const noexcept { return static_cast<uint32_t>(stations_.size()); }

  void arrive(uint32_t place, Time now) {
    Station& station = stations_[place];
    change(station, now, 1);
    if (station.number == 1) calendar_.schedule(place, now + draw(station.service, exponential_));
  }
  void leave(uint32_t place, Time now) {
    Station& station = stations_[place];
    change(station, now, -1);
    if (station.number > 0) {
      calendar_.schedule(place, now + draw(station.service, exponential_));
    } else {
      calendar_.cancel(place);
    }
    if (place + 1 < size()) {
      arrive(place + 1, now);
    } else {
      ++passed_;
      if (gap_ <= 0) arrive(0, now);
    }
  }
  void change(Station& station, Time now, int by) noexcept {
    station.area += station.number * (now - station.since);
    station.since = now;
    station.number += static_cast<uint64_t>(static_cast<int64_t>(by));
  }
  Time draw(double mean, bool exponential) noexcept {
    if (!exponential) return static_cast<Time>(mean);
    uint64_t mixed = random_ += 0x9E3779B97F4A7C15;  // splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    const double share = static_cast<double>((mixed >> 11) + 1) * 0x1p-53;  // (0, 1]
    return static_cast<Time>(-logarithm(share) * mean);
  }

  Calendar calendar_;
  std::vector<Station> stations_;
  bool exponential_;
  double gap_;
  uint64_t random_, events_ = 0, passed_ = 0;
};

}  // namespace millrace::sim
