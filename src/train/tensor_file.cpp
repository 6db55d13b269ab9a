#include "train/tensor_file.h"

#include <cstring>
#include <utility>

#include "train/bytes.h"

namespace syncopate::train {
namespace {

constexpr std::pair<Element, torch::ScalarType> kScalars[] = {{Element::f32, torch::kFloat32},
                                                              {Element::f64, torch::kFloat64},
                                                              {Element::i64, torch::kInt64}};

Element element_of(torch::ScalarType scalar) {
  for (const auto& [type, known] : kScalars) {
    if (known == scalar) return type;
  }
  throw Damaged(std::string("no tensor of ") + torch::toString(scalar) + " can be kept");
}

}  // namespace

std::map<std::string, TensorBytes> bytes_of(const Tensors& tensors, Tensors& kept) {
  std::map<std::string, TensorBytes> bytes;
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor& host = kept[name] = tensor.detach().to(torch::kCPU).contiguous();
    bytes[name] = {element_of(host.scalar_type()),
                   host.sizes().vec(),
                   {static_cast<const std::byte*>(host.data_ptr()), host.nbytes()}};
  }
  return bytes;
}

torch::Tensor tensor_of(const TensorBytes& bytes) {
  torch::Tensor tensor = torch::empty(bytes.shape, kScalars[std::size_t(bytes.type)].second);
  if (!bytes.bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.bytes.data(), bytes.bytes.size());
  return tensor;
}

std::string to_bytes(const TensorFile& file) {
  Tensors kept;
  return to_bytes(TensorFileBytes{.tensors = bytes_of(file.tensors, kept), .notes = file.notes});
}

TensorFile read_tensor_file(const std::filesystem::path& path) {
  const std::string bytes = read_tensor_bytes(path, [](const auto&...) {});
  TensorFileBytes found = find_tensors(as_bytes(bytes));
  check_sum(as_bytes(bytes), found.notes);
  TensorFile result{.notes = std::move(found.notes)};
  for (const auto& [name, tensor] : found.tensors) result.tensors[name] = tensor_of(tensor);
  return result;
}

}  // namespace syncopate::train
