// The bytes of files of tensors, and of checkpoints among them.
#include "fuzz/refused.h"
#include "train/bytes.h"
#include "train/part.h"
#include "train/tensor_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  using namespace syncopate::train;
  const auto file = std::as_bytes(std::span(data, size));
  TensorFileBytes found;
  if (!taken([&] { reading("FILE", [&] { found = find_tensors(file); }); })) return 0;
  std::size_t all = 0;
  for (const auto& [name, tensor] : found.tensors) all += tensor.bytes.size();
  if (all > size) broken("tensors lie in the file");
  // What was found can be written, and found again.
  found.notes.erase("checksum");
  const std::string written = to_bytes(found);
  TensorFileBytes again = find_tensors(as_bytes(written));
  check_sum(as_bytes(written), again.notes);
  if (again.notes != found.notes || again.tensors.size() != found.tensors.size())
    broken("tensors are read as they were written");
  taken([&] { reading("FILE", [&] { read_part(as_bytes(written), "kind"); }); });
  return 0;
}
