// The words of one line of a scenario, taken one after another.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::testing {

class Tokens {
 public:
  Tokens(std::string_view text, int line) : line_(line) {
    text = text.substr(0, text.find('#'));
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    std::string word;
    const auto flush = [&] {
      if (!word.empty()) words_.push_back(word);
      word.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      // A colon inside a word belongs to it, as in majority:3.
      const bool closes = c == ':' && (i + 1 == text.size() || is_space(text[i + 1]));
      const bool alone = c == ',' || c == '(' || c == ')' || closes;
      if (is_space(c) || alone) flush();
      if (alone) words_.emplace_back(1, c);
      if (!is_space(c) && !alone) word += c;
    }
    flush();
  }

  int line() const { return line_; }
  bool empty() const { return next_ == words_.size(); }
  std::string_view peek() const { return empty() ? std::string_view() : words_[next_]; }

  const std::string& take() {
    if (empty()) fail("something is missing at the end");
    return words_[next_++];
  }
  bool take_if(std::string_view word) {
    if (peek() != word) return false;
    ++next_;
    return true;
  }
  void expect(std::string_view word) {
    if (!take_if(word)) {
      fail("expected '" + std::string(word) + "' and found '" + std::string(peek()) + "'");
    }
  }
  void expect_end() {
    if (!empty()) fail("did not expect '" + std::string(peek()) + "'");
  }

  bool number_follows() const {
    return !empty() && (isdigit(peek()[0]) != 0 || (peek()[0] == '-' && peek().size() > 1));
  }
  template <typename Number = std::uint64_t>
  Number number() {
    const std::string& word = take();
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail("'" + word + "' is no number");
    return value;
  }
  std::vector<int> ranks() {
    std::vector<int> list;
    if (take_if("nobody")) return list;
    while (number_follows()) list.push_back(number<int>());
    if (list.empty()) fail("expected ranks, or \"nobody\"");
    return list;
  }
  std::chrono::nanoseconds duration() {
    const std::string& word = take();
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const std::string_view unit(end, word.data() + word.size() - end);
    const double scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 0;
    if (error != std::errc() || scale == 0) fail("'" + word + "' is no time such as 5ms");
    return std::chrono::nanoseconds(static_cast<std::int64_t>(value * scale + 0.5));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("line " + std::to_string(line_) + ": " + what);
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  int line_;
};

}  // namespace syncopate::testing
