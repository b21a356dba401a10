// queueing.hpp - networks of queues on the event core alone: small enough for queueing theory, which says what must come out
// (tests/simulator/).
//
// A process of the calendar is a server, whose event is the end of a service; the last process is the arrivals from outside. Customers
// are served in the order of arrival, each by the server that was free last.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include "calendar.hpp"

namespace millrace::sim {

// The natural logarithm of x > 0, to twelve digits, from nothing but basic arithmetic: libraries differ in the last bit, and runs must not.
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

class QueueingNetwork {
 public:
  struct Station {
    double service = 0;  // mean [ticks]
    bool exponential = true;
    uint32_t servers = 1;
    // where customers go from here: to the first of `ways` whose number is above a random one; to none of them: away
    std::vector<uint64_t> below;
    std::vector<uint32_t> ways;
    // what is counted
    uint64_t served = 0;
    double time = 0, area = 0, busy = 0;  // sums over customers and over time [ticks]
    // what is
    uint32_t number = 0;
    Time since = 0;
    std::deque<Time> waiting;    // when each of those who wait came
    std::vector<uint32_t> free;  // servers
  };

  // `gap`: mean time between arrivals from outside, at the first station [ticks]; 0: none.
  QueueingNetwork(const std::vector<Station>& stations_, double gap, uint64_t seed)
      : stations(stations_), calendar_(servers_of(stations_) + 1), gap_(gap), random_(seed) {
    for (Station& station : stations) {
      for (uint32_t i = 0; i < station.servers; ++i) {
        station.free.push_back(static_cast<uint32_t>(station_of_.size()));
        station_of_.push_back(&station);
        came_.push_back(0);
      }
    }
    if (gap > 0) calendar_.schedule(outside(), exponential(gap));
  }
  QueueingNetwork(const QueueingNetwork&) = delete;

  std::vector<Station> stations;
  uint64_t events = 0;  // arrivals from outside and ends of services

  // A customer arrives now.
  void arrive(uint32_t at) {
    Station& station = stations[at];
    change(station, 1);
    if (station.free.empty()) {
      station.waiting.push_back(now_);
    } else {
      const uint32_t server = station.free.back();
      station.free.pop_back();
      serve(station, server, now_);
    }
  }
  void run(Time until) {
    while (!calendar_.empty() && calendar_.next().time <= until) {
      now_ = calendar_.next().time;
      ++events;
      const uint32_t process = calendar_.next().process;
      if (process == outside()) {
        calendar_.schedule(process, now_ + exponential(gap_));
        arrive(0);
      } else {
        end_service(process);
      }
    }
    now_ = until;
    for (Station& station : stations) change(station, 0);
  }
  // Forget what was counted.
  void count_anew() noexcept {
    for (Station& station : stations) station.served = 0, station.time = station.area = station.busy = 0;
  }

 private:
  static uint32_t servers_of(const std::vector<Station>& stations) noexcept {
    uint32_t sum = 0;
    for (const Station& station : stations) sum += station.servers;
    return sum;
  }
  uint32_t outside() const noexcept { return static_cast<uint32_t>(station_of_.size()); }
  void change(Station& station, int by) noexcept {
    const double passed = static_cast<double>(now_ - station.since);
    station.area += passed * station.number;
    station.busy += passed * std::min(station.number, station.servers);
    station.since = now_;
    station.number += static_cast<uint32_t>(by);
  }
  void serve(const Station& station, uint32_t server, Time came) {
    came_[server] = came;
    calendar_.schedule(server, now_ + (station.exponential ? exponential(station.service) : static_cast<Time>(station.service + 0.5)));
  }
  void end_service(uint32_t server) {
    Station& station = *station_of_[server];
    change(station, -1);
    ++station.served;
    station.time += static_cast<double>(now_ - came_[server]);
    if (station.waiting.empty()) {
      station.free.push_back(server);
      calendar_.cancel(server);
    } else {
      serve(station, server, station.waiting.front());
      station.waiting.pop_front();
    }
    const uint64_t drawn = station.below.empty() || station.below.front() == UINT64_MAX ? 0 : random();
    for (size_t i = 0; i < station.ways.size(); ++i) {
      if (drawn < station.below[i]) return arrive(station.ways[i]);
    }
  }
  Time exponential(double mean) noexcept {
    const double uniform = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;  // above 0, below 1
    return static_cast<Time>(-logarithm(uniform) * mean + 0.5);
  }
  uint64_t random() noexcept {  // splitmix64
    uint64_t mixed = random_ += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }

  Calendar calendar_;
  double gap_;
  uint64_t random_;
  Time now_ = 0;
  std::vector<Station*> station_of_;  // by server
  std::vector<Time> came_;            // by server: when the customer came whom it serves
};

}  // namespace millrace::sim
