// SPDX-License-Identifier: MIT
#include <src/cli/trace_file.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <queue>
#include <unordered_set>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::cli {

using trace::Byte;
using trace::Header;
using trace::Op;
using trace::Record;
using trace::Word;

namespace {

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw BadTrace(path + ": " + why);
}
[[noreturn]] void fail_errno(const std::string &path) {
    fail(path, std::strerror(errno));
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
    const Descriptor file(path, O_RDONLY | O_NONBLOCK); // does not wait for a writer if the file is a pipe
    struct stat status{};
    if (fstat(file, &status) != 0) {
        fail_errno(path);
    }
    if (!S_ISREG(status.st_mode)) {
        fail(path, "is no regular file, which a trace has to be: it is read in many places");
    }
    if (static_cast<std::size_t>(status.st_size) < trace::header_bytes) {
        fail(path, "is no trace of Cairn's");
    }
    length_ = static_cast<std::size_t>(status.st_size);
    void *const mapped = mmap(nullptr, length_, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        fail_errno(path);
    }
    bytes_ = static_cast<const Byte *>(mapped);
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
            const std::size_t here = std::min(length_ - at, trace::slot_chunk * sizeof(Word));
            read_chunk(bytes_ + at, bytes_ + at + here);
        }
    } catch (const std::exception &damage) {
        munmap(mapped, length_);
        fail(path, damage.what());
    }
    for (auto &pieces : pieces_) {
        // Calls of the same tick stay in the order of the file.
        std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
            return a.ticks != b.ticks ? a.ticks < b.ticks : a.first < b.first;
        });
    }
}

TraceFile::~TraceFile() {
    munmap(const_cast<Byte *>(bytes_), length_);
}

void TraceFile::read_chunk(const Byte *at, const Byte *end) {
    std::uint32_t thread = 0;
    bool known = false;
    std::uint64_t clock = 0;
    trace::Coder coder;
    Piece *piece = nullptr; // the one that the next record continues
    while (at != end && !trace::Coder::at_end(at)) {
        const trace::Coder before = coder;
        Record record{};
        const std::size_t bytes = coder.read(at, end, record);
        if (bytes == 0 && end - at < static_cast<std::ptrdiff_t>(trace::Coder::most_bytes)) {
            return; // the file was cut off
        }
        if (bytes == 0 || record.address >> 48 != 0 || (record.op >= Op::malloc && (!known || clock == 0))) {
            throw std::runtime_error("is damaged at byte " + std::to_string(at - bytes_));
        }
        switch (record.op) {
        case Op::thread:
            thread = thread_of(record.address, record.size);
            known = true;
            coder = {};
            break;
        case Op::time:
            clock = record.ticks;
            break;
        case Op::process:
            if (known && record.address == threads_[thread].image) {
                pids_.resize(std::max<std::size_t>(pids_.size(), record.address));
                pids_[record.address - 1] = record.size;
            }
            break;
        default:
            clock += record.ticks;
            ++calls_[thread];
            if (piece == nullptr) {
                pieces_[thread].push_back({at, at, before, clock});
                piece = &pieces_[thread].back();
            }
            piece->last = at + bytes;
        }
        if (record.op < Op::malloc) {
            piece = nullptr;
        }
        at += bytes;
    }
}

std::uint32_t TraceFile::thread_of(std::uint64_t image, std::uint64_t id) {
    if (image == 0 || image > most_images) {
        throw std::runtime_error("is damaged: process image " + std::to_string(image));
    }
    images_ = std::max(images_, image);
    // The kernel reuses numbers: a later thread with the same number continues the same row.
    const auto [row, fresh] = rows_.try_emplace(image << std::bit_width(Record::most_size) | id,
                                                static_cast<std::uint32_t>(threads_.size()));
    if (fresh) {
        threads_.push_back({image, id});
        pieces_.emplace_back();
        calls_.push_back(0);
    }
    return row->second;
}

std::uint64_t TraceFile::pid(std::uint64_t image) const {
    return image != 0 && image <= pids_.size() ? pids_[image - 1] : 0;
}

bool TraceFile::stopped_early() const {
    // The recorder writes whole chunks; a shorter one was cut off, by a full disk or afterwards.
    return reinterpret_cast<const Header *>(bytes_)->stopped != 0 ||
           (length_ - trace::header_bytes) % trace::chunk_bytes != 0;
}

namespace {

/// A thread's next call.
struct Place {
    std::uint64_t ticks; ///< time of the record
    Record record;
    trace::Coder coder;
    const Byte *next;
    std::uint32_t thread;
    std::size_t piece;
    std::uint64_t image;
    std::uint64_t going; ///< the block of a realloc whose second record comes next

    bool operator>(const Place &o) const { return ticks != o.ticks ? ticks > o.ticks : thread > o.thread; }
    void read(const Byte *end) { next += coder.read(next, end, record); }
    TracedBlock block() const { return {image, record.address}; }
};

/// The blocks that are live after the calls so far.
class LiveBlocks {
public:
    /// Whether a call can come next.
    bool allows(const Place &place) const {
        return place.record.address == 0 || blocks_.contains(place.block()) == ends(place.record.op);
    }
    void make(Place &place) {
        if (ends(place.record.op)) {
            blocks_.erase(place.block());
            place.going = place.record.address;
        } else if (place.record.address != 0) {
            blocks_.insert(place.block());
        } else { // a realloc that failed
            blocks_.insert({place.image, place.going});
        }
    }

private:
    static bool ends(Op op) { return op == Op::free || op == Op::realloc_from; }

    std::unordered_set<TracedBlock, TracedBlock::Hash> blocks_;
};

/// By how much the clock may have been read too early, before the processor had completed earlier instructions.
constexpr double early_nanoseconds = 10'000;

} // namespace

// If one thread frees a block and another thread gets it at once, or if a block is passed to another thread that frees
// it at once, the times of the two calls may be in the wrong order. So a call that is not possible yet waits for the
// call that makes it possible, for a while; then it is taken anyway: its block is older than the trace, or the other
// call is not in the trace.
void TraceFile::for_each(std::uint64_t image, const std::function<void(const TraceEvent &)> &take) const {
    const auto begin = [&](std::uint32_t thread, std::size_t piece) {
        const Piece &p = pieces_[thread][piece];
        Place place{p.ticks, {}, p.coder, p.first, thread, piece, threads_[thread].image, 0};
        place.read(p.last);
        return place;
    };
    std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
    for (std::uint32_t t = 0; t < threads_.size(); ++t) {
        if ((image == 0 || threads_[t].image == image) && !pieces_[t].empty()) {
            places.push(begin(t, 0));
        }
    }
    const bool alone = places.size() == 1;
    const auto early = static_cast<std::uint64_t>(early_nanoseconds / nanoseconds_per_tick_);
    std::vector<Place> waiting; // in the order of their clocks
    LiveBlocks live;
    std::uint64_t now = reinterpret_cast<const Header *>(bytes_)->started.ticks;
    const std::uint64_t start = now;
    while (!places.empty() || !waiting.empty()) {
        const std::uint64_t patience = waiting.empty() ? UINT64_MAX : waiting.front().ticks + early;
        bool must = places.empty() || places.top().ticks > patience;
        Place place = must ? waiting.front() : places.top();
        if (must) {
            waiting.erase(waiting.begin());
        } else {
            places.pop();
        }
        // No need to sort while no other thread has an earlier call.
        std::uint64_t others = places.empty() ? patience : std::min(patience, places.top().ticks);
        for (;; must = false) {
            if (!alone && !must && !live.allows(place)) {
                const auto later = std::find_if(waiting.begin(), waiting.end(),
                                                [&](const Place &w) { return w.ticks > place.ticks; });
                waiting.insert(later, place);
                break;
            }
            const Record &record = place.record;
            now = std::max(now, place.ticks);
            take({static_cast<std::uint64_t>(static_cast<double>(now - start) * nanoseconds_per_tick_),
                  place.thread, record.op, static_cast<std::uint8_t>(record.alignment_log2), record.address,
                  record.size});
            if (!alone) {
                live.make(place);
                for (auto w = waiting.begin(); w != waiting.end();) {
                    if (live.allows(*w)) {
                        places.push(*w);
                        w = waiting.erase(w);
                        others = 0;
                    } else {
                        ++w;
                    }
                }
            }
            const Byte *const last = pieces_[place.thread][place.piece].last;
            if (place.next != last) {
                place.read(last);
                place.ticks += place.record.ticks;
            } else if (++place.piece != pieces_[place.thread].size()) {
                const std::uint64_t going = place.going;
                place = begin(place.thread, place.piece);
                place.going = going;
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

} // namespace cairn::cli
