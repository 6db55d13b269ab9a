// The binary version of CIFAR-10. Nothing here fetches it: the user puts its files into place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "train/data/images.h"

namespace syncopate::train {

/// Reads data_batch_1.bin to data_batch_5.bin from DATA/cifar-10-batches-bin, or from DATA itself.
Images read_cifar_train(const std::filesystem::path& data);
/// Reads test_batch.bin from there.
Images read_cifar_test(const std::filesystem::path& data);

/// Appends the records of a file, which `name` names in errors; there must be `due` of them.
void append_cifar(Images& images, std::span<const std::uint8_t> bytes, const std::string& name,
                  std::size_t due);

}  // namespace syncopate::train
