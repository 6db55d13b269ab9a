#include "disk/crash.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "disk/record.h"

namespace syncopate::testing {

namespace fs = std::filesystem;

Disk::Disk() { nodes_.push_back({.kind = Node::Kind::folder}); }

int Disk::find(const std::string& name) const {
  int node = 0;
  for (const auto& word : fs::path(name)) {
    if (word == ".") continue;
    const Entries& entries = nodes_.at(std::size_t(node)).entries;
    const auto found = entries.find(word);
    if (found == entries.end()) return -1;
    node = found->second;
  }
  return node;
}

std::pair<int, std::string> Disk::place(const std::string& name) const {
  const fs::path path(name);
  const int folder = find(path.parent_path());
  if (folder < 0) throw std::runtime_error("there is no folder of " + name);
  return {folder, path.filename()};
}

int Disk::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void Disk::change(const Step& step) {
  for (const auto& [folder, name, node] : step) {
    Entries& entries = nodes_[std::size_t(folder)].entries;
    if (node < 0) {
      entries.erase(name);
    } else {
      entries[name] = node;
    }
  }
  pending_.push_back(step);
}

void Disk::sync(const std::string& name) {
  const int number = find(name);
  Node& node = nodes_.at(std::size_t(number));
  node.safe = node.now;
  node.settled = node.entries;
  for (Step& step : pending_) {
    std::erase_if(step, [&](const Change& change) { return change.folder == number; });
  }
}

void Disk::play(const std::string& line) {
  std::istringstream stream(line);
  std::string call, name, words;
  stream >> call >> name >> words;
  if (words.starts_with('#')) words.clear();
  if (call == "failed") return;
  if (call == "sync") return sync(name);
  const auto [folder, last] = place(name);
  if (call == "mkdir") {
    change({{folder, last, add({.kind = Node::Kind::folder})}});
  } else if (call == "create") {
    if (!exists(name)) change({{folder, last, add({})}});
    if (words == "truncate") at(name).now.clear();
  } else if (call == "symlink") {
    change({{folder, last, add({.kind = Node::Kind::link, .now = words, .safe = words})}});
  } else if (call == "write") {
    at(name).now += from_hex(words);
  } else if (call == "unlink") {
    change({{folder, last, -1}});
  } else if (call == "rename") {
    const auto [to, to_name] = place(words);
    change({{folder, last, -1}, {to, to_name, find(name)}});
  } else if (call == "exchange") {
    const auto [to, to_name] = place(words);
    change({{folder, last, find(words)}, {to, to_name, find(name)}});
  } else {
    throw std::runtime_error("the record has " + call);
  }
}

std::string Disk::content(const std::string& name) const {
  const int node = find(name);
  return node < 0 ? "" : nodes_[std::size_t(node)].now;
}

void Disk::write_to(const fs::path& folder, const Survival& survival) const {
  std::vector<Entries> entries;
  for (const Node& node : nodes_) entries.push_back(node.settled);
  for (const Step& step : pending_) {
    if (step.empty() || !survival.name()) continue;
    for (const auto& [in, name, node] : step) {
      if (node < 0) {
        entries[std::size_t(in)].erase(name);
      } else {
        entries[std::size_t(in)][name] = node;
      }
    }
  }
  write_node(folder, 0, entries, survival);
}

void Disk::write_node(const fs::path& path, int number, const std::vector<Entries>& entries,
                      const Survival& survival) const {
  const Node& node = nodes_[std::size_t(number)];
  if (node.kind == Node::Kind::link) return fs::create_directory_symlink(node.now, path);
  if (node.kind == Node::Kind::file) {
    const std::int64_t bytes = node.now == node.safe ? -1 : survival.content(node.now.size());
    std::ofstream(path, std::ios::binary)
        << (bytes < 0 ? node.safe : node.now.substr(0, std::size_t(bytes)));
    return;
  }
  fs::create_directories(path);
  for (const auto& [name, inner] : entries[std::size_t(number)]) {
    write_node(path / name, inner, entries, survival);
  }
}

}  // namespace syncopate::testing
