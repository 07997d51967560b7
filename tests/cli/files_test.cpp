#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/file_map.h"
#include "cli/history_file.h"
#include "cli/line_editor.h"
#include "cli/machine.h"
#include "cli/private_file.h"
#include "cli/temporary_folder.h"

using namespace linnet;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat state {};
  REQUIRE(::stat(path.c_str(), &state) == 0);
  return state.st_mode & 0777;
}

// The reading end of a pipe that holds `text`.
int pipe_with(const std::string& text) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  return ends[0];
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("a private file is complete, and only its owner's") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "chat.json";
  write_private_file(path, "first");
  write_private_file(path, "second");
  CHECK(read_text_file(path) == "second");
  CHECK(mode_of(path) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
  CHECK_THROWS_AS(write_private_file(folder.path() / "none" / "x", "text"), Error);
  CHECK_THROWS_AS(write_private_file(folder.path(), "text"), Error);
}

TEST_CASE("the history survives, is private, and two may write it") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "state" / "linnet" / "history";
  {
    HistoryFile one(path);
    HistoryFile two(path);
    one.add("first");
    two.add("second");
    one.add("third\nline");
    one.add("third line");  // a repetition
    one.add("");
  }
  CHECK(mode_of(path) == 0600);
  const HistoryFile again(path);
  CHECK(again.entries() == std::vector<std::string>{"first", "second", "third line"});
}

TEST_CASE("a long history is cut to its newest entries") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "history";
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i) + "\n";
  write_text(path, text);
  const HistoryFile history(path);
  CHECK(history.entries().size() == HistoryFile::kKept);
  CHECK(history.entries().back() == "line 2999");
  CHECK(HistoryFile(path).entries() == history.entries());
  CHECK(read_text_file(path).size() < text.size());
}

TEST_CASE("a history that cannot be kept does no harm") {
  HistoryFile none(std::nullopt);
  none.add("x");
  CHECK(none.entries().size() == 1);
  const TemporaryFolder folder;
  HistoryFile directory(folder.path());  // not a file
  directory.add("x");
  CHECK(directory.entries().size() == 1);
}

TEST_CASE("plain lines: endings, no newline at the end, limits") {
  const int fd = pipe_with("one\r\ntwo\n\nlast");
  const auto reader = make_plain_reader(fd);
  std::string line;
  std::vector<std::string> lines;
  while (reader->read("", line) == ReadOutcome::line) lines.push_back(line);
  CHECK(lines == std::vector<std::string>{"one", "two", "", "last"});
  ::close(fd);

  const int long_line = pipe_with(std::string(50, 'x') + "\n");
  CHECK_THROWS_AS(make_plain_reader(long_line, 49)->read("", line), Error);
  ::close(long_line);
  const int all = pipe_with(std::string(50, 'x'));
  CHECK_THROWS_AS(read_all(all, "standard input", 49), Error);
  ::close(all);
}

TEST_CASE("a line that is too long is refused once, and the next one is read") {
  const std::string limit(49, 'y');
  const int fd = pipe_with("a\n" + std::string(50, 'x') + "\n" + limit + "\n" +
                           std::string(50000, 'x') + "\n\nlast");
  const auto reader = make_plain_reader(fd, 49);
  std::string line;
  std::vector<std::string> lines;
  for (bool more = true; more;) {
    try {
      more = reader->read("", line) == ReadOutcome::line;
      if (more) lines.push_back(line);
    } catch (const Error& error) {
      lines.push_back(error.what());
    }
  }
  CHECK(lines == std::vector<std::string>{"a", "standard input: line 2 is longer than 49 bytes",
                                          limit, "standard input: line 4 is longer than 49 bytes",
                                          "", "last"});
  ::close(fd);
}

TEST_CASE("a reader is ready when a whole line is there, or the end") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto write_text = [&](std::string_view text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  const auto reader = make_plain_reader(ends[0], 100);
  std::string line;
  CHECK_FALSE(reader->ready());
  write_text("on");
  CHECK_FALSE(reader->ready());
  write_text("e\ntwo\nthr");
  CHECK(reader->ready());
  CHECK(reader->read("", line) == ReadOutcome::line);
  CHECK(line == "one");
  CHECK(reader->ready());
  CHECK(reader->read("", line) == ReadOutcome::line);
  CHECK(line == "two");
  CHECK_FALSE(reader->ready());
  write_text(std::string(200, 'x'));
  CHECK(reader->ready());  // to refuse the line
  CHECK_THROWS_AS(reader->read("", line), Error);
  CHECK_FALSE(reader->ready());
  ::close(ends[1]);
  CHECK(reader->ready());
  CHECK(reader->read("", line) == ReadOutcome::end);
  ::close(ends[0]);
}

TEST_CASE("memory is what the machine and all control groups leave") {
  const TemporaryFolder folder;
  write_text(folder.path() / "proc/meminfo",
             "MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 800000 kB\n");
  auto state = memory_state(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->total == 1024000000);
  CHECK(state->available == 819200000);
  CHECK_FALSE(state->limited);

  write_text(folder.path() / "proc/self/cgroup", "0::/outer/inner\n");
  write_text(folder.path() / "sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write_text(folder.path() / "sys/fs/cgroup/outer/inner/memory.current", "5000\n");
  write_text(folder.path() / "sys/fs/cgroup/outer/memory.max", "100000\n");
  write_text(folder.path() / "sys/fs/cgroup/outer/memory.current", "60000\n");
  write_text(folder.path() / "sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 20000\n");
  state = memory_state(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->limited);
  CHECK(state->total == 100000);
  CHECK(state->available == 60000);

  write_text(folder.path() / "proc/self/cgroup", "5:memory:/old\n");
  write_text(folder.path() / "sys/fs/cgroup/memory/old/memory.limit_in_bytes", "70000\n");
  write_text(folder.path() / "sys/fs/cgroup/memory/old/memory.usage_in_bytes", "80000\n");
  state = memory_state(folder.path());
  REQUIRE(state.has_value());
  CHECK(state->total == 70000);
  CHECK(state->available == 0);
}

TEST_CASE("byte counts for people") {
  CHECK(byte_text(999) == "999 bytes");
  CHECK(byte_text(1500) == "1.5 kB");
  CHECK(byte_text(12132664) == "12.1 MB");
  CHECK(byte_text(999999999) == "1.0 GB");
}
