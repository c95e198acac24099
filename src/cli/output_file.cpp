// SPDX-License-Identifier: MIT
#include <src/cli/output_file.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path &path, const std::string &why) {
    throw std::runtime_error(path.string() + ": " + why);
}

/// Blocks signals while an object exists: otherwise a signal could leave the temporary file behind.
class Uninterrupted {
public:
    Uninterrupted() {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, &before_);
    }
    ~Uninterrupted() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    Uninterrupted(const Uninterrupted &) = delete;
    Uninterrupted &operator=(const Uninterrupted &) = delete;

private:
    sigset_t before_{};
};

/// Opens a new file in the folder of `place`, under a name that no other process uses. Its mode follows the umask.
int open_aside(const fs::path &place, fs::path &aside) {
    constexpr std::size_t longest = 100; // characters of the name that are used; the system's limit is 255
    const std::string name = place.filename().string();
    const std::string end = name.substr(name.size() > longest ? name.size() - longest : 0);
    for (unsigned number = 0;; ++number) {
        aside =
            place.parent_path() / ("." + std::to_string(getpid()) + "-" + std::to_string(number) + "." + end);
        const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) {
            return file;
        }
    }
}

bool write_all(int file, const std::string &text) {
    std::size_t done = 0;
    while (done != text.size()) {
        const ssize_t now = write(file, text.data() + done, text.size() - done);
        if (now < 0 && errno != EINTR) {
            return false;
        }
        done += now > 0 ? static_cast<std::size_t>(now) : 0;
    }
    return true;
}

} // namespace

std::string text_of(const std::exception &why) {
    const auto *const refused = dynamic_cast<const fs::filesystem_error *>(&why);
    return refused != nullptr ? refused->path1().string() + ": " + refused->code().message() : why.what();
}

fs::path output_place(const fs::path &path) {
    fs::path place = fs::absolute(path);
    std::error_code ignored;
    for (int links = 0; fs::is_symlink(place, ignored); ++links) {
        if (links == 40) { // the kernel follows as many
            fail(path, std::strerror(ELOOP));
        }
        place = place.parent_path() / fs::read_symlink(place);
    }
    return place;
}

void check_output(const fs::path &path, const fs::path &input) {
    std::error_code ignored;
    if (!input.empty() && fs::equivalent(path, input, ignored)) {
        fail(path, "is what is read");
    }
    const fs::file_status there = fs::status(path, ignored);
    if (fs::is_directory(there)) {
        fail(path, "is a folder");
    }
    if (fs::exists(there) && !fs::is_regular_file(there)) {
        fail(path, "is there, and no regular file");
    }
    if (access((output_place(path).parent_path() / ".").c_str(), W_OK | X_OK) !=
        0) { // "/.": must be a folder
        fail(path, std::strerror(errno));
    }
}

void write_output(const fs::path &path, const std::string &text) {
    const fs::path place = output_place(path);
    const Uninterrupted until_it_is_whole;
    fs::path aside;
    const int file = open_aside(place, aside);
    if (file < 0) {
        fail(path, std::strerror(errno));
    }
    const bool written = write_all(file, text);
    int error = errno;
    if (close(file) == 0 && written && std::rename(aside.c_str(), place.c_str()) == 0) {
        return;
    }
    error = written ? errno : error;
    unlink(aside.c_str());
    fail(path, std::strerror(error));
}

} // namespace cairn::cli
