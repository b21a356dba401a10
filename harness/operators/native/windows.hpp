// windows.hpp - aggregates over tumbling and sliding windows, by count and by time, for each key.
//
// A window is divided into panes as long as the greatest common divisor of window and step: a tuple
// is added to one pane, and a window is combined from its panes, earlier ones before later ones
// (Li, Maier, Tufte, Papadimos, Tucker: No pane, no gain, SIGMOD Record 34(1), 2005). The order
// depends on the tuples of the key alone, so a result is the same in every run.
//
// A Fold is what is aggregated: bytes() of a state, and add, combine as millrace.h has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event_time.hpp"
#include "key_table.hpp"
#include "operator.hpp"

namespace millrace::operators {

inline int64_t floor_div(int64_t value, int64_t by) noexcept {
  return value / by - (value % by < 0 ? 1 : 0);
}

// Windows of `window` tuples of a key, each `step` tuples; the first ones have fewer tuples. 1 <=
// step <= window.
//
// A window of more than MOST_COMBINED_AFRESH panes is combined from two stacks, so that a tuple
// costs three combinations at most on average (two-stacks: Tangwongsan, Hirzel, Schneider: In-order
// sliding-window aggregation in worst-case constant time, VLDB Journal 30, 2021). A pane before
// `turned` holds itself and all later ones before `turned`; `back` holds all panes from there on.
template <class Fold>
class CountWindows {
 public:
  CountWindows(const Fold& fold, uint64_t window, uint64_t step)
      : fold_(fold),
        bytes_((fold.bytes() + 7) / 8 * 8),
        step_(step),
        pane_(std::gcd(window, step)),
        panes_(window / pane_),
        table_(sizeof(Slide) + (panes_ + stacked()) * bytes_),
        whole_(bytes_) {}
  // Adds a tuple; where a window ends, emit(state, window). Below 0: an error.
  template <class Emit>
  int32_t add(std::string_view key, const void* tuple, Emit&& emit) {
    const uint32_t found = table_.at(key);
    if (found == KeyTable::NONE) return TOO_MANY_KEYS;
    char* record = table_.record(found);
    Slide& slide = *reinterpret_cast<Slide*>(record);
    uint64_t& count = slide.count;
    char* states = record + sizeof(Slide);
    char* pane = states + count / pane_ % panes_ * bytes_;
    if (count % pane_ == 0) std::memset(pane, 0, bytes_);
    int32_t answer = fold_.add(pane, tuple, count % pane_);
    if (answer < 0) return answer;
    const bool pane_ends = ++count % pane_ == 0;
    if (stacked() && pane_ends) {
      answer = append(states + panes_ * bytes_, pane, count / pane_ == slide.turned + 1);
      if (answer < 0) return answer;
    }
    if (count % step_ != 0) return 0;
    const uint64_t last = count / pane_, in = std::min(last, panes_);
    const char* state = states + (last - in) % panes_ * bytes_;
    if (stacked()) {
      answer = whole(slide, states, last - in, last, state);
    } else if (in > 1) {
      answer = afresh(states, last - in, last, state);
    }
    if (answer < 0) return answer;
    return emit(state, millrace_window{static_cast<int64_t>(count - in * pane_),
                                       static_cast<int64_t>(count), in * pane_});
  }

 private:
  static constexpr uint64_t MOST_COMBINED_AFRESH = 4;  // panes: two stacks cost as much for these
  struct Slide {
    uint64_t count;   // tuples
    uint64_t turned;  // panes
  };
  bool stacked() const noexcept { return panes_ > MOST_COMBINED_AFRESH; }
  int32_t append(char* back, const char* pane, bool first) {
    if (!first) return fold_.combine(back, pane);
    std::memcpy(back, pane, bytes_);
    return 0;
  }
  // Points `state` to the panes from `begin` to `last`.
  int32_t whole(Slide& slide, char* states, uint64_t begin, uint64_t last, const char*& state) {
    const char* back = states + panes_ * bytes_;
    if (begin == slide.turned) {
      state = back;
      return 0;
    }
    if (begin > slide.turned) {
      for (uint64_t i = last - 1; i > begin; --i) {
        const int32_t answer =
            fold_.combine(states + (i - 1) % panes_ * bytes_, states + i % panes_ * bytes_);
        if (answer < 0) return answer;
      }
      slide.turned = last;
      return 0;  // `state` is the first of them
    }
    std::memcpy(whole_.data(), state, bytes_);
    state = whole_.data();
    return fold_.combine(whole_.data(), back);
  }
  int32_t afresh(const char* states, uint64_t begin, uint64_t last, const char*& state) {
    std::memcpy(whole_.data(), state, bytes_);
    for (uint64_t i = begin + 1; i < last; ++i) {
      const int32_t answer = fold_.combine(whole_.data(), states + i % panes_ * bytes_);
      if (answer < 0) return answer;
    }
    state = whole_.data();
    return 0;
  }
  Fold fold_;
  size_t bytes_;
  uint64_t step_, pane_, panes_;
  KeyTable table_;
  std::vector<char> whole_;  // of whole words, as records are
};

// Windows of `window` nanoseconds, each `step`: they begin at multiples of `step` since 1970. 1 <=
// step <= window. A window ends when time has passed its end; then it is emitted key by key, in the
// order of their first panes in it, and there in the order in which keys came. A tuple whose
// windows have all ended is late; any other one is in those that have not ended.
template <class Fold>
class TimeWindows {
 public:
  TimeWindows(const Fold& fold, int64_t window, int64_t step)
      : fold_(fold),
        bytes_((fold.bytes() + 7) / 8 * 8),
        window_(window),
        step_(step),
        pane_(std::gcd(window, step)),
        whole_(sizeof(uint64_t) + bytes_) {}
  // All windows have ended that a tuple of this time would be in.
  bool late(std::string_view, int64_t time) const noexcept {
    return floor_div(time, step_) * step_ + window_ <= passed_;
  }
  // Adds a tuple that is not late to the windows that it is in and that have not ended yet.
  int32_t add(std::string_view key, int64_t time, const void* tuple) {
    if (open_.size() == MOST_OPEN) return TOO_MANY;
    KeyTable& table = pane_of(floor_div(time, pane_));
    const uint32_t found = table.at(key);
    if (found == KeyTable::NONE) return TOO_MANY_KEYS;
    char* record = table.record(found);
    uint64_t& count = *reinterpret_cast<uint64_t*>(record);
    return fold_.add(record + sizeof(uint64_t), tuple, count++);
  }
  // Time has passed: emit(key, state, window) of each key of each window that has ended with that.
  // Below 0: an error.
  template <class Emit>
  int32_t advance(int64_t time, Emit&& emit) {
    if (time <= passed_) return 0;
    passed_ = time;
    while (!open_.empty()) {
      const int64_t oldest = open_.front().index * pane_;
      const int64_t begin = std::max((floor_div(oldest - window_, step_) + 1) * step_, next_);
      if (begin > time - window_) break;
      next_ = begin + step_;
      const int32_t answer = whole(begin, emit);
      while (!open_.empty() && open_.front().index * pane_ < next_) {
        spare_.push_back(std::move(open_.front().table));
        open_.pop_front();
      }
      if (answer < 0) return answer;
    }
    // Windows without tuples end as well: a tuple that comes later does not open them.
    next_ = std::max(next_, (floor_div(time - window_, step_) + 1) * step_);
    return 0;
  }
  // Nothing will come any more: all windows end.
  template <class Emit>
  int32_t end(Emit&& emit) {
    return advance(INT64_MAX, emit);
  }

 private:
  static constexpr size_t MOST_OPEN = size_t{1} << 20;  // panes
  struct Pane {
    int64_t index;
    KeyTable table;
  };
  KeyTable& pane_of(int64_t index) {
    auto at = open_.end();
    if (at != open_.begin() && (at - 1)->index >= index) {  // most come in order
      at = std::lower_bound(open_.begin(), open_.end(), index,
                            [](const Pane& pane, int64_t other) { return pane.index < other; });
    }
    if (at != open_.end() && at->index == index) return at->table;
    KeyTable table(sizeof(uint64_t) + bytes_);
    if (!spare_.empty()) {
      table = std::move(spare_.back());
      spare_.pop_back();
      table.clear();
    }
    return open_.insert(at, Pane{index, std::move(table)})->table;
  }
  // The window that begins at `begin`, combined from its panes.
  template <class Emit>
  int32_t whole(int64_t begin, Emit&& emit) {
    const int64_t first = begin / pane_, last = first + window_ / pane_;
    const millrace_window window{begin, begin + window_, 0};
    if (open_.size() == 1 || open_[1].index >= last) return send(open_.front().table, window, emit);
    whole_.clear();
    for (Pane& pane : open_) {
      if (pane.index >= last) break;
      for (uint32_t i = 0; i < pane.table.size(); ++i) {
        const char* record = pane.table.record(i);
        const uint32_t found = whole_.at(pane.table.key(i));
        if (found == KeyTable::NONE) return TOO_MANY_KEYS;
        char* to = whole_.record(found);
        uint64_t& count = *reinterpret_cast<uint64_t*>(to);
        if (count == 0) {
          std::memcpy(to, record, sizeof(uint64_t) + bytes_);
          continue;
        }
        count += *reinterpret_cast<const uint64_t*>(record);
        const int32_t answer = fold_.combine(to + sizeof(uint64_t), record + sizeof(uint64_t));
        if (answer < 0) return answer;
      }
    }
    return send(whole_, window, emit);
  }
  template <class Emit>
  static int32_t send(KeyTable& table, millrace_window window, Emit&& emit) {
    for (uint32_t i = 0; i < table.size(); ++i) {
      const char* record = table.record(i);
      window.count = *reinterpret_cast<const uint64_t*>(record);
      const int32_t answer = emit(table.key(i), record + sizeof(uint64_t), window);
      if (answer < 0) return answer;
    }
    return 0;
  }
  Fold fold_;
  size_t bytes_;
  int64_t window_, step_, pane_;
  int64_t passed_ = INT64_MIN;             // how far time has come
  int64_t next_ = -MOST_TIME - MOST_TIME;  // no open window begins earlier
  std::deque<Pane> open_;                  // by index
  std::vector<KeyTable> spare_;
  KeyTable whole_;
};

// Rows of whole words, of one width, which leave at the front and come at any place.
class Rows {
 public:
  explicit Rows(size_t width) noexcept : width_(width) {}
  size_t size() const noexcept { return words_.size() / width_ - gone_; }
  bool empty() const noexcept { return size() == 0; }
  uint64_t* operator[](size_t row) noexcept { return words_.data() + (gone_ + row) * width_; }
  // Adds a row of zeros before row `place`.
  uint64_t* insert(size_t place) {
    const auto at = static_cast<ptrdiff_t>((gone_ + place) * width_);
    words_.insert(words_.begin() + at, width_, 0);
    return (*this)[place];
  }
  void pop_front() {
    ++gone_;
    if (2 * gone_ * width_ <= words_.size()) return;
    words_.erase(words_.begin(), words_.begin() + static_cast<ptrdiff_t>(gone_ * width_));
    gone_ = 0;
  }
  void pop_back() { words_.resize(words_.size() - width_); }
  void clear() noexcept {
    words_.clear();
    gone_ = 0;
  }

 private:
  size_t width_, gone_ = 0;
  std::vector<uint64_t> words_;
};

// A window by time of more panes is of SlidingWindows. Measured: at 8 panes both take about as
// long.
inline constexpr int64_t FEW_PANES = 8;

// The windows of TimeWindows, where many panes are in one.
//
// The panes of a key are combined from two stacks, as those of CountWindows, so that a pane costs
// three combinations at most on average. `front` has for each pane of the first stack that pane and
// all later ones of the stack; `back` is the second stack as a whole. Both are made anew when a
// tuple comes late to a pane that is in one.
template <class Fold>
class SlidingWindows {
 public:
  SlidingWindows(const Fold& fold, int64_t window, int64_t step)
      : fold_(fold),
        words_((fold.bytes() + 7) / 8),
        window_(window),
        step_(step),
        pane_(std::gcd(window, step)),
        both_(1 + words_) {}
  bool late(std::string_view, int64_t time) const noexcept {
    return floor_div(time, step_) * step_ + window_ <= passed_;
  }
  // Adds a tuple that is not late to the windows that it is in and that have not ended yet.
  int32_t add(std::string_view key, int64_t time, const void* tuple) {
    if (panes_ == MOST_PANES) return TOO_MANY;
    const uint32_t found = slide_of(key);
    if (found == KeyTable::NONE) return TOO_MANY_KEYS;
    Slide& slide = slides_[found];
    const int64_t index = floor_div(time, pane_);
    size_t place = slide.panes.size();
    if (place > 0 && index_of(slide, place - 1) >= index) place = place_of(slide, index);
    if (place < slide.stacked) {
      slide.stacked = 0;
      slide.front.clear();
    }
    if (place == slide.panes.size() || index_of(slide, place) != index) {
      if (slide.panes.empty()) ++live_;
      ++panes_;
      oldest_ = std::min(oldest_, index);
      uint64_t* added = slide.panes.insert(place);
      added[INDEX] = static_cast<uint64_t>(index);
      added[CAME] = came_++;
    }
    uint64_t* whole = slide.panes[place] + WHOLE;
    return fold_.add(whole + 1, tuple, whole[0]++);
  }
  // Time has passed: emit(key, state, window) of each key of each window that has ended with that.
  // Below 0: an error.
  template <class Emit>
  int32_t advance(int64_t time, Emit&& emit) {
    if (time <= passed_) return 0;
    passed_ = time;
    if (time - window_ < next_) return 0;
    while (panes_ > 0) {
      const int64_t begin =
          std::max((floor_div(oldest_ * pane_ - window_, step_) + 1) * step_, next_);
      if (begin > time - window_) break;
      next_ = begin + step_;
      const int32_t answer = send(begin, emit);
      if (answer < 0) return answer;
      drop(next_ / pane_);
    }
    // Windows without tuples end as well: a tuple that comes later does not open them.
    next_ = std::max(next_, (floor_div(time - window_, step_) + 1) * step_);
    return 0;
  }
  // Nothing will come any more: all windows end.
  template <class Emit>
  int32_t end(Emit&& emit) {
    return advance(INT64_MAX, emit);
  }

 private:
  static constexpr size_t MOST_PANES = size_t{1} << 26;  // of all keys
  static constexpr size_t MOST_COMBINED_AFRESH = 4;      // panes: two stacks cost as much for these
  static constexpr size_t FEW = 64;  // keys: to forget some of so few wins nothing
  // A pane is its index, its place in the order in which panes came, and a whole: the number of
  // tuples and their state.
  enum : size_t { INDEX, CAME, WHOLE };
  struct Slide {
    explicit Slide(size_t whole) : panes(WHOLE + whole), front(whole) {}
    Rows panes;                  // by index
    size_t stacked = 0;          // panes that are in one of the stacks
    Rows front;                  // wholes, the last one is that from the first pane on
    std::vector<uint64_t> back;  // whole of no tuples: the stack is empty
  };
  struct First {
    int64_t index;
    uint64_t came;
    uint32_t key;
    bool operator<(const First& other) const noexcept {
      return std::pair(index, came) < std::pair(other.index, other.came);
    }
  };
  static int64_t index_of(Slide& slide, size_t pane) noexcept {
    return static_cast<int64_t>(slide.panes[pane][INDEX]);
  }
  // The place of the first pane that is not before this one.
  static size_t place_of(Slide& slide, int64_t index) noexcept {
    size_t low = 0, high = slide.panes.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (index_of(slide, middle) < index) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  // The number of a key. NONE: there would be more than MOST_KEYS with a pane.
  uint32_t slide_of(std::string_view key) {
    uint32_t found = table_.at(key);
    if (found == KeyTable::NONE && live_ < MOST_KEYS) {
      forget();
      found = table_.at(key);
    }
    if (found == slides_.size()) slides_.emplace_back(1 + words_);
    return found;
  }
  // Emits the window that begins at `begin`.
  template <class Emit>
  int32_t send(int64_t begin, Emit&& emit) {
    const int64_t last = (begin + window_) / pane_;
    firsts_.clear();
    for (uint32_t i = 0; i < slides_.size(); ++i) {
      Slide& slide = slides_[i];
      if (slide.panes.empty() || index_of(slide, 0) >= last) continue;
      firsts_.push_back({index_of(slide, 0), slide.panes[0][CAME], i});
    }
    std::sort(firsts_.begin(), firsts_.end());
    for (const First& first : firsts_) {
      const uint64_t* whole = nullptr;
      int32_t answer = combine(slides_[first.key], last, whole);
      if (answer < 0) return answer;
      answer = emit(table_.key(first.key), reinterpret_cast<const char*>(whole + 1),
                    millrace_window{begin, begin + window_, whole[0]});
      if (answer < 0) return answer;
    }
    return 0;
  }
  // Points `whole` to a key's panes before `last`, of which there are some.
  int32_t combine(Slide& slide, int64_t last, const uint64_t*& whole) {
    int32_t answer = 0;
    if (slide.front.empty()) {
      const size_t end = place_of(slide, last);
      if (end <= MOST_COMBINED_AFRESH) return afresh(slide, end, whole);
      slide.back.assign(1 + words_, 0);
      slide.stacked = end;
      for (size_t i = end; i-- > 0 && answer >= 0;) {
        copy(slide.front.insert(slide.front.size()), slide.panes[i] + WHOLE);
        if (const size_t size = slide.front.size(); size > 1)
          answer = append(slide.front[size - 1], slide.front[size - 2]);
      }
    }
    for (; answer >= 0 && slide.stacked < slide.panes.size(); ++slide.stacked) {
      if (index_of(slide, slide.stacked) >= last) break;
      const uint64_t* pane = slide.panes[slide.stacked] + WHOLE;
      if (slide.back[0] == 0) {
        copy(slide.back.data(), pane);
      } else {
        answer = append(slide.back.data(), pane);
      }
    }
    whole = slide.front[slide.front.size() - 1];
    if (answer < 0 || slide.back[0] == 0) return answer;
    copy(both_.data(), whole);
    whole = both_.data();
    return append(both_.data(), slide.back.data());
  }
  int32_t afresh(Slide& slide, size_t end, const uint64_t*& whole) {
    whole = slide.panes[0] + WHOLE;
    if (end == 1) return 0;
    copy(both_.data(), whole);
    whole = both_.data();
    int32_t answer = 0;
    for (size_t i = 1; i < end && answer >= 0; ++i)
      answer = append(both_.data(), slide.panes[i] + WHOLE);
    return answer;
  }
  void copy(uint64_t* to, const uint64_t* whole) const noexcept {
    std::copy_n(whole, 1 + words_, to);
  }
  int32_t append(uint64_t* to, const uint64_t* later) {
    to[0] += later[0];
    return fold_.combine(to + 1, later + 1);
  }
  // Panes before this one are in no window any more.
  void drop(int64_t index) {
    oldest_ = INT64_MAX;
    for (Slide& slide : slides_) {
      if (slide.panes.empty()) continue;
      for (; !slide.panes.empty() && index_of(slide, 0) < index; --panes_) {
        slide.panes.pop_front();
        if (slide.stacked > 0) --slide.stacked;
        if (!slide.front.empty()) slide.front.pop_back();
      }
      if (slide.panes.empty()) {
        --live_;
      } else {
        oldest_ = std::min(oldest_, index_of(slide, 0));
      }
    }
    if (slides_.size() > FEW && live_ < slides_.size() / 2) forget();
  }
  // Forgets the keys without panes.
  void forget() {
    KeyTable table(0);
    std::vector<Slide> slides;
    for (uint32_t i = 0; i < slides_.size(); ++i) {
      if (slides_[i].panes.empty()) continue;
      table.at(table_.key(i));
      slides.push_back(std::move(slides_[i]));
    }
    table_ = std::move(table);
    slides_ = std::move(slides);
  }
  Fold fold_;
  size_t words_;
  int64_t window_, step_, pane_;
  int64_t passed_ = INT64_MIN;             // how far time has come
  int64_t next_ = -MOST_TIME - MOST_TIME;  // no open window begins earlier
  int64_t oldest_ = INT64_MAX;             // pane
  size_t panes_ = 0, live_ = 0;            // of all keys; keys that have some
  uint64_t came_ = 0;
  KeyTable table_{0};  // numbers keys
  std::vector<Slide> slides_;
  std::vector<First> firsts_;
  std::vector<uint64_t> both_;
};

// Sessions of each key: tuples of which each comes less than `gap` nanoseconds after the one
// before. A session ends when time has passed its last tuple by `gap`; then it is emitted. Those
// that end together are emitted in the order in which they began to be seen. A late tuple may join
// two of them.
template <class Fold>
class SessionWindows {
 public:
  SessionWindows(const Fold& fold, int64_t gap, int64_t)
      : fold_(fold), words_((fold.bytes() + 7) / 8), gap_(gap) {}
  // No session is open that a tuple would be in, and its own would have ended.
  bool late(std::string_view key, int64_t time) const {
    if (time + gap_ > passed_) return false;
    const auto found = open_.find(key);
    return found == open_.end() ||
           std::none_of(found->second.begin(), found->second.end(),
                        [&](uint64_t number) { return near(sessions_.at(number), time); });
  }
  int32_t add(std::string_view key, int64_t time, const void* tuple) {
    auto found = open_.find(key);
    if (found == open_.end()) {
      if (open_.size() == MOST_KEYS) return TOO_MANY_KEYS;
      found = open_.emplace(std::string(key), std::vector<uint64_t>{}).first;
    }
    std::vector<uint64_t>& own = found->second;  // by time
    const auto at = std::find_if(own.begin(), own.end(),
                                 [&](uint64_t number) { return near(sessions_.at(number), time); });
    if (at == own.end()) {
      if (sessions_.size() == MOST_OPEN) return TOO_MANY;
      Session made{time, time, 0, found->first, std::vector<uint64_t>(words_)};
      own.insert(std::find_if(own.begin(), own.end(),
                              [&](uint64_t number) { return sessions_.at(number).begin > time; }),
                 next_);
      ends_.push({time + gap_, next_});
      return add(&sessions_.emplace(next_++, std::move(made)).first->second, time, tuple);
    }
    Session& session = sessions_.at(*at);
    const int32_t answer = add(&session, time, tuple);
    if (answer < 0 || at + 1 == own.end()) return answer;
    const auto later = sessions_.find(*(at + 1));
    if (!near(later->second, time)) return 0;
    session.last = later->second.last;
    session.count += later->second.count;
    const int32_t combined = fold_.combine(session.state.data(), later->second.state.data());
    sessions_.erase(later);
    own.erase(at + 1);
    return combined;
  }
  template <class Emit>
  int32_t advance(int64_t time, Emit&& emit) {
    passed_ = std::max(passed_, time);
    while (!ends_.empty() && ends_.top().first <= passed_) {
      const uint64_t number = ends_.top().second;
      const int64_t end = ends_.top().first;
      ends_.pop();
      const auto found = sessions_.find(number);
      if (found == sessions_.end()) continue;  // it has been joined to another one
      const Session& session = found->second;
      if (session.last + gap_ > end) {  // it has gone on
        ends_.push({session.last + gap_, number});
        continue;
      }
      const int32_t answer =
          emit(std::string_view(session.key), reinterpret_cast<const char*>(session.state.data()),
               millrace_window{session.begin, session.last + gap_, session.count});
      const auto own = open_.find(session.key);
      own->second.erase(std::find(own->second.begin(), own->second.end(), number));
      if (own->second.empty()) open_.erase(own);
      sessions_.erase(found);
      if (answer < 0) return answer;
    }
    return 0;
  }
  template <class Emit>
  int32_t end(Emit&& emit) {
    return advance(INT64_MAX, emit);
  }

 private:
  static constexpr size_t MOST_OPEN = size_t{1} << 20;
  struct Session {
    int64_t begin, last;  // times of its first and last tuple
    uint64_t count;
    std::string key;
    std::vector<uint64_t> state;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return hash_of(text); }
  };
  bool near(const Session& session, int64_t time) const noexcept {
    return time < session.last + gap_ && session.begin < time + gap_;
  }
  int32_t add(Session* session, int64_t time, const void* tuple) {
    session->begin = std::min(session->begin, time);
    session->last = std::max(session->last, time);
    return fold_.add(session->state.data(), tuple, session->count++);
  }
  using End = std::pair<int64_t, uint64_t>;  // of a session; its number
  Fold fold_;
  size_t words_;
  int64_t gap_, passed_ = INT64_MIN;
  uint64_t next_ = 0;
  std::unordered_map<uint64_t, Session> sessions_;                                      // by number
  std::unordered_map<std::string, std::vector<uint64_t>, Hash, std::equal_to<>> open_;  // by key
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // or earlier ones
};

// The bytes that stand for a number in a key: all that are equal have the same, -0.0 and 0.0 too,
// and so have all that are not a number.
template <class Real>
Real canonical(const char* at) noexcept {
  Real value;
  std::memcpy(&value, at, sizeof value);
  if (value != value) return std::numeric_limits<Real>::quiet_NaN();
  return value == 0 ? Real{0} : value;
}

// What a key is made of: attributes of a tuple, as their schema has them. The bytes of a string
// behind its end do not count.
class Key {
 public:
  struct Part {
    uint32_t offset, bytes;
    bool string, real;
  };
  explicit Key(std::vector<Part> parts) : parts_(std::move(parts)) {}
  // Valid until the next call, and as long as the tuple is.
  std::string_view of(const void* tuple) {
    const char* content = static_cast<const char*>(tuple);
    if (parts_.size() == 1 && !parts_[0].real) return view(parts_[0], content);
    gathered_.clear();
    for (const Part& part : parts_) {
      if (part.real) {
        append_real(part, content);
        continue;
      }
      const std::string_view each = view(part, content);
      const uint32_t length = static_cast<uint32_t>(each.size());
      if (part.string) gathered_.append(reinterpret_cast<const char*>(&length), sizeof length);
      gathered_.append(each);
    }
    return gathered_;
  }
  // Writes the attributes of a key into a tuple, which is zero there, each at its place in `to`.
  void write(std::string_view key, char* out, const std::vector<uint32_t>& to) const noexcept {
    for (size_t i = 0; i < parts_.size(); ++i) {
      uint32_t length = parts_.size() == 1 ? static_cast<uint32_t>(key.size()) : parts_[i].bytes;
      char* at = out + to[i];
      if (parts_[i].string) {
        if (parts_.size() > 1) {
          std::memcpy(&length, key.data(), sizeof length);
          key.remove_prefix(sizeof length);
        }
        std::memcpy(at, &length, sizeof length);
        at += sizeof length;
      }
      std::memcpy(at, key.data(), length);
      key.remove_prefix(length);
    }
  }

 private:
  void append_real(const Part& part, const char* content) {
    if (part.bytes == sizeof(float)) {
      const float value = canonical<float>(content + part.offset);
      gathered_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      const double value = canonical<double>(content + part.offset);
      gathered_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  static std::string_view view(const Part& part, const char* content) noexcept {
    if (!part.string) return {content + part.offset, part.bytes};
    uint32_t length;
    std::memcpy(&length, content + part.offset, sizeof length);
    return {content + part.offset + sizeof length, std::min(length, part.bytes)};
  }
  std::vector<Part> parts_;
  std::string gathered_;
};

// A fold over tuples of a type, with a state of a type: that has add(tuple, count) and
// combine(later).
template <class State, class T>
struct TypedFold {
  static size_t bytes() noexcept { return sizeof(State); }
  static int32_t add(void* state, const void* tuple, uint64_t count) {
    static_cast<State*>(state)->add(*static_cast<const T*>(tuple), count);
    return 0;
  }
  static int32_t combine(void* state, const void* later) {
    static_cast<State*>(state)->combine(*static_cast<const State*>(later));
    return 0;
  }
};

// A fold given by the addresses of its functions (millrace.h).
class GivenFold {
 public:
  GivenFold(size_t state_bytes, size_t add, size_t combine, size_t result)
      : bytes_(state_bytes),
        add_(reinterpret_cast<Add>(add)),
        combine_(reinterpret_cast<Combine>(combine)),
        result_(reinterpret_cast<Result>(result)) {}
  size_t bytes() const noexcept { return bytes_; }
  int32_t add(void* state, const void* tuple, uint64_t count) const {
    return add_(state, tuple, count);
  }
  int32_t combine(void* state, const void* later) const { return combine_(state, later); }
  int32_t result(const void* state, const millrace_window& window, void* out) const {
    return result_(state, &window, out);
  }

 private:
  using Add = int32_t (*)(void*, const void*, uint64_t);
  using Combine = int32_t (*)(void*, const void*);
  using Result = int32_t (*)(const void*, const millrace_window*, void*);
  size_t bytes_;
  Add add_;
  Combine combine_;  // null where windows tumble
  Result result_;
};

// An aggregate by count as an operator.
template <class Fold>
class AggregateByCount : public Operator {
 public:
  AggregateByCount(const Fold& fold, std::vector<Key::Part> key, uint64_t window, uint64_t step)
      : fold_(fold), key_(std::move(key)), windows_(fold, window, step) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    return windows_.add(
        key_.of(tuple), tuple, [&](const char* state, const millrace_window& window) {
          const int32_t answer = fold_.result(state, window, millrace_room(context, 0));
          if (answer > 0) millrace_send(context, 0);
          return answer;
        });
  }

 private:
  Fold fold_;
  Key key_;
  CountWindows<Fold> windows_;
};

// An aggregate by time as an operator, over windows of a kind: TimeWindows, SlidingWindows or
// SessionWindows.
template <class Fold, template <class> class Windows>
class AggregateByTime : public Timed {
 public:
  AggregateByTime(const Fold& fold, std::vector<Key::Part> key, uint32_t time_offset,
                  uint32_t bytes, const EventTime::Rule& rule, int64_t window, int64_t step)
      : Timed({{time_offset, bytes, EventTime(rule)}}),
        fold_(fold),
        key_(std::move(key)),
        windows_(fold, window, step) {}

 protected:
  int32_t take(millrace_context* context, uint32_t port, const void* tuple, int64_t time) override {
    const std::string_view key = key_.of(tuple);
    if (windows_.late(key, time)) {
      leave_out_late(context, port, tuple);
    } else if (const int32_t answer = windows_.add(key, time, tuple); answer < 0) {
      return answer;
    }
    clock(0).see(time);
    return windows_.advance(clock(0).passed(), sender(context));
  }
  int32_t end(millrace_context* context) override { return windows_.end(sender(context)); }
  int32_t close(millrace_context* context) override {
    return windows_.advance(clock(0).passed(), sender(context));
  }

 private:
  auto sender(millrace_context* context) {
    return [this, context](std::string_view, const char* state, const millrace_window& window) {
      const int32_t answer = fold_.result(state, window, millrace_room(context, 0));
      if (answer > 0) millrace_send(context, 0);
      return answer;
    };
  }
  Fold fold_;
  Key key_;
  Windows<Fold> windows_;
};

}  // namespace millrace::operators
