// SPDX-License-Identifier: MIT
#include "driver.hpp"

namespace cairn::conformance {

namespace {

void *zeroed(void *p, std::size_t size) {
    if (p != nullptr) {
        const auto *const bytes = static_cast<const unsigned char *>(p);
        EXPECT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; }));
    }
    return p;
}

} // namespace

void AnyDriver::run(std::size_t operations, std::size_t most_blocks) {
    for (std::size_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
        const bool full = model.size() >= most_blocks || model.live_bytes() >= most_live_bytes_;
        if (model.size() > 0 && (full || random_() % 5 < 2)) {
            model.free_one(model.any(random_));
        } else {
            malloc_in_some_way();
        }
    }
    model.check_all();
}

void AnyDriver::malloc_one(std::size_t size) {
    request(size, requests_.alignment_for(size), [&] { return heap_.malloc(size); });
}

std::size_t AnyDriver::random_size() {
    if (requests_.fixed_size != 0) {
        return requests_.fixed_size;
    }
    const unsigned kind = random_() % 16;
    const std::size_t most = kind < 8 ? 128 : kind < 12 ? 4_KiB : kind < 15 ? 64_KiB : 1_MiB;
    return random_() % (std::min(most, largest_) + 1);
}

void AnyDriver::malloc_in_some_way() {
    const std::size_t size = random_size();
    const unsigned way = random_() % 8;
    if (heap_.can().memalign != nullptr && way == 0) {
        const std::size_t wanted = quantum << random_() % 9;
        request(size, wanted, [&] { return heap_.memalign(wanted, size); });
        return;
    }
    if (heap_.can().malloc_zeroed != nullptr && way == 1) {
        request(size, requests_.alignment_for(size), [&] { return zeroed(heap_.malloc_zeroed(size), size); });
        return;
    }
    if (heap_.can().reallocate != nullptr && way < 4 && model.size() > 0) {
        reallocate_one(model.any(random_), std::max<std::size_t>(1, size % Model::filled_whole));
        return;
    }
    malloc_one(size);
}

void AnyDriver::reallocate_one(void *from, std::size_t size) {
    if (model.size_of(from) > Model::filled_whole) {
        return;
    }
    const std::uintptr_t start = address_of(from);
    void *const to = heap_.reallocate(from, size);
    if (to != nullptr) {
        model.admit_moved(start, to, size, requests_.alignment_for(size));
    } else {
        EXPECT_NE(below_, Below::gives) << "no memory to reallocate to " << size << " bytes";
        EXPECT_GT(size, model.size_of(from)) << "fewer bytes need no memory";
        model.check(from);
    }
}

template <class F>
void AnyDriver::request(std::size_t size, std::size_t alignment, F ask) {
    void *p = ask();
    if (p == nullptr && below_ == Below::refuses_once) {
        p = ask();
    }
    if (p != nullptr) {
        model.admit(p, size, alignment);
    } else if (size != 0 && below_ != Below::refuses) {
        const bool excused = heap_.can().remaining != nullptr && size > heap_.remaining();
        EXPECT_TRUE(excused) << "no memory for " << size << " bytes";
    }
}

} // namespace cairn::conformance
