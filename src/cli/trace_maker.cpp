// SPDX-License-Identifier: MIT
#include <src/cli/trace_maker.hpp>

#include <cairn/platform/cpu.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::cli {

using trace::Byte;
using trace::Word;

namespace {

[[noreturn]] void refuse(const std::string &path, const char *why = std::strerror(errno)) {
    throw BadTrace(path + ": " + why);
}

trace::Moment moment() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return {platform::ticks(),
            static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec)};
}

/// Whether the file begins as a trace does.
bool has_mark(int fd) {
    std::uint64_t mark = 0;
    return pread(fd, &mark, sizeof mark, 0) == static_cast<ssize_t>(sizeof mark) && mark == trace::file_mark;
}

/// Opens an empty file in which no other process makes a trace; on file systems without locks this is not checked.
int take_file(const std::string &path) {
    for (;;) {
        const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0) {
            refuse(path);
        }
        const bool busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat taken{};
        struct stat named{};
        // The process that held the lock may have renamed the file in the meantime.
        const bool same = fstat(fd, &taken) == 0 && stat(path.c_str(), &named) == 0 &&
                          taken.st_dev == named.st_dev && taken.st_ino == named.st_ino;
        if (!busy && same && taken.st_size == 0) {
            return fd;
        }
        if (!busy && same && !has_mark(fd)) {
            close(fd);
            refuse(path, "is there, and is no trace that is left");
        }
        if (!busy && same &&
            unlink(path.c_str()) ==
                0) { // left by a recorder that was killed: its program may still write there
            close(fd);
            continue;
        }
        const char *const why = busy ? "another cairn trace writes it" : std::strerror(errno);
        close(fd);
        if (busy || same) {
            refuse(path, why);
        }
    }
}

/// Makes shared memory, which is not backed until a thread takes a slot of it. Returns the number of slots: all, or as
/// many as `ulimit -f` allows.
std::uint64_t make_room(int memory) {
    for (std::uint64_t slots = trace::most_slots; slots != 0; slots /= 2) {
        if (ftruncate(memory, static_cast<off_t>((slots + 1) * trace::chunk_bytes)) == 0) {
            return slots;
        }
    }
    refuse("memory for the trace");
}

/// The bytes of valid records at the start of a slot.
std::size_t length_of_records(const std::vector<Word> &slot) {
    const auto *const first = reinterpret_cast<const Byte *>(slot.data());
    const auto *const end = first + trace::slot_chunk * sizeof(Word);
    const Byte *at = first;
    trace::Coder coder;
    trace::Record record{};
    while (at != end && !trace::Coder::at_end(at)) {
        const std::size_t bytes = coder.read(at, end, record);
        if (bytes == 0) { // not a record: the program has overwritten it
            break;
        }
        at += bytes;
    }
    return static_cast<std::size_t>(at - first);
}

} // namespace

TraceMaker::TraceMaker(const std::string &path)
    : file_(take_file(path)), memory_(memfd_create("cairn trace", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    try {
        prepare(path);
    } catch (...) {
        unlink(path.c_str()); // the file is empty
        throw;
    }
}

void TraceMaker::prepare(const std::string &path) {
    header_.version = trace::format_version;
    header_.chunk = trace::chunk_bytes;
    // What a recorder leaves that is killed has the rate of the clock too, and says that calls are missing.
    constexpr timespec a_little{0, 2'000'000};
    header_.started = moment();
    nanosleep(&a_little, nullptr);
    header_.ended = moment();
    header_.stopped = 1;
    header_.mark = trace::file_mark;
    if (memory_ < 0) {
        refuse("memory for the trace");
    }
    const std::uint64_t slots = make_room(memory_);
    void *const mapped = mmap(nullptr, trace::chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    if (mapped == MAP_FAILED) {
        refuse("memory for the trace");
    }
    shared_ = new (mapped) trace::Shared{};
    shared_->mark = trace::memory_mark;
    shared_->room = slots;
    write_header(path);
}

TraceMaker::~TraceMaker() {
    if (shared_ != nullptr) {
        munmap(shared_, trace::chunk_bytes);
    }
}

std::string TraceMaker::memory_path() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory_);
}

/// Seals the shared memory against writes. The kernel refuses while any process has it mapped for writing; a process
/// that is just ending gets a moment. This process has no such mapping after the call.
bool TraceMaker::others_have_memory() {
    constexpr timespec moment{0, 1'000'000};
    munmap(std::exchange(shared_, nullptr), trace::chunk_bytes);
    for (int tries = 20; fcntl(memory_, F_ADD_SEALS, F_SEAL_WRITE) != 0; --tries) {
        if (errno != EBUSY || tries == 0) {
            return errno == EBUSY;
        }
        nanosleep(&moment, nullptr);
    }
    return false;
}

void TraceMaker::write_header(const std::string &path) {
    char start[trace::header_bytes] = {};
    std::memcpy(start, &header_, sizeof header_);
    if (pwrite(file_, start, sizeof start, 0) != static_cast<ssize_t>(sizeof start)) {
        refuse(path);
    }
}

void TraceMaker::write_chunk(std::uint64_t number, const void *chunk) {
    const auto to = static_cast<off_t>(trace::header_bytes + number * trace::chunk_bytes);
    if (pwrite(file_, chunk, trace::chunk_bytes, to) != static_cast<ssize_t>(trace::chunk_bytes)) {
        lacks_room_ = true;
        header_.stopped = 1; // the records so far can still be used
    }
}

bool TraceMaker::finish(const std::string &path) {
    header_.ended = moment();
    header_.stopped = shared_->over.exchange(trace::over_with_the_program);
    lacks_room_ = header_.stopped == trace::over_without_room;
    lacks_memory_ = header_.stopped == trace::over_without_memory;
    const std::uint64_t slots = std::min(shared_->slots.load(), shared_->room);
    std::vector<Word> slot(trace::chunk_words);
    // Several slots that are not full go into one chunk: each process image has at least one such slot.
    std::vector<Byte> together;
    const auto write_together = [&] {
        together.resize(trace::chunk_bytes);
        write_chunk(shared_->chunks.fetch_add(1), together.data());
        together.clear();
    };
    for (std::uint64_t i = 1; i <= slots; ++i) {
        const auto from = static_cast<off_t>(i * trace::chunk_bytes);
        if (pread(memory_, slot.data(), trace::chunk_bytes, from) !=
            static_cast<ssize_t>(trace::chunk_bytes)) {
            refuse("memory for the trace");
        }
        // If the thread was killed while it wrote the slot, this writes the same chunk again; not if the slot is empty
        // already: that chunk is in the file.
        if (const Word begun = std::exchange(slot[trace::slot_chunk], 0); begun != 0) {
            if (slot[0] != 0) {
                write_chunk(begun - 1, slot.data());
            }
            continue;
        }
        const std::size_t length = length_of_records(slot);
        if (together.size() + length > trace::slot_chunk * sizeof(Word)) {
            write_together();
        }
        const auto *const records = reinterpret_cast<const Byte *>(slot.data());
        together.insert(together.end(), records, records + length);
    }
    if (!together.empty()) {
        write_together();
    }
    const bool any = shared_->chunks.load() != 0;
    left_ = shared_->left.load();
    somebody_goes_on_ = others_have_memory();
    header_.stopped |= left_ != 0 || somebody_goes_on_ ? 1 : 0;
    write_header(path);
    return any;
}

} // namespace cairn::cli
