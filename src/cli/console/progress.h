// One line on a terminal that says what is going on now. Nothing is written elsewhere.
#pragma once

#include <string>

namespace syncopate::cli {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace syncopate::cli
