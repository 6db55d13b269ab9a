// The loops of the kernel, written once over vector types that each level provides. Every file
// that includes this compiles it for other instructions, so everything here is private to the
// including file.
//
// A level describes each element type by a *format*:
//   Element, Lanes     what memory holds, and the arithmetic it is summed with
//   read, write        one vector from and to memory at any alignment, widened and narrowed
//   streams            whether it has the next two:
//   stream             the same as write, around the caches, to an aligned address
//   fence              orders streamed vectors with the flag that says they are done
// and its arithmetic by *lanes*:
//   Value, Vector, width, load, store, broadcast, add, multiply
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kernel/dispatch.h"
#include "kernel/scalar.h"

namespace syncopate::board::detail {
namespace {

// A block of partial sums waits in the first-level cache while the terms pass by, a few at a time.
// Slots lie at equal offsets within their pages, so the lines of many terms compete for the same
// few ways of that cache and push each other out: 16 terms at once lose a third of the speed. With
// fewer than four, the partial sums are read and written too often.
constexpr std::size_t block_bytes = 4096;
constexpr std::size_t terms_per_pass = 6;
constexpr std::size_t line_bytes = 64;

/// One pass over one block: some terms are added to what the passes before it left.
template <typename Format>
struct Pass {
  using Value = typename Format::Lanes::Value;
  std::span<const Term> terms;
  std::size_t first = 0;           ///< Element that the block starts at.
  const Value* partial = nullptr;  ///< Sums of the earlier terms; none in the first pass.
  Value* next = nullptr;           ///< Where the sums go if terms follow; else to `out`.
  std::byte* out;                  ///< The whole result, not the block's part of it.
  double scale;
  bool stream = false;
  std::span<const Term> ahead = {};  ///< Terms of the pass after this one, to be fetched meanwhile.
  std::size_t ahead_first = 0;
};

template <typename Format>
const std::byte* address(const Term& term, std::size_t element) {
  return static_cast<const std::byte*>(term.values) + element * sizeof(typename Format::Element);
}

/// Fetches so many bytes of each term of the next pass. Into the second level: in the first it
/// would push out what this pass still reads.
template <typename Format>
[[gnu::always_inline]] inline void fetch_ahead(const Pass<Format>& pass, std::size_t at,
                                               std::size_t bytes) {
  for (const Term& later : pass.ahead) {
    const std::byte* from = address<Format>(later, pass.ahead_first + at);
    for (std::size_t byte = 0; byte < bytes; byte += line_bytes)
      __builtin_prefetch(from + byte, 0, 2);
  }
}

// A pack of indices and not a loop: the sums have to become registers at every optimization level.
template <typename Format, std::size_t... index>
inline void add_vectors(const Pass<Format>& pass, std::size_t at, std::index_sequence<index...>) {
  using Lanes = typename Format::Lanes;
  using Value = typename Lanes::Value;
  constexpr std::size_t vector_bytes = Lanes::width * sizeof(typename Format::Element);
  constexpr std::size_t count = sizeof...(index);

  typename Lanes::Vector sums[count];  // NOLINT(modernize-avoid-c-arrays): std::array drops
                                       // the alignment attribute of a vector type
  const Term* term = pass.terms.data();
  const Term* const end = term + pass.terms.size();
  if (pass.partial != nullptr) {
    ((sums[index] = Lanes::load(pass.partial + at + index * Lanes::width)), ...);
  } else {
    const std::byte* from = address<Format>(*term, pass.first + at);
    ((sums[index] = Format::read(from + index * vector_bytes)), ...);
    if (term->weight != 1) {
      const auto weight = Lanes::broadcast(static_cast<Value>(term->weight));
      ((sums[index] = Lanes::multiply(sums[index], weight)), ...);
    }
    ++term;
  }
  for (; term != end; ++term) {
    const std::byte* from = address<Format>(*term, pass.first + at);
    if (term->weight == 1) {
      ((sums[index] = Lanes::add(sums[index], Format::read(from + index * vector_bytes))), ...);
    } else {
      const auto weight = Lanes::broadcast(static_cast<Value>(term->weight));
      ((sums[index] = Lanes::add(
            sums[index], Lanes::multiply(Format::read(from + index * vector_bytes), weight))),
       ...);
    }
  }

  fetch_ahead(pass, at, count * vector_bytes);
  if (pass.next != nullptr) {
    return (Lanes::store(pass.next + at + index * Lanes::width, sums[index]), ...);
  }
  if (pass.scale != 1) {
    const auto scale = Lanes::broadcast(static_cast<Value>(pass.scale));
    ((sums[index] = Lanes::multiply(sums[index], scale)), ...);
  }
  std::byte* to = pass.out + (pass.first + at) * sizeof(typename Format::Element);
  if constexpr (Format::streams) {
    if (pass.stream) return (Format::stream(to + index * vector_bytes, sums[index]), ...);
  }
  (Format::write(to + index * vector_bytes, sums[index]), ...);
}

/// `elements` is a multiple of the vector's width.
template <typename Format>
inline void add_block(const Pass<Format>& pass, std::size_t elements) {
  constexpr std::size_t width = Format::Lanes::width;
  std::size_t at = 0;
  for (; at + 4 * width <= elements; at += 4 * width)
    add_vectors(pass, at, std::make_index_sequence<4>());
  for (; at < elements; at += width) add_vectors(pass, at, std::make_index_sequence<1>());
}

/// Elements [first, last) block by block; a multiple of the vector's width.
template <typename Format>
void add_blocks(Pass<Format> pass, std::size_t first, std::size_t last) {
  using Value = typename Format::Lanes::Value;
  constexpr std::size_t block = block_bytes / sizeof(Value);
  const std::span<const Term> terms = pass.terms;
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): left uninitialized on purpose
  alignas(line_bytes) Value partial[block];
  // A result worth streaming comes from terms that are not in the caches, where fetching ahead
  // gains a quarter; on cached terms it would lose as much.
  const bool fetch_ahead = pass.stream;

  for (; first < last; first += block) {
    const std::size_t elements = std::min(block, last - first);
    pass.first = first;
    for (std::size_t term = 0; term < terms.size(); term += terms_per_pass) {
      const std::size_t after = std::min(terms.size(), term + terms_per_pass);
      pass.terms = terms.subspan(term, after - term);
      pass.partial = term == 0 ? nullptr : partial;
      pass.next = after == terms.size() ? nullptr : partial;
      if (fetch_ahead && pass.next != nullptr) {
        pass.ahead = terms.subspan(after, std::min(terms_per_pass, terms.size() - after));
        pass.ahead_first = first;
      } else if (fetch_ahead && last - first >= 2 * block) {
        pass.ahead = terms.first(std::min(terms_per_pass, terms.size()));
        pass.ahead_first = first + block;
      } else {
        pass.ahead = {};
      }
      add_block(pass, elements);
    }
  }
}

/// Fewer elements than a vector holds. Side by side, because the additions of one wait for each
/// other. A part of `sum`, which for so few takes no longer than a call would.
template <typename Scalar>
[[gnu::always_inline]] inline void add_few(const Pass<Scalar>& pass, std::size_t elements) {
  std::size_t at = 0;
  for (; at + 4 <= elements; at += 4) add_vectors(pass, at, std::make_index_sequence<4>());
  for (; at + 2 <= elements; at += 2) add_vectors(pass, at, std::make_index_sequence<2>());
  if (at < elements) add_vectors(pass, at, std::make_index_sequence<1>());
}

/// The same, for the ends of a longer vector.
template <typename Scalar>
[[gnu::noinline]] void add_end(const Pass<Scalar>& pass, std::size_t elements) {
  add_few(pass, elements);
}

inline bool is_term(std::span<const Term> terms, const void* out) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return term.values == out; });
}

/// At least as many elements as a vector holds.
template <typename Format>
[[gnu::noinline]] void sum_vectors(std::size_t elements, std::span<const Term> terms, double scale,
                                   void* out, Store store) {
  using Element = typename Format::Element;
  constexpr std::size_t width = Format::Lanes::width;
  constexpr std::size_t vector_bytes = width * sizeof(Element);

  auto* bytes = static_cast<std::byte*>(out);
  Pass<Format> pass{.terms = terms, .out = bytes, .scale = scale};
  const auto one = std::make_index_sequence<1>();

  std::size_t first = 0;
  if (Format::streams && store == Store::streaming) {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(out) % vector_bytes;
    const std::size_t head = beyond == 0 ? 0 : vector_bytes - beyond;
    pass.stream = head % sizeof(Element) == 0;
    first = pass.stream ? head / sizeof(Element) : 0;
  }
  // What does not fill a vector, at either end, is done as a whole one that overlaps its
  // neighbor: the same elements come out twice, with the same bits. Unless they go where they
  // came from, which would count them twice.
  const std::size_t last = elements - (elements - first) % width;
  const bool in_place = (first != 0 || last != elements) && is_term(terms, out);
  Pass<Format> edge = pass;
  edge.stream = false;
  Pass<ScalarFormat<Element>> rest{.terms = terms, .out = bytes, .scale = scale};
  if (first != 0) in_place ? add_end(rest, first) : add_vectors(edge, 0, one);
  if (last - first <= 4 * width) {
    pass.first = first;
    add_block(pass, last - first);
  } else {
    add_blocks(pass, first, last);
  }
  if (last != elements) {
    rest.first = last;
    in_place ? add_end(rest, elements - last) : add_vectors(edge, elements - width, one);
  }
  if constexpr (Format::streams) {
    if (pass.stream) Format::fence();
  }
}

template <typename Format>
void sum(std::size_t elements, std::span<const Term> terms, double scale, void* out, Store store) {
  using Scalar = ScalarFormat<typename Format::Element>;
  if (elements >= Format::Lanes::width) {
    return sum_vectors<Format>(elements, terms, scale, out, store);
  }
  auto* bytes = static_cast<std::byte*>(out);
  add_few(Pass<Scalar>{.terms = terms, .out = bytes, .scale = scale}, elements);
}

/// Chooses the format; `Formats` names a level's four.
template <typename Formats>
void sum_in(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
            void* out, Store store) {
  switch (type) {
    case DataType::float32:
      return sum<typename Formats::Float32>(elements, terms, scale, out, store);
    case DataType::float64:
      return sum<typename Formats::Float64>(elements, terms, scale, out, store);
    case DataType::bfloat16:
      return sum<typename Formats::Bfloat16>(elements, terms, scale, out, store);
    case DataType::float16:
      return sum<typename Formats::Float16>(elements, terms, scale, out, store);
  }
}

}  // namespace
}  // namespace syncopate::board::detail
