#include "cli/tokenize_lines.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/line_editor.h"

namespace linnet {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

// A file that is read from its beginning to its end, or standard input.
class LineSource {
 public:
  explicit LineSource(const std::optional<std::string>& file) {
    if (!file || *file == "-") return;
    name_ = *file;
    fd_ = ::open(file->c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_io("cannot open " + name_);
  }
  ~LineSource() {
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "standard input";
  int fd_ = STDIN_FILENO;
};

const std::string& text_of(const Json& row) {
  if (row.is_string()) return row.as_string();
  if (!row.is_object()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("expected a string or an object with the field \"text\", found {}",
                     row.type_name()));
  }
  return row.at("text").as_string("text");
}

std::string error_record(std::size_t number, const std::string& what) {
  Json json = Json::object();
  json.set("line", number);
  json.set("error", what);
  return json.dump();
}

}  // namespace

int tokenize_lines(CommandContext& context, const Tokenizer& tokenizer,
                   const TokenizeLines& options) {
  const LineSource source(options.file);
  const auto reader = make_plain_reader(source.fd(), kMaxLineBytes, source.name());
  Encoding encoding;
  std::string line;
  std::size_t bad = 0;
  ReadOutcome outcome = ReadOutcome::line;
  for (std::size_t number = 1;; ++number) {
    outcome = reader->read("", line);
    if (outcome != ReadOutcome::line) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      const Json row = Json::parse(line, "row");
      if (options.parts.offsets) {
        encoding = tokenizer.encode_with_offsets(text_of(row), options.encode);
      } else {
        tokenizer.encode_to(text_of(row), options.encode, encoding.ids);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      ++bad;
      context.out.foreign(error_record(number, error.what()) + "\n");
      write_error_line(context.terminal(),
                       fmt::format("linnet: {}: line {}: {}", source.name(), number, error.what()));
      continue;
    }
    context.out.foreign(token_record(encoding, tokenizer, options.parts) + "\n");
  }
  if (outcome == ReadOutcome::interrupted) fail(ErrorCode::cancelled, "interrupted");
  return bad > 0 ? 1 : 0;
}

}  // namespace linnet
