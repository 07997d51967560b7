#include "cli/task_run.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/task_records.h"

namespace linnet {
namespace {

// A block ends here too, so that a few long texts do not fill the memory.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

// "rows.jsonl: line 3", "standard input", or nothing.
std::string place_of(const TaskRow& row) {
  if (row.line == 0) return row.source;
  return fmt::format("{}: line {}", row.source, row.line);
}

// The first words of a text, on one line of about `width` bytes.
std::string beginning(const std::string& text, std::size_t width) {
  std::string line = text.substr(0, width + 1);
  if (line.size() > width) {
    // Not within a character.
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80)
      line.pop_back();
    line.pop_back();
    line += "...";
  }
  return one_line(std::move(line));
}

class TaskRun {
 public:
  TaskRun(CommandContext& context, TaskWork& work, const TaskOutput& output)
      : context_(context),
        work_(work),
        as_json_(output.json.value_or(!context.terminal().out)),
        block_(output.block) {}

  // False at the end of the source. A block is not held back by a row that is not there yet.
  bool read_block(TaskSource& source) {
    rows_.clear();
    std::size_t bytes = 0;
    while (rows_.size() < block_ && bytes < kBlockBytes) {
      TaskRow row;
      const TaskSource::Next next = source.next(row, rows_.empty());
      if (next != TaskSource::Next::row) return next == TaskSource::Next::pause;
      bytes += row.first.size() + row.second.value_or("").size();
      if (row.error.empty()) add(row);
      rows_.push_back(std::move(row));
    }
    return true;
  }

  void compute_block() {
    std::vector<TaskResult> results = work_.run();
    std::size_t next = 0;
    for (const TaskRow& row : rows_) {
      if (row.error.empty()) {
        print(row, results[next++]);
      } else {
        tell(row);
      }
    }
    context_.out.flush();
  }

  int finish() const {
    if (truncated_ > 0) {
      log_warn(fmt::format("{} of {} texts {} longer than the limit of tokens and lost the end",
                           truncated_, told_, truncated_ == 1 ? "was" : "were"));
    }
    if (interrupt_flag().load()) return interrupt_status();
    return refused_ > 0 ? 1 : 0;
  }

 private:
  void add(TaskRow& row) {
    try {
      work_.add(row);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      row.error = error.what();
    }
  }

  Json record_of(const TaskRow& row) const {
    Json record = Json::object();
    if (row.line > 0) record.set("line", row.line);
    if (!row.id.is_null()) record.set("id", row.id);
    return record;
  }

  void tell(const TaskRow& row) {
    ++refused_;
    if (as_json_) {
      Json record = record_of(row);
      record.set("error", row.error);
      context_.out.foreign(record.dump() + "\n");
    }
    const std::string place = place_of(row);
    write_error_line(context_.terminal(),
                     fmt::format("linnet: {}{}{}", place, place.empty() ? "" : ": ", row.error));
  }

  void print(const TaskRow& row, TaskResult& result) {
    ++told_;
    truncated_ += result.truncated;
    if (as_json_) {
      Json record = record_of(row);
      for (auto& [key, value] : result.fields.as_object()) record.set(key, std::move(value));
      if (result.truncated) record.set("truncated", true);
      context_.out.foreign(record.dump() + "\n");
      return;
    }
    if (told_ > 1) context_.out.line("");
    const std::string heading = terminal_safe(beginning(row.first, 70));
    context_.out.line(styled(context_.terminal().out_color, kBold, heading));
    for (const std::string& line : result.lines) context_.out.foreign("  " + line + "\n");
    if (result.truncated) context_.out.line("  (the end was not read)");
  }

  CommandContext& context_;
  TaskWork& work_;
  bool as_json_;
  std::size_t block_;
  std::vector<TaskRow> rows_;
  std::size_t told_ = 0, refused_ = 0, truncated_ = 0;
};

}  // namespace

int run_task(CommandContext& context, TaskSource& source, TaskWork& work,
             const TaskOutput& output) {
  const DeferInterrupt deferred;
  TaskRun run(context, work, output);
  try {
    for (bool more = true; more && !interrupt_flag().load();) {
      more = run.read_block(source);
      if (!interrupt_flag().load()) run.compute_block();
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
  }
  return run.finish();
}

}  // namespace linnet
