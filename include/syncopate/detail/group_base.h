// What the typed handle of group_average.h does whatever the type of the weights is, compiled once
// in the library. Programs use the handle, never this.
#pragma once

#include <cstddef>
#include <memory>

#include "syncopate/types.h"
#include "syncopate/world.h"

namespace syncopate {
struct GroupOptions;
struct GroupReceipt;
}  // namespace syncopate

namespace syncopate::detail {

class GroupExchange;

class GroupAverageBase {
 protected:
  GroupAverageBase(const World& world, std::size_t elements, DataType type, const void* initial,
                   const GroupOptions& options);

  void* writable_weights();
  GroupReceipt average();
  GroupReceipt average_values(void* values, std::size_t elements);
  void start();
  bool ready();
  GroupReceipt wait();
  void leave();
  std::size_t size() const;

 private:
  std::shared_ptr<GroupExchange> exchange_;
};

}  // namespace syncopate::detail
