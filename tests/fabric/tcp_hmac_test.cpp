// SHA-256 and HMAC against the published examples of FIPS 180-4 (NIST) and RFC 4231.
#include <gtest/gtest.h>

#include <string>

#include "fabric/tcp/cards.h"
#include "fabric/tcp/hmac.h"

namespace syncopate::testing {
namespace {

using namespace fabric::tcp;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string hash(const std::string& text) { return to_hex(sha256({bytes_of(text)})); }
std::string keyed(const std::string& key, const std::string& text) {
  return to_hex(hmac_sha256(bytes_of(key), {bytes_of(text)}));
}

TEST(Sha256, IsThatOfThePublishedExamples) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hmac, IsThatOfThePublishedExamples) {
  EXPECT_EQ(keyed(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(keyed("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(keyed(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(
      keyed(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, OfPartsIsThatOfTheWhole) {
  const std::string key = "key", one = "any ", other = "text";
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of(key), {bytes_of(one), bytes_of(other)})),
            keyed(key, one + other));
}

}  // namespace
}  // namespace syncopate::testing
