// A disk of which the power may fail: it is told what a program did (record.h), and says what may
// be found there afterwards. Content is safe once its file was synced, a name once its folder was.
// What was not synced may be there or not, each for itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace syncopate::testing {

class Disk {
 public:
  Disk();

  /// A line of the record.
  void play(const std::string& line);

  /// What survives of what was not synced.
  struct Survival {
    std::function<bool()> name;  ///< Whether a change of names does.
    /// How many of the bytes of a file that has so many do; less than none: those that are safe.
    std::function<std::int64_t(std::size_t bytes)> content;
  };
  /// Writes into this folder what is found after the power has failed now.
  void write_to(const std::filesystem::path& folder, const Survival& survival) const;

  /// The content of a file, as a program sees it now.
  std::string content(const std::string& name) const;
  bool exists(const std::string& name) const { return find(name) >= 0; }

 private:
  using Entries = std::map<std::string, int>;  ///< By name, the number of a node.
  struct Node {
    enum class Kind { folder, file, link } kind = Kind::file;
    std::string now, safe;     ///< Of a file; where a link leads.
    Entries entries, settled;  ///< Of a folder: as seen, and as synced.
  };
  struct Change {
    int folder;
    std::string name;
    int node;  ///< -1: the name is gone.
  };
  using Step = std::vector<Change>;  ///< Together or not at all, as far as it is not synced.

  int find(const std::string& name) const;
  Node& at(const std::string& name) { return nodes_.at(std::size_t(find(name))); }
  /// The folder that holds the name, and the last part of it.
  std::pair<int, std::string> place(const std::string& name) const;
  int add(Node node);
  void change(const Step& step);
  void sync(const std::string& name);
  void write_node(const std::filesystem::path& path, int node, const std::vector<Entries>& entries,
                  const Survival& survival) const;

  std::vector<Node> nodes_;
  std::vector<Step> pending_;
};

}  // namespace syncopate::testing
