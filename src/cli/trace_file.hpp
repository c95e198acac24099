// SPDX-License-Identifier: MIT
//
// Trace file: reads a trace and puts its calls in order.
#pragma once

#include <src/trace/format.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::cli {

/// The reason why a file cannot be read; what() is one line.
class BadTrace : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A file descriptor that the destructor closes.
class Descriptor {
public:
    Descriptor(const std::string &path, int flags); ///< throws BadTrace
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor();
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    operator int() const { return fd_; }

private:
    int fd_;
};

/// A thread of a process image, in the order of first calls.
struct TracedThread {
    std::uint64_t image; ///< a process, or what it became by exec; 1 is the first
    std::uint64_t id;    ///< the kernel's number of the thread
};

struct TraceEvent {
    std::uint64_t nanoseconds; ///< since the trace began
    std::uint32_t thread;      ///< index in threads()
    trace::Op op;              ///< the call
    std::uint8_t alignment_log2;
    std::uint64_t address;
    std::uint64_t size;
};

/// Identifies a block: several processes use the same addresses.
struct TracedBlock {
    std::uint64_t image;
    std::uint64_t address;

    bool operator==(const TracedBlock &) const = default;
    struct Hash {
        std::size_t operator()(const TracedBlock &block) const {
            return block.image * 0x9e3779b97f4a7c15 ^ block.address;
        }
    };
};

/// The largest number of process images; a file that names more is damaged.
inline constexpr std::uint64_t most_images = 1u << 24;
static_assert(trace::Record::most_size < UINT64_MAX / most_images, "a thread's image and id are one number");

class TraceFile {
public:
    /// Throws BadTrace.
    explicit TraceFile(const std::string &path);
    ~TraceFile();
    TraceFile(const TraceFile &) = delete;
    TraceFile &operator=(const TraceFile &) = delete;

    const std::vector<TracedThread> &threads() const { return threads_; }
    std::uint64_t images() const { return images_; }
    /// The number of records of a thread; a realloc has two.
    std::uint64_t calls(std::uint32_t thread) const { return calls_[thread]; }
    /// The pid of a process image; 0 if unknown.
    std::uint64_t pid(std::uint64_t image) const;
    /// Whether calls are missing at the end: the disk was full, a process closed its files, or the file was cut off.
    bool stopped_early() const;

    /// All calls of a process image (0: of all), sorted by time; those of one thread stay in their order, and
    /// no block is allocated while it lives, or freed while it does not, unless the trace has it so.
    void for_each(std::uint64_t image, const std::function<void(const TraceEvent &)> &take) const;

private:
    /// Records of one thread without a gap.
    struct Piece {
        const trace::Byte *first;
        const trace::Byte *last;
        trace::Coder coder;  ///< state before the first record
        std::uint64_t ticks; ///< time of the first record
    };

    void read_chunk(const trace::Byte *chunk, const trace::Byte *end);
    std::uint32_t thread_of(std::uint64_t image, std::uint64_t id);

    const trace::Byte *bytes_ = nullptr;
    std::size_t length_ = 0;
    double nanoseconds_per_tick_ = 1;
    std::uint64_t images_ = 0;
    std::vector<TracedThread> threads_;
    std::unordered_map<std::uint64_t, std::uint32_t> rows_; ///< index in threads_ by image and id
    std::vector<std::vector<Piece>> pieces_;                ///< for each thread, in order of time
    std::vector<std::uint64_t> calls_;                      ///< for each thread
    std::vector<std::uint64_t> pids_;                       ///< for each image
};

} // namespace cairn::cli
