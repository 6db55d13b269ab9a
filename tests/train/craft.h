// Files of tensors that fit together and are wrong: a whole file, with some of its tensors, numbers
// and names changed as draws say, and a checksum that is right.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "train/bytes.h"
#include "train/tensor_bytes.h"

namespace syncopate::testing {

/// A number below the one given, which is above 0.
using Draw = std::function<std::uint32_t(std::uint32_t)>;

class Crafted {
 public:
  Crafted(const std::string& file, Draw draw) : draw_(std::move(draw)) {
    const std::string whole = file;
    const train::TensorFileBytes found = train::find_tensors(train::as_bytes(whole));
    file_.notes = found.notes;
    file_.notes.erase("checksum");
    for (const auto& [name, tensor] : found.tensors) put(name, tensor, tensor.bytes);
    for (auto count = draw_(3) + 1; count > 0; --count) change();
  }

  std::string bytes() const { return train::to_bytes(file_); }

 private:
  void put(const std::string& name, train::TensorBytes tensor, std::span<const std::byte> bytes) {
    kept_.emplace_back(bytes.begin(), bytes.end());
    tensor.bytes = kept_.back();
    file_.tensors[name] = tensor;
  }

  void change() {
    switch (draw_(8)) {
      case 0:
        return change_note();
      case 1:
      case 2:
      case 3:
        return change_head();
      default:
        return change_tensor();
    }
  }

  void change_note() {
    const std::array<const char*, 7> versions{
        "1", "2", "3", "-1", "", "2 ", "99999999999999999999"};
    if (draw_(4) == 0) file_.notes["version"] = versions[draw_(versions.size())];
    if (draw_(8) == 0) file_.notes["more"] = "note";
    if (draw_(16) == 0) file_.notes.erase("head");
  }

  nlohmann::json odd_value() {
    constexpr double kNever = std::numeric_limits<double>::infinity();  // Written as null.
    const std::array<double, 19> numbers{-1,     0,     -0.0,  0.5,    1,      2,      3,
                                         17,     1e6,   1e9,   1e12,   0x1p31, 0x1p53, 0x1p63,
                                         0x1p64, 1e-40, 1e300, -1e300, kNever};
    switch (draw_(8)) {
      case 0:
        return nullptr;
      case 1:
        return "text";
      case 2:
        return nlohmann::json::array({1, 2});
      case 3:
        return nlohmann::json::object();
      case 4:
        return std::int64_t(draw_(100));
      default:
        return numbers[draw_(numbers.size())];
    }
  }

  /// Changes one value somewhere in the head.
  void change_head() {
    const auto note = file_.notes.find("head");
    if (note == file_.notes.end()) return;
    nlohmann::json head = nlohmann::json::parse(note->second, nullptr, false);
    nlohmann::json* place = &head;
    while (place->is_structured() && !place->empty()) {
      auto next = place->begin();
      std::advance(next, draw_(std::uint32_t(place->size())));
      const bool deeper = next->is_structured() && !next->empty() && draw_(8) != 0;
      if (deeper) {
        place = &*next;
        continue;
      }
      const auto what = draw_(8);
      if (what == 0) {
        place->erase(next);
      } else if (what == 1 && place->is_object()) {
        (*place)["more"] = odd_value();
      } else {
        *next = odd_value();
      }
      break;
    }
    note->second = head.dump();
  }

  void change_tensor() {
    if (file_.tensors.empty()) return;
    auto found = file_.tensors.begin();
    std::advance(found, draw_(std::uint32_t(file_.tensors.size())));
    const std::string name = found->first;
    train::TensorBytes tensor = found->second;
    const std::array<const char*, 6> names{"weights",       "heading",
                                           "statistic.9",   "strategy.own.more",
                                           "optimizer.9.x", "strategy.pending.carried"};
    switch (draw_(7)) {
      case 0:
        file_.tensors.erase(found);
        return;
      case 1:
        return put(names[draw_(names.size())], tensor, tensor.bytes);
      case 2:
        return set_type(name, train::Element(draw_(3)));
      case 3:
      case 4:
        return set_length(name, draw_(2) == 0 ? draw_(5) : length_of(tensor) + draw_(3) - 1);
      case 5:
        tensor.shape.push_back(1);
        return put(name, tensor, tensor.bytes);
      default:
        return set_value(name);
    }
  }

  static std::size_t length_of(const train::TensorBytes& tensor) {
    return tensor.bytes.size() / train::size_of(tensor.type);
  }

  void set_type(const std::string& name, train::Element type) {
    train::TensorBytes tensor = file_.tensors.at(name);
    const std::vector<std::byte> bytes(length_of(tensor) * train::size_of(type));
    tensor.type = type;
    put(name, tensor, bytes);
  }

  void set_length(const std::string& name, std::size_t length) {
    train::TensorBytes tensor = file_.tensors.at(name);
    std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
    bytes.resize(std::min<std::size_t>(length, 1 << 20) * train::size_of(tensor.type));
    tensor.shape = {std::int64_t(bytes.size() / train::size_of(tensor.type))};
    put(name, tensor, bytes);
  }

  void set_value(const std::string& name) {
    const train::TensorBytes tensor = file_.tensors.at(name);
    std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
    if (bytes.empty()) return;
    const std::array<float, 7> values{NAN, INFINITY, -INFINITY, -1, 3e38F, 1e12F, 0};
    const std::size_t size = train::size_of(tensor.type);
    const std::size_t place = draw_(std::uint32_t(bytes.size() / size));
    if (tensor.type == train::Element::f32) {
      const float value = values[draw_(values.size())];
      std::memcpy(bytes.data() + place * size, &value, size);
    } else {
      const std::uint64_t value = std::uint64_t(draw_(256)) << 56 | draw_(256);
      std::memcpy(bytes.data() + place * size, &value, size);
    }
    put(name, tensor, bytes);
  }

  Draw draw_;
  train::TensorFileBytes file_;
  std::deque<std::vector<std::byte>> kept_;  ///< What the tensors have.
};

}  // namespace syncopate::testing
