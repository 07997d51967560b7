#include "base/atomic_file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_map.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "linnet-atomic-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
  fs::path path;
};

// No file of this process may grow beyond `bytes` while it lives: a full disk, made at will.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

std::optional<std::string> error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what());
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("pieces become one file, and only at the commit") {
  const Folder folder;
  const fs::path target = folder.path / "f";
  {
    AtomicFile file(target);
    file.reserve(1 << 20);
    file.write(as_bytes("abc"));
    file.write_zeros(5000);
    file.write(as_bytes("d"));
    CHECK(file.size() == 5004);
    CHECK_FALSE(fs::exists(target));
    file.commit(0640);
  }
  CHECK(read_text_file(target) == "abc" + std::string(5000, '\0') + "d");
  struct stat info {};
  REQUIRE(::stat(target.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(folder.entries() == 1);
}

TEST_CASE("without a commit the old file stays and nothing is beside it") {
  const Folder folder;
  const fs::path target = folder.path / "f";
  write_file_atomically(target, as_bytes("old"));
  { AtomicFile(target).write(as_bytes("new")); }
  CHECK(read_text_file(target) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a full disk is an error that names the target, and leaves nothing") {
  const Folder folder;
  const fs::path target = folder.path / "f";
  std::optional<std::string> when_written, when_reserved;
  {
    const FileSizeLimit limit(10000);
    when_written = error_of([&] {
      AtomicFile file(target);
      for (int i = 0; i < 100; ++i) file.write_zeros(1000);
      file.commit();
    });
    when_reserved = error_of([&] {
      AtomicFile file(target);
      file.reserve(100000);
    });
  }
  REQUIRE(when_written);
  CHECK(when_written->find(target.string()) != std::string::npos);
  // File systems that cannot promise room say nothing.
  if (when_reserved) CHECK(when_reserved->find("100000 bytes") != std::string::npos);
  CHECK(folder.entries() == 0);
}

}  // namespace linnet
