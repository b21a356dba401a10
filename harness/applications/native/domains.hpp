// domains.hpp - where in a name the domain begins that somebody registered, and lists of domains.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "key_table.hpp"

namespace millrace::applications {

using namespace operators;

// The public suffixes of https://publicsuffix.org/list/: rules such as com, *.ck and !www.ck.
// Operators share one, since finding changes nothing.
class Suffixes {
 public:
  explicit Suffixes(const std::vector<std::string>& rules) {
    for (const std::string& rule : rules) add(rule);
  }
  struct Place {
    size_t domain;     // begin of the registered domain
    size_t label_end;  // end of its first label
  };
  // Of a name that is a suffix itself, all of it and its first label.
  Place of(std::string_view name) const noexcept {
    // the last label is a suffix by itself, whether it is on the list or not
    size_t suffix = begin_of_label(name, name.size());
    bool below_any = false;  // any label below the part before is a suffix
    for (size_t begin = suffix;; begin = begin_of_label(name, begin - 1)) {
      const uint32_t found = rules_.find(name.substr(begin));
      const uint64_t kind = found == KeyTable::NONE ? 0 : kind_of(found);
      if ((kind & EXCEPTION) != 0) {
        suffix = std::min(name.find('.', begin) + 1, name.size());
        break;
      }
      if (below_any || (kind & RULE) != 0) suffix = begin;
      if (found == KeyTable::NONE || begin == 0) break;
      below_any = (kind & ANY_BELOW) != 0;
    }
    const size_t domain = suffix == 0 ? 0 : begin_of_label(name, suffix - 1);
    return {domain, std::min(name.find('.', domain), name.size())};
  }

 private:
  enum Kind : uint64_t { PART = 0, RULE = 1, ANY_BELOW = 2, EXCEPTION = 4 };
  void add(std::string_view rule) {
    const bool exception = rule.starts_with('!'), any = rule.starts_with("*.");
    if (exception || any) rule.remove_prefix(any ? 2 : 1);
    mark(rule, exception ? EXCEPTION : any ? ANY_BELOW : RULE);
    // what is between a rule and the last label, so that the way to it has no gap
    for (size_t dot = rule.find('.'); dot != std::string_view::npos; dot = rule.find('.', dot + 1))
      mark(rule.substr(dot + 1), PART);
  }
  void mark(std::string_view part, Kind kind) {
    *reinterpret_cast<uint64_t*>(rules_.record(rules_.at(part))) |= kind;
  }
  uint64_t kind_of(uint32_t found) const noexcept {
    return *reinterpret_cast<const uint64_t*>(rules_.record(found));
  }
  static size_t begin_of_label(std::string_view name, size_t end) noexcept {
    const size_t dot = end == 0 ? std::string_view::npos : name.rfind('.', end - 1);
    return dot == std::string_view::npos ? 0 : dot + 1;
  }
  KeyTable rules_{sizeof(uint64_t)};
};

// Domains, and all that is below them.
class Domains {
 public:
  explicit Domains(const std::vector<std::string>& domains) {
    for (const std::string& domain : domains) {
      domains_.at(domain);
      longest_ = std::max(longest_, domain.size());
    }
  }
  bool have(std::string_view name) const noexcept {
    if (longest_ == 0) return false;
    for (;;) {
      if (name.size() <= longest_ && domains_.find(name) != KeyTable::NONE) return true;
      const size_t dot = name.find('.');
      if (dot == std::string_view::npos) return false;
      name.remove_prefix(dot + 1);
    }
  }

 private:
  KeyTable domains_{8};
  size_t longest_ = 0;
};

}  // namespace millrace::applications
