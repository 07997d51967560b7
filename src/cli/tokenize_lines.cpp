#include "cli/tokenize_lines.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <memory>

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

class LineRun {
 public:
  LineRun(CommandContext& context, const Tokenizer& tokenizer, const TokenizeLines& options)
      : context_(context),
        tokenizer_(tokenizer),
        options_(options),
        source_(options.file),
        reader_(make_plain_reader(source_.fd(), kMaxLineBytes, source_.name())) {}

  int run() {
    while (next_row()) {
      // Who feeds rows one by one waits for each record.
      if (!reader_->ready()) context_.out.flush();
    }
    return refused_ > 0 ? 1 : 0;
  }

 private:
  // False at the end.
  bool next_row() {
    ++number_;
    try {
      const ReadOutcome outcome = reader_->read("", line_);
      if (outcome == ReadOutcome::interrupted) fail(ErrorCode::cancelled, "interrupted");
      if (outcome == ReadOutcome::end) return false;
      if (line_.find_first_not_of(" \t\r") != std::string::npos) encode_row();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      refuse(error.what());
    }
    return true;
  }

  void encode_row() {
    const Json row = Json::parse(line_, "row");
    if (options_.parts.offsets) {
      encoding_ = tokenizer_.encode_with_offsets(text_of(row), options_.encode);
    } else {
      tokenizer_.encode_to(text_of(row), options_.encode, encoding_.ids);
    }
    context_.out.foreign(token_record(encoding_, tokenizer_, options_.parts) + "\n");
  }

  void refuse(const std::string& what) {
    ++refused_;
    context_.out.foreign(error_record(number_, what) + "\n");
    write_error_line(context_.terminal(),
                     fmt::format("linnet: {}: line {}: {}", source_.name(), number_, what));
  }

  CommandContext& context_;
  const Tokenizer& tokenizer_;
  const TokenizeLines& options_;
  const LineSource source_;
  const std::unique_ptr<LineEditor> reader_;
  Encoding encoding_;
  std::string line_;
  std::size_t number_ = 0, refused_ = 0;
};

}  // namespace

int tokenize_lines(CommandContext& context, const Tokenizer& tokenizer,
                   const TokenizeLines& options) {
  return LineRun(context, tokenizer, options).run();
}

}  // namespace linnet
