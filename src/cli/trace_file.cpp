// SPDX-License-Identifier: MIT
#include <src/cli/trace_file.hpp>

#include <cairn/platform/cpu.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <queue>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::cli {

using trace::Header;
using trace::Op;
using trace::Record;

namespace {

constexpr std::uint64_t most_images = 1u << 24;

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw BadTrace(path + ": " + why);
}
[[noreturn]] void fail_errno(const std::string &path) {
    fail(path, std::strerror(errno));
}

trace::Moment moment() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return {platform::ticks(),
            static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec)};
}

} // namespace

Descriptor::Descriptor(const std::string &path, int flags)
    : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) {
        fail_errno(path);
    }
}
Descriptor::~Descriptor() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

TraceFile::TraceFile(const std::string &path) {
    const Descriptor file(path, O_RDONLY);
    struct stat status{};
    if (fstat(file, &status) != 0) {
        fail_errno(path);
    }
    if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) < trace::header_bytes) {
        fail(path, "is no trace of Cairn's");
    }
    length_ = static_cast<std::size_t>(status.st_size);
    void *const mapped = mmap(nullptr, length_, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        fail_errno(path);
    }
    bytes_ = static_cast<const unsigned char *>(mapped);
    const auto &header = *reinterpret_cast<const Header *>(bytes_);
    const auto refuse = [&](const char *why) {
        munmap(mapped, length_);
        fail(path, why);
    };
    if (header.mark != trace::file_mark) {
        refuse("is no trace of Cairn's");
    }
    if (header.version != trace::format_version || header.chunk != trace::chunk_bytes) {
        refuse("is a trace of another version of Cairn");
    }
    const trace::Moment from = header.started;
    const trace::Moment to = header.ended;
    if (to.ticks > from.ticks && to.nanoseconds > from.nanoseconds) {
        nanoseconds_per_tick_ = static_cast<double>(to.nanoseconds - from.nanoseconds) /
                                static_cast<double>(to.ticks - from.ticks);
    }
    try {
        for (std::size_t at = trace::header_bytes; at < length_; at += trace::chunk_bytes) {
            const auto *const chunk = reinterpret_cast<const Record *>(bytes_ + at);
            const std::size_t whole = std::min(length_ - at, trace::chunk_bytes) / sizeof(Record);
            read_chunk(chunk, chunk + whole);
        }
    } catch (const std::exception &damage) {
        munmap(mapped, length_);
        fail(path, damage.what());
    }
    for (auto &pieces : pieces_) {
        // Of the same tick: as in the file.
        std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
            return a.ticks != b.ticks ? a.ticks < b.ticks : a.first < b.first;
        });
    }
}

TraceFile::~TraceFile() {
    munmap(const_cast<unsigned char *>(bytes_), length_);
}

void TraceFile::read_chunk(const Record *at, const Record *end) {
    std::uint32_t thread = 0;
    bool known = false;
    std::uint64_t clock = 0;
    for (; at != end && at->op() != Op::none; ++at) {
        switch (at->op()) {
        case Op::thread:
            thread = thread_of(at->address(), at->size());
            known = true;
            break;
        case Op::time:
            clock = at->when;
            break;
        case Op::process:
            if (known && at->address() == threads_[thread].image) {
                pids_.resize(std::max<std::size_t>(pids_.size(), at->address()));
                pids_[at->address() - 1] = at->size();
            }
            break;
        default: {
            if (!known || clock == 0 || static_cast<unsigned>(at->op()) > trace::last_op) {
                throw std::runtime_error(
                    "is damaged at byte " +
                    std::to_string(reinterpret_cast<const unsigned char *>(at) - bytes_));
            }
            Piece piece{at, at, clock};
            while (piece.last != end && piece.last->op() >= Op::malloc &&
                   static_cast<unsigned>(piece.last->op()) <= trace::last_op) {
                clock += piece.last->ticks();
                ++piece.last;
            }
            pieces_[thread].push_back(piece);
            at = piece.last - 1;
        }
        }
    }
}

std::uint32_t TraceFile::thread_of(std::uint64_t image, std::uint64_t id) {
    if (image == 0 || image > most_images) {
        throw std::runtime_error("is damaged: process image " + std::to_string(image));
    }
    images_ = std::max(images_, image);
    // The kernel gives numbers again: a later thread of the same number is a later life of the same row.
    for (std::size_t i = threads_.size(); i-- > 0;) {
        if (threads_[i].image == image && threads_[i].id == id) {
            return static_cast<std::uint32_t>(i);
        }
    }
    threads_.push_back({image, id});
    pieces_.emplace_back();
    return static_cast<std::uint32_t>(threads_.size() - 1);
}

std::uint64_t TraceFile::calls(std::uint32_t thread) const {
    std::uint64_t sum = 0;
    for (const Piece &piece : pieces_[thread]) {
        sum += static_cast<std::uint64_t>(piece.last - piece.first);
    }
    return sum;
}

std::uint64_t TraceFile::pid(std::uint64_t image) const {
    return image != 0 && image <= pids_.size() ? pids_[image - 1] : 0;
}

bool TraceFile::stopped_early() const {
    return reinterpret_cast<const Header *>(bytes_)->stopped != 0;
}

void TraceFile::for_each(std::uint64_t image, const std::function<void(const TraceEvent &)> &take) const {
    struct Place {
        std::uint64_t ticks; ///< of the record at `at`
        const Record *at;
        std::uint32_t thread;
        std::size_t piece;
        bool operator>(const Place &o) const {
            return ticks != o.ticks ? ticks > o.ticks : thread > o.thread;
        }
    };
    const auto begin = [&](std::uint32_t thread, std::size_t piece) {
        const Piece &p = pieces_[thread][piece];
        return Place{p.ticks + p.first->ticks(), p.first, thread, piece};
    };
    std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
    for (std::uint32_t t = 0; t < threads_.size(); ++t) {
        if ((image == 0 || threads_[t].image == image) && !pieces_[t].empty()) {
            places.push(begin(t, 0));
        }
    }
    const std::uint64_t start = reinterpret_cast<const Header *>(bytes_)->started.ticks;
    while (!places.empty()) {
        Place place = places.top();
        places.pop();
        // As long as no other thread's call comes before, there is no need to sort.
        const std::uint64_t others = places.empty() ? UINT64_MAX : places.top().ticks;
        for (;;) {
            const Record &record = *place.at;
            const double ticks = place.ticks > start ? static_cast<double>(place.ticks - start) : 0;
            take({static_cast<std::uint64_t>(ticks * nanoseconds_per_tick_), place.thread, record.op(),
                  static_cast<std::uint8_t>(record.alignment_log2()), record.address(), record.size()});
            if (++place.at != pieces_[place.thread][place.piece].last) {
                place.ticks += place.at->ticks();
            } else if (++place.piece != pieces_[place.thread].size()) {
                place = begin(place.thread, place.piece);
            } else {
                break;
            }
            if (place.ticks >= others) {
                places.push(place);
                break;
            }
        }
    }
}

TraceMaker::TraceMaker(const std::string &path)
    : file_(path, O_RDWR | O_CREAT | O_TRUNC), memory_(memfd_create("cairn trace", MFD_CLOEXEC)) {
    header_.version = trace::format_version;
    header_.chunk = trace::chunk_bytes;
    header_.started = header_.ended = moment();
    header_.mark = trace::file_mark;
    // Slots without memory behind them, until a thread takes one.
    if (memory_ < 0 || ftruncate(memory_, (trace::most_slots + 1) * trace::chunk_bytes) != 0) {
        fail_errno("memory for the trace");
    }
    void *const mapped = mmap(nullptr, trace::chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    if (mapped == MAP_FAILED) {
        fail_errno("memory for the trace");
    }
    shared_ = new (mapped) trace::Shared{};
    write_header(path);
}

TraceMaker::~TraceMaker() {
    munmap(shared_, trace::chunk_bytes);
}

std::string TraceMaker::memory_path() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory_);
}

void TraceMaker::write_header(const std::string &path) {
    char page[trace::header_bytes] = {};
    std::memcpy(page, &header_, sizeof header_);
    if (pwrite(file_, page, sizeof page, 0) != static_cast<ssize_t>(sizeof page)) {
        fail_errno(path);
    }
}

void TraceMaker::finish(const std::string &path) {
    header_.ended = moment();
    header_.stopped = shared_->over.exchange(1);
    const std::uint64_t slots = std::min(shared_->slots.load(), trace::most_slots);
    std::vector<char> slot(trace::chunk_bytes);
    for (std::uint64_t i = 1; i <= slots; ++i) {
        const auto from = static_cast<off_t>(i * trace::chunk_bytes);
        if (pread(memory_, slot.data(), slot.size(), from) != static_cast<ssize_t>(slot.size())) {
            fail_errno("memory for the trace");
        }
        if (reinterpret_cast<const Record *>(slot.data())->where == 0) {
            continue;
        }
        const std::uint64_t chunk = shared_->chunks.fetch_add(1);
        const auto to = static_cast<off_t>(trace::header_bytes + chunk * trace::chunk_bytes);
        if (pwrite(file_, slot.data(), slot.size(), to) != static_cast<ssize_t>(slot.size())) {
            fail_errno(path);
        }
    }
    write_header(path);
}

} // namespace cairn::cli
