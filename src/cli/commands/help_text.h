#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace plimsoll::cli {

// How help pages are written: "--threads N", a value's default behind what it is for, and prose
// below the options as wide as the terminal.
class HelpText : public CLI::Formatter {
 public:
  HelpText();

  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* command) const override;
};

}  // namespace plimsoll::cli
