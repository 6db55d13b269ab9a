// Sets of small numbers as bits in words of 64: how a board keeps sets of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace syncopate::bits {

inline constexpr int kPerWord = 64;

constexpr std::size_t words_for(int count) { return (count + kPerWord - 1) / kPerWord; }

/// The word that has a number, and its bit there.
constexpr std::size_t word_of(int number) { return number / kPerWord; }
constexpr std::uint64_t bit_of(int number) { return std::uint64_t{1} << (number % kPerWord); }

constexpr bool contains(std::span<const std::uint64_t> words, int number) {
  return (words[word_of(number)] & bit_of(number)) != 0;
}
constexpr void insert(std::span<std::uint64_t> words, int number) {
  words[word_of(number)] |= bit_of(number);
}

}  // namespace syncopate::bits
