// SPDX-License-Identifier: MIT
#include <src/malloc/report_at_exit.hpp>

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/quiet_writes.hpp>
#include <cairn/platform/write_all.hpp>
#include <src/malloc/environment.hpp>
#include <src/malloc/loader.hpp>
#include <src/malloc/process.hpp>
#include <src/malloc/quoted.hpp>
#include <src/malloc/report.hpp>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace cairn::report {
namespace {

enum class Form : unsigned char { none, text, json };
constinit Form requested = Form::none;

/// Whether the program's malloc is not this library's: another copy of Cairn is preloaded, or linked with the program.
constinit bool is_another_malloc = false;

/// A path; `too_long` if it did not fit.
struct Path {
    char characters[PATH_MAX] = {};
    std::size_t length = 0;
    bool too_long = false;

    void put(const char *text) {
        while (*text != 0) {
            if (length + 1 == sizeof characters) {
                too_long = true;
                return;
            }
            characters[length++] = *text++;
        }
        characters[length] = 0;
    }
};

/// The user's file name, made absolute: the program may change its working directory.
constinit Path wanted_file;

/// A duplicate of stderr: many programs close stderr before the library's destructor runs (every tool of coreutils
/// does).
constinit int spare_stderr = -1;
constinit struct stat first_stderr{};

long call(long number, long a = 0, long b = 0, long c = 0) {
    return platform::raw_syscall(number, a, b, c);
}

long pointer(const void *p) {
    return reinterpret_cast<long>(p);
}

struct File {
    long descriptor;
    int error = 0;

    static void take(void *to, const char *text, std::size_t length) noexcept {
        auto *const file = static_cast<File *>(to);
        if (file->error == 0) {
            file->error = platform::write_all(file->descriptor, text, length);
        }
    }
};

const char *reason(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case ENOENT:
    case ENOTDIR:
        return "no such folder";
    case EEXIST:
        return "it is no regular file";
    case EISDIR:
        return "it is a folder";
    case EROFS:
        return "the file system is read-only";
    case ENOSPC:
    case EDQUOT:
        return "no space left";
    case EFBIG:
        return "it may not be so large";
    case ENAMETOOLONG:
        return "the name is too long";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    default:
        return "the system refuses";
    }
}

void complain(int error) {
    platform::write_line({"CAIRN_STATS: cannot write '",
                          Quoted<160>(wanted_file.characters, wanted_file.length).characters,
                          "': ", reason(error), " (error ", static_cast<std::uint64_t>(error), ")"});
}

struct Decimal {
    char characters[24] = {};
    explicit Decimal(std::uint64_t number) {
        TextOut out(
            [](void *to, const char *text, std::size_t length) noexcept { std::memcpy(to, text, length); },
            characters);
        out << number;
    }
};

/// `%p` becomes the process's number, `%%` a percent sign.
void expand(const char *pattern, std::uint64_t pid, Path &into) {
    for (; *pattern != 0; ++pattern) {
        const char one[2] = {*pattern, 0};
        if (pattern[0] == '%' && pattern[1] == 'p') {
            into.put(Decimal(pid).characters);
            ++pattern;
        } else {
            pattern += pattern[0] == '%' && pattern[1] == '%' ? 1 : 0;
            into.put(one);
        }
    }
}

/// Writes the report under a name that no other process uses, then renames it. Returns the error, 0 for none.
int write_file(const Statistics &statistics, const Subject &subject) {
    static constinit Path file;
    static constinit Path aside;
    file.length = aside.length = 0;
    expand(wanted_file.characters, subject.pid, file);
    aside.put(file.characters);
    aside.put(".");
    aside.put(Decimal(subject.pid).characters);
    aside.put(".tmp");
    if (file.too_long || aside.too_long) {
        return ENAMETOOLONG;
    }
    File to{platform::raw_syscall(SYS_openat, AT_FDCWD, pointer(aside.characters),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)};
    if (platform::failed(to.descriptor)) {
        return static_cast<int>(-to.descriptor);
    }
    {
        TextOut out(File::take, &to);
        write_json(out, statistics, subject);
    }
    call(SYS_close, to.descriptor);
    if (to.error == 0) {
        const long renamed = platform::raw_syscall(SYS_renameat, AT_FDCWD, pointer(aside.characters),
                                                   AT_FDCWD, pointer(file.characters));
        to.error = platform::failed(renamed) ? static_cast<int>(-renamed) : 0;
    }
    if (to.error != 0) {
        call(SYS_unlinkat, AT_FDCWD, pointer(aside.characters));
    }
    return to.error;
}

/// The descriptor for the summary: stderr, if it is still the file that it was at the start, or a terminal or pipe that
/// the program has put in its place; otherwise the duplicate, if that is still the file that it was. A program that has
/// closed both may have opened files of its own with their numbers: then only a terminal is taken for stderr. -1: none.
long stderr_now() {
    struct stat now{};
    const auto is_as_it_was = [&](long number) {
        now = {};
        return !platform::failed(call(SYS_fstat, number, pointer(&now))) &&
               now.st_dev == first_stderr.st_dev && now.st_ino == first_stderr.st_ino;
    };
    const bool has_spare = is_as_it_was(spare_stderr);
    if (is_as_it_was(2) || S_ISCHR(now.st_mode) || (has_spare && S_ISFIFO(now.st_mode))) {
        return 2;
    }
    return has_spare ? spare_stderr : -1;
}

void write_summary(const Statistics &statistics, const Subject &subject) {
    File to{stderr_now()};
    if (to.descriptor < 0) {
        return;
    }
    TextOut out(File::take, &to);
    write_text(out, statistics, subject);
}

/// The error that writing the report would have, as far as it can be known now; 0 for none.
int foreseeable_error() {
    if (wanted_file.too_long) {
        return ENAMETOOLONG;
    }
    static constinit Path file;
    file.length = 0;
    expand(wanted_file.characters, static_cast<std::uint64_t>(call(SYS_getpid)), file);
    struct stat itself{};
    if (!platform::failed(call(SYS_newfstatat, AT_FDCWD, pointer(file.characters), pointer(&itself))) &&
        !S_ISREG(itself.st_mode)) {
        return S_ISDIR(itself.st_mode) ? EISDIR : EEXIST; // a device would be replaced by a file
    }
    *std::strrchr(file.characters, '/') = 0; // the name is absolute
    const char *const folder = file.characters[0] == 0 ? "/" : file.characters;
    const long access = call(SYS_faccessat, AT_FDCWD, pointer(folder), W_OK | X_OK);
    return platform::failed(access) ? static_cast<int>(-access) : 0;
}

/// Puts the working directory before a relative name. Returns the error, 0 for none.
int put_folder() {
    Path folder;
    const long length = call(SYS_getcwd, pointer(folder.characters), sizeof folder.characters);
    if (platform::failed(length)) {
        return static_cast<int>(-length);
    }
    if (folder.characters[0] != '/') {
        return ENOENT; // the working directory is outside of the process's root
    }
    for (const char *c = folder.characters; *c != 0; ++c) {
        const char one[2] = {*c, 0};
        wanted_file.put(*c == '%' ? "%%" : one);
    }
    wanted_file.put("/");
    return 0;
}

void request_file(const char *name) {
    int error = *name != '/' ? put_folder() : 0;
    wanted_file.put(name);
    error = error != 0 ? error : foreseeable_error();
    if (error != 0) {
        complain(error);
    } else {
        requested = Form::json;
    }
}

bool finds_another_malloc() {
    if (dl_symbol == nullptr || dl_address == nullptr) {
        return false;
    }
    Dl_info own{};
    Dl_info found{};
    return dl_address(&requested, &own) != 0 && dl_address(dl_symbol(RTLD_DEFAULT, "malloc"), &found) != 0 &&
           own.dli_fbase != found.dli_fbase;
}

/// Of a library that nobody has called; a recorder of calls may be between it and the program.
bool is_of_no_call(const Statistics &statistics) {
    return statistics.live() == 0 && statistics.heaps_peak == 0 && statistics.mapped_peak == 0;
}

} // namespace

void read_request() noexcept {
    const char *const value = environment_value("CAIRN_STATS");
    if (value == nullptr || *value == 0 || std::strcmp(value, "0") == 0) {
        return;
    }
    is_another_malloc = finds_another_malloc();
    if (std::strcmp(value, "1") == 0) {
        requested = Form::text;
        const long spare = call(SYS_fcntl, 2, F_DUPFD_CLOEXEC, 200);
        spare_stderr = platform::failed(spare) ? -1 : static_cast<int>(spare);
        call(SYS_fstat, 2, pointer(&first_stderr));
    } else if (std::strncmp(value, "json:", 5) == 0 && value[5] != 0) {
        request_file(value + 5);
    } else {
        platform::write_line({"CAIRN_STATS: unknown value '", Quoted(value, std::strlen(value)).characters,
                              "', which is 1 or json:FILE (no report)"});
    }
}

void write_requested() noexcept {
    if (requested == Form::none) {
        return;
    }
    const int saved = errno;
    const platform::QuietWrites quiet; // a failed write must not change the exit status of the program
    Statistics statistics;
    process_heap::whole_statistics(statistics, /*at_exit=*/true);
    if (is_another_malloc && is_of_no_call(statistics)) {
        errno = saved;
        return;
    }
    const Subject subject = this_process(cairn::process_heap::allocator_name);
    if (requested == Form::text) {
        write_summary(statistics, subject);
    } else if (const int error = write_file(statistics, subject); error != 0) {
        complain(error);
    }
    errno = saved;
}

} // namespace cairn::report
