// SPDX-License-Identifier: MIT
//
// A window of address space with a segment in it, for tests of what lives in segments: every slot is `taken`, in no
// list, and its memory is there.
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/window_map.hpp>

namespace cairn::test {

class Window {
public:
    explicit Window(unsigned mapped_slots = slots_per_segment)
        : raw_(static_cast<char *>(platform::vm::map(2 * window_size))),
          segment_(reinterpret_cast<Segment *>(align_up(address_of(raw_), window_size))) {
        segment_->mapped_slots = mapped_slots;
        segment_->set_kinds(0, metadata_slots, SlotKind::metadata);
        segment_->set_kinds(metadata_slots, mapped_slots - metadata_slots, SlotKind::taken);
        WindowMap::set(segment_, WindowKind::segment);
    }
    ~Window() {
        WindowMap::set(segment_, WindowKind::foreign);
        platform::vm::unmap(raw_, 2 * window_size);
    }
    Window(const Window &) = delete;
    Window &operator=(const Window &) = delete;

    Segment &segment() const { return *segment_; }

    /// The lines of the run [slot, slot + slots).
    OwnerLine *run(unsigned slot, unsigned slots) const {
        OwnerLine *const first = &segment_->owner_lines[slot];
        first->slots = static_cast<std::uint16_t>(slots);
        return first;
    }

private:
    char *raw_;
    Segment *segment_;
};

} // namespace cairn::test
