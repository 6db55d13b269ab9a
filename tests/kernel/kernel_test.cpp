// The kernel against a plain loop, bit for bit, at every instruction set of this processor.
#include "kernel/kernel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernel/dispatch.h"

namespace syncopate::board {
namespace {

template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

const std::size_t term_counts[] = {0, 1, 2, 3, 7, 16, 33};
const std::size_t lengths[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 1000, 4097, 100003};
const Store stores[] = {Store::cached, Store::streaming};

/// The contract as a loop. `volatile` keeps the compiler from fusing a product with its sum.
template <typename T>
std::vector<T> reference(std::size_t elements, std::span<const Term> terms, double scale) {
  using A = Accumulator<T>;
  std::vector<T> result(elements, T(0));
  if (terms.empty()) return result;
  for (std::size_t i = 0; i < elements; ++i) {
    A sum = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      T element;
      std::memcpy(&element, static_cast<const std::byte*>(terms[t].values) + i * sizeof(T),
                  sizeof(T));
      volatile A product = static_cast<A>(element);
      if (static_cast<A>(terms[t].weight) != 1) {
        product = product * static_cast<A>(terms[t].weight);
      }
      sum = t == 0 ? A(product) : sum + product;
    }
    if (static_cast<A>(scale) != 1) sum *= static_cast<A>(scale);
    result[i] = T(sum);
  }
  return result;
}

/// Numbers of the size of gradients, and now and then one at the edge of what the type can hold.
template <typename T>
std::vector<T> numbers(std::size_t elements, unsigned seed) {
  using A = Accumulator<T>;
  const A edges[] = {A(-0.0),  A(65504),
                     A(65519), A(1e-8),
                     A(-6e-5), std::numeric_limits<A>::max(),
                     A(0),     A(-1e-41),
                     A(3e38),  std::numeric_limits<A>::infinity()};
  std::mt19937 random(seed);
  std::normal_distribution<A> normal;
  std::vector<T> values;
  values.reserve(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    values.push_back(T(random() % 64 == 0 ? edges[random() % std::size(edges)] : normal(random)));
  }
  return values;
}

/// Memory at a chosen misalignment.
template <typename T>
class Shifted {
 public:
  Shifted(std::size_t elements, std::size_t shift)
      : bytes_(elements * sizeof(T) + shift + 64), shift_(shift) {}
  Shifted(std::span<const T> values, std::size_t shift) : Shifted(values.size(), shift) {
    if (!values.empty()) std::memcpy(data(), values.data(), values.size_bytes());
  }
  std::byte* data() {
    const auto beyond = reinterpret_cast<std::uintptr_t>(bytes_.data()) % 64;
    return bytes_.data() + (64 - beyond) % 64 + shift_;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t shift_;
};

template <typename T>
::testing::AssertionResult same_bits(const std::vector<T>& expected, const void* actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Bits<T> want, have;
    std::memcpy(&want, &expected[i], sizeof want);
    std::memcpy(&have, static_cast<const std::byte*>(actual) + i * sizeof(T), sizeof have);
    if (want != have) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << expected.size() << std::hex << ": 0x" << want
             << " expected, 0x" << have << " found";
    }
  }
  return ::testing::AssertionSuccess();
}

template <typename T>
class WeightedSum : public ::testing::Test {
 protected:
  static std::vector<Shifted<T>> inputs(std::size_t count, std::size_t elements, std::size_t step) {
    std::vector<Shifted<T>> result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto values = numbers<T>(elements, static_cast<unsigned>(i + 1));
      result.emplace_back(values, i * step % 64);
    }
    return result;
  }
  static std::vector<Term> weigh(std::vector<Shifted<T>>& inputs, bool weighted) {
    const double weights[] = {0.3, 1, -2.5, 1.0 / 3, 0, 1e-3};
    std::vector<Term> terms;
    for (auto& input : inputs) {
      terms.push_back({input.data(), weighted ? weights[terms.size() % std::size(weights)] : 1});
    }
    return terms;
  }
  static void expect_at_every_level(const std::vector<T>& expected, std::span<const Term> terms,
                                    double scale, std::size_t shift) {
    for (const auto level : detail::supported_levels()) {
      for (const auto store : stores) {
        Shifted<T> out(expected.size(), shift);
        detail::weighted_sum_at(level, data_type<T>, expected.size(), terms, scale, out.data(),
                                store);
        EXPECT_TRUE(same_bits(expected, out.data()))
            << detail::to_string(level) << ", " << terms.size() << " terms, scale " << scale
            << (store == Store::streaming ? ", streaming" : ", cached") << ", shift " << shift;
      }
    }
  }
};

using Elements = ::testing::Types<float, double, bfloat16, float16>;
TYPED_TEST_SUITE(WeightedSum, Elements);

TYPED_TEST(WeightedSum, IsTheSameBitsAtEveryInstructionSet) {
  for (const auto elements : lengths) {
    for (const auto count : term_counts) {
      auto inputs = this->inputs(count, elements, 0);
      for (const bool weighted : {false, true}) {
        const auto terms = this->weigh(inputs, weighted);
        for (const double scale : {1.0, 1.0 / 16, 0.7, -0.0}) {
          if (elements > 5000 && weighted != (scale == 0.7)) continue;  // the same paths, slowly
          this->expect_at_every_level(reference<TypeParam>(elements, terms, scale), terms, scale,
                                      0);
        }
      }
    }
  }
}

TYPED_TEST(WeightedSum, IsTheSameBitsAtEveryAlignment) {
  for (const std::size_t step : {std::size_t(1), sizeof(TypeParam)}) {
    for (const std::size_t elements : {1, 17, 65, 1000, 5000}) {
      auto inputs = this->inputs(9, elements, step);
      const auto terms = this->weigh(inputs, true);
      const auto expected = reference<TypeParam>(elements, terms, 0.7);
      for (std::size_t shift = 0; shift < 64; shift += step) {
        this->expect_at_every_level(expected, terms, 0.7, shift);
      }
    }
  }
}

TYPED_TEST(WeightedSum, IsTheSameBitsInPlaceOfAnyTerm) {
  for (const std::size_t elements : {1, 2, 7, 16, 17, 63, 65, 129, 1000, 1027, 5003}) {
    for (const std::size_t count : {1, 2, 3, 6, 7, 13}) {
      auto inputs = this->inputs(count, elements, sizeof(TypeParam));
      const auto expected = reference<TypeParam>(elements, this->weigh(inputs, true), 0.7);
      for (std::size_t place = 0; place < count; ++place) {
        for (const auto level : detail::supported_levels()) {
          for (const auto store : stores) {
            auto fresh = this->inputs(count, elements, sizeof(TypeParam));
            const auto terms = this->weigh(fresh, true);
            detail::weighted_sum_at(level, data_type<TypeParam>, elements, terms, 0.7,
                                    fresh[place].data(), store);
            ASSERT_TRUE(same_bits(expected, fresh[place].data()))
                << detail::to_string(level) << ", " << elements << " elements, term " << place
                << " of " << count << (store == Store::streaming ? ", streaming" : ", cached");
          }
        }
      }
    }
  }
}

TYPED_TEST(WeightedSum, IsTheSameBitsHoweverItIsCut) {
  constexpr std::size_t elements = 2500;
  auto inputs = this->inputs(13, elements, 0);
  const auto terms = this->weigh(inputs, true);
  const auto expected = reference<TypeParam>(elements, terms, 0.25);
  for (std::size_t cut = 0; cut <= elements; cut += cut < 80 || cut > 2420 ? 1 : 37) {
    auto rest = terms;
    for (auto& term : rest) {
      term.values = static_cast<const std::byte*>(term.values) + cut * sizeof(TypeParam);
    }
    std::vector<TypeParam> out(elements);
    weighted_sum(data_type<TypeParam>, cut, terms, 0.25, out.data(), stores[cut % 2]);
    weighted_sum(data_type<TypeParam>, elements - cut, rest, 0.25, out.data() + cut,
                 stores[cut / 2 % 2]);
    ASSERT_TRUE(same_bits(expected, out.data())) << "cut at " << cut;
  }
}

TYPED_TEST(WeightedSum, CopiesASingleTermBitForBit) {
  // Every pattern of the upper 16 bits: signalling NaNs, negative zeros and all.
  std::vector<TypeParam> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<Bits<TypeParam>>(i) << (8 * sizeof(TypeParam) - 16);
    std::memcpy(static_cast<void*>(&values[i]), &bits, sizeof(TypeParam));
  }
  const Term term{values.data(), 1};
  this->expect_at_every_level(values, {&term, 1}, 1, 0);
}

TYPED_TEST(WeightedSum, KeepsNaNAndItsPayload) {
  using Element = TypeParam;
  // A quiet NaN with a payload in the uppermost bits, which survive every conversion.
  const Element nan = [] {
    const auto bits = std::is_same_v<Element, double>    ? std::uint64_t(0x7ffd) << 48
                      : std::is_same_v<Element, float>   ? std::uint64_t(0x7fed) << 16
                      : std::is_same_v<Element, float16> ? 0x7f51
                                                         : 0x7fed;
    Element value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return value;
  }();
  constexpr std::size_t elements = 100;
  for (std::size_t which = 0; which < 9; ++which) {
    std::vector<std::vector<Element>> values(9, std::vector<Element>(elements, Element(1.5F)));
    values[which].assign(elements, nan);
    std::vector<Term> terms;
    for (const auto& v : values) terms.push_back({v.data(), 0.5});
    this->expect_at_every_level(std::vector<Element>(elements, nan), terms, 3, 0);
  }
}

TYPED_TEST(WeightedSum, OfNothingIsZero) {
  this->expect_at_every_level(std::vector<TypeParam>(1000, TypeParam(0)), {}, 0.5, 0);
}

/// A page that may be used between two that may not.
class FencedPage {
 public:
  FencedPage() : memory_(mmap(nullptr, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED || mprotect(begin(), size, PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("no memory for a fenced page");
    }
  }
  FencedPage(const FencedPage&) = delete;
  FencedPage& operator=(const FencedPage&) = delete;
  ~FencedPage() { munmap(memory_, 3 * size); }
  std::byte* begin() { return static_cast<std::byte*>(memory_) + size; }
  std::byte* end() { return begin() + size; }
  const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

 private:
  void* memory_;
};

TYPED_TEST(WeightedSum, TouchesNothingOutsideItsVectors) {
  FencedPage pages[9];
  FencedPage result;
  for (const std::size_t elements : {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 65, 200, 511}) {
    const std::size_t bytes = elements * sizeof(TypeParam);
    const auto values = numbers<TypeParam>(elements, 7);
    for (const bool at_end : {false, true}) {
      std::vector<Term> terms;
      for (auto& page : pages) {
        std::byte* to = at_end ? page.end() - bytes : page.begin();
        std::memcpy(to, values.data(), bytes);
        terms.push_back({to, 1});
      }
      std::byte* out = at_end ? result.end() - bytes : result.begin();
      const auto expected = reference<TypeParam>(elements, terms, 1);
      for (const auto level : detail::supported_levels()) {
        for (const auto store : stores) {
          std::memset(result.begin(), 0x5a, result.size);
          detail::weighted_sum_at(level, data_type<TypeParam>, elements, terms, 1, out, store);
          EXPECT_TRUE(same_bits(expected, out)) << detail::to_string(level);
          for (const auto* byte = result.begin(); byte != result.end(); ++byte) {
            if (byte < out || byte >= out + bytes) {
              ASSERT_EQ(*byte, std::byte{0x5a});
            }
          }
        }
      }
    }
  }
}

#if defined(__x86_64__)
// As torch::set_flush_denormal does, and std::fesetround.
TEST(Kernel, AddsUpAlikeHoweverTheThreadCounts) {
  constexpr std::size_t kElements = 1001;
  const std::vector<float> small(kElements, 1e-40F), third(kElements, 1.0F / 3);
  const unsigned before = _mm_getcsr();
  for (const auto& values : {small, third}) {
    const std::vector<Term> terms{{.values = values.data(), .weight = 1},
                                  {.values = third.data(), .weight = 0.7},
                                  {.values = values.data(), .weight = 1}};
    for (const std::size_t count : {1, 3}) {
      std::vector<float> plain(kElements), other(kElements);
      weighted_sum(DataType::float32, kElements, std::span(terms).first(count), 0.9, plain.data());
      const unsigned changed = before | 0x8040 | _MM_ROUND_UP;
      _mm_setcsr(changed);
      weighted_sum(DataType::float32, kElements, std::span(terms).first(count), 0.9, other.data());
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(after & ~_MM_EXCEPT_MASK, changed & ~_MM_EXCEPT_MASK) << "the thread's own choice";
      EXPECT_EQ(std::memcmp(plain.data(), other.data(), kElements * sizeof(float)), 0);
    }
  }
}
#endif

}  // namespace
}  // namespace syncopate::board
