// SPDX-License-Identifier: MIT
//
// Mixed piece: a run cut out of free neighbours of both kinds, dirty ones and clean ones.
//
// Adds:    the search for one around a dirty run, with as many dirty slots as can be.
// Needs:   free runs in a segment whose boundary tags are right (RunLists).
// Threads: the caller holds the lock of the runs.
// Cost:    a look at each slot of the neighbourhood, at most three times the length that is wanted.
// Source:  docs/decisions/mixed-runs.md
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

struct MixedPiece {
    unsigned first = 0; ///< slot
    unsigned dirty = 0; ///< slots of it that were used before; 0: there is no such piece

    static bool is_free(SlotKind kind) {
        return kind == SlotKind::free_clean || kind == SlotKind::free_dirty;
    }

    /// The best of `slots` at a multiple of `alignment`, out of the free runs around [begin, end), which is one.
    static MixedPiece around(const Segment &segment, unsigned begin, unsigned end, unsigned slots,
                             unsigned alignment) {
        const unsigned least = begin > slots ? begin - slots : 0;
        while (begin > least && is_free(segment.kind(begin - 1))) {
            begin -= segment.owner_lines[begin - 1].slots; // the boundary tag of the run before
        }
        for (const unsigned most = end + slots;
             end < most && end < segment.mapped_slots && is_free(segment.kind(end));) {
            end += segment.owner_lines[end].slots;
        }
        MixedPiece best;
        unsigned dirty = 0; // of the slots before `behind`, from `first` on
        unsigned behind = begin;
        for (unsigned first = begin; first + slots <= end; ++first) {
            for (; behind < first + slots; ++behind) {
                dirty += segment.kind(behind) == SlotKind::free_dirty;
            }
            if (dirty > best.dirty && first % alignment == 0) {
                best = {first, dirty};
            }
            dirty -= segment.kind(first) == SlotKind::free_dirty;
        }
        return best;
    }
};

} // namespace cairn
