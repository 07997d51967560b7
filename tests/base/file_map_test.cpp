#include "base/file_map.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"

using namespace linnet;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "linnet_test.XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

ErrorCode code_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::io;
}

}  // namespace

TEST_CASE("mapped and read files hold the same bytes") {
  const Folder folder;
  const fs::path file = folder.path / "f";
  std::ofstream(file) << "hello";
  for (const FileAccess access : {FileAccess::map, FileAccess::read}) {
    CHECK(as_text(FileMap::open(file, access)->bytes()) == "hello");
  }
  std::ofstream(folder.path / "empty");
  CHECK(FileMap::open(folder.path / "empty")->bytes().empty());
  CHECK(read_text_file(file) == "hello");
}

TEST_CASE("what is not a readable file is refused by kind") {
  const Folder folder;
  CHECK(code_of([&] { FileMap::open(folder.path / "none"); }) == ErrorCode::not_found);
  CHECK(code_of([&] { FileMap::open(folder.path); }) == ErrorCode::io);
  CHECK(code_of([&] { FileMap::open("/dev/zero"); }) == ErrorCode::io);
  const fs::path fifo = folder.path / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(code_of([&] { FileMap::open(fifo); }) == ErrorCode::io);  // and does not wait
  std::ofstream(folder.path / "large") << std::string(100, 'x');
  CHECK(code_of([&] { read_text_file(folder.path / "large", 99); }) == ErrorCode::corrupt_file);
}

TEST_CASE("an atomic write replaces the file or leaves it alone") {
  const Folder folder;
  const fs::path file = folder.path / "f";
  write_file_atomically(file, as_bytes("one"));
  write_file_atomically(file, as_bytes("two"));
  CHECK(read_text_file(file) == "two");
  CHECK(code_of([&] { write_file_atomically(folder.path / "no" / "f", as_bytes("x")); }) ==
        ErrorCode::not_found);
  fs::create_directory(folder.path / "d");
  CHECK_THROWS_AS(write_file_atomically(folder.path / "d", as_bytes("x")), Error);
  // Nothing is left beside.
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
}

TEST_CASE("a file cut short while it is mapped ends the program with a message that names it") {
  const Folder folder;
  const fs::path file = folder.path / "weights";
  std::ofstream(file) << std::string(1 << 20, 'x');
  const fs::path said = folder.path / "said";
  const auto map = FileMap::open(file);
  CHECK(std::string(mapped_file_at(map->bytes().data() + 5000)) == file.string());
  CHECK(mapped_file_at(&file) == nullptr);

  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(said.c_str(), "w", stderr) == nullptr) ::_exit(9);
    install_mapped_file_handler("program");
    if (::truncate(file.c_str(), 100) != 0) ::_exit(8);
    // Several threads meet the hole, and still there is one message.
    const volatile std::byte* far = map->bytes().data() + 500000;
    std::vector<std::thread> readers;
    for (int i = 0; i < 8; ++i) {
      readers.emplace_back([far, i] { ::_exit(std::to_integer<int>(far[i * 4096]) == 0 ? 7 : 6); });
    }
    for (std::thread& reader : readers) reader.join();
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  const std::string text = read_text_file(said);
  CHECK(text.starts_with("program: " + file.string() + ": "));
  CHECK(text.find('\n') == text.size() - 1);
  CHECK(text.find("program: ", 1) == std::string::npos);
}

TEST_CASE("a file that is not mapped any more has no name") {
  const Folder folder;
  const fs::path file = folder.path / "f";
  std::ofstream(file) << "abc";
  const std::byte* start = nullptr;
  {
    const auto map = FileMap::open(file);
    start = map->bytes().data();
    CHECK(mapped_file_at(start) != nullptr);
    CHECK(mapped_file_at(start + 3) == nullptr);
  }
  CHECK(mapped_file_at(start) == nullptr);
}
