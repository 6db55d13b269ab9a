// What a benchmark shows: lines on how it was measured, a table, and the rows as JSON.
#pragma once

#include <fstream>
#include <string>

#include "bench/suite/compare.h"
#include "bench/suite/request.h"

namespace syncopate::cli::bench {

/// The circumstances of a measurement, which go with every row.
struct Setting {
  std::string machine;
  std::string command;        ///< As it was typed.
  double copy_bandwidth = 0;  ///< GB/s, or 0 if it was not measured.
};

/// The machine, and this process's command line.
Setting current_setting();

/// A file for rows. Opened before anything is measured, so that a wrong name costs no time.
class JsonFile {
 public:
  explicit JsonFile(const std::string& name);
  void write(const nlohmann::ordered_json& row);

 private:
  std::string name_;
  std::ofstream file_;
};

/// What is between the machines that bench makes of this host, and how many there are.
void name_fabric(const Request& request, nlohmann::ordered_json& row);

/// Lines that begin with "#": what is measured, on what, and how the peers are run.
void print_introduction(const Request& request, const Setting& setting);

/// The table and, if asked for, the file.
void report(const Request& request, const Setting& setting, const Comparison& comparison,
            JsonFile* file);

}  // namespace syncopate::cli::bench
