// by_text.hpp - what operators keep by a text: users, hosts, tickers, words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "key_table.hpp"

namespace millrace::applications {

using operators::MOST_KEYS;

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};
template <class T>
using ByText = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

// Which of `parts` a text belongs to: FNV-1a.
inline uint32_t partition_of(std::string_view text, uint32_t parts) noexcept {
  uint32_t hash = 2166136261;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619;
  return hash % parts;
}

}  // namespace millrace::applications
