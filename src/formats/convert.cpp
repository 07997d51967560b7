#include "formats/convert.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "formats/convert_plan.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

[[noreturn]] void refuse(const fs::path& target, std::string_view why) {
  fail(ErrorCode::invalid_argument, fmt::format("{}: {}", target.string(), why));
}

// Where a path leads, links resolved as far as it is there.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : whole;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// A conversion reads its source to the end, so it must not write there: tensors may be mapped from
// it, and a folder with two models in it could not be opened any more.
void check_apart(const fs::path& target, const fs::path& source) {
  const fs::path from = resolved(source);
  const fs::path to = resolved(target);
  if (to == from) refuse(target, "is the model itself; give another name for the result");
  std::error_code error;
  if (fs::is_directory(from, error) && lies_in(to, from)) {
    refuse(target, "lies inside of the model's folder; give a place outside of it");
  }
}

// "out/" is the folder "out".
fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

void check_target(const fs::path& target, bool gguf, bool overwrite) {
  std::error_code error;
  const fs::file_status link = fs::symlink_status(target, error);
  if (!fs::exists(link)) return;
  const fs::file_status status = fs::status(target, error);
  if (!fs::exists(status)) refuse(target, "is a link that leads nowhere; remove it first");
  if (gguf && !fs::is_regular_file(status)) {
    refuse(target, "is there and is not a regular file; give another name");
  }
  if (!gguf && !fs::is_directory(status)) {
    refuse(target,
           "is there and is not a folder; give another name, one that ends in .gguf for a "
           "GGUF file");
  }
  if (!gguf && fs::is_empty(target, error) && !error) return;
  if (!overwrite) {
    refuse(target, gguf ? "is there already; give --force to replace it"
                        : "is there already and not empty; give --force to replace the files of "
                          "the model in it");
  }
}

}  // namespace

fs::path checked_target(const ModelFiles& source, const fs::path& given, bool overwrite) {
  const fs::path target = without_slash(given);
  if (target.empty()) fail(ErrorCode::invalid_argument, "the name of the result is empty");
  check_apart(target, source.path);
  check_target(target, target.extension() == ".gguf", overwrite);
  // Through a link, what it leads to is replaced, and the link stays.
  return fs::is_symlink(fs::symlink_status(target)) ? resolved(target) : target;
}

void check_conversion(const ModelFiles& source, const fs::path& given, bool overwrite) {
  checked_target(source, given, overwrite);
}

ConvertReport convert_model(const ModelFiles& source, const fs::path& target,
                            const ConvertOptions& options) {
  const fs::path place = checked_target(source, target, options.overwrite);
  // By the name that was given, whatever a link of that name leads to.
  const bool gguf = without_slash(target).extension() == ".gguf";
  ConvertReport report;
  gguf ? convert_to_gguf(source, place, options, report)
       : convert_to_folder(source, place, options, report);
  return report;
}

}  // namespace linnet
