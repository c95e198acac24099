// SPDX-License-Identifier: MIT
#include <src/malloc/report.hpp>
#include <src/malloc/statistics_fields.hpp>

#include <cairn/cairn.h>

#include <cerrno>
#include <unistd.h>

namespace cairn::report {
namespace {

/// "12.3 MiB", the number eight columns wide.
void write_amount(TextOut &out, std::uint64_t bytes) {
    constexpr const char *units[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    std::uint64_t whole = bytes;
    std::uint64_t rest = 0;
    while (whole >= 1024) {
        rest = whole % 1024;
        whole /= 1024;
        ++unit;
    }
    out.right(whole, 6);
    if (unit > 0) {
        out << '.' << rest * 10 / 1024;
    } else {
        out << "  ";
    }
    out << ' ' << units[unit];
}

void write_row(TextOut &out, const char *name, std::uint64_t bytes, const char *about) {
    out << "  " << name;
    write_amount(out, bytes);
    out << "  " << about;
}

/// A table row for each size class that has superblocks.
void write_classes(TextOut &out, const Statistics &s) {
    bool first = true;
    for (std::uint32_t c = 0; c < s.size_classes; ++c) {
        const SizeClassStatistics &row = s.by_class[c];
        if (row.superblocks == 0) {
            continue;
        }
        if (first) {
            out << "  block size  superblocks  live blocks  free blocks\n";
            first = false;
        }
        out.right(row.block_size, 12).right(row.superblocks, 13).right(row.live_blocks, 13);
        out.right(row.free_blocks, 13) << '\n';
    }
}

void write_string(TextOut &out, const char *text) {
    out << '"';
    for (; *text != 0; ++text) {
        const auto c = static_cast<unsigned char>(*text);
        if (c == '"' || c == '\\') {
            out << '\\' << *text;
        } else if (c >= ' ' && c <= '~') {
            out << *text;
        } else { // a file name may not be UTF-8: one escape for each byte is always valid JSON
            out << "\\u00" << "0123456789abcdef"[c / 16] << "0123456789abcdef"[c % 16];
        }
    }
    out << '"';
}

void write_total(TextOut &out, const char *type, std::uint64_t count, std::uint64_t size) {
    out << "<total type=\"" << type << "\" count=\"" << count << "\" size=\"" << size << "\"/>\n";
}

void write_size(TextOut &out, const char *element, const char *type, std::uint64_t size) {
    out << '<' << element << " type=\"" << type << "\" size=\"" << size << "\"/>\n";
}

void write_totals(TextOut &out, const Statistics &s, const Arena &arena) {
    write_total(out, "fast", 0, 0);
    write_total(out, "rest", arena.free_blocks, arena.free);
    write_total(out, "mmap", s.huge_live_blocks, s.huge_live);
    write_size(out, "system", "current", arena.size());
    write_size(out, "system", "max", s.mapped_peak);
    write_size(out, "aspace", "total", s.mapped);
    write_size(out, "aspace", "mprotect", s.mapped);
}

} // namespace

void write_text(TextOut &out, const Statistics &s, const Subject &subject) noexcept {
    std::uint64_t small_blocks = 0;
    for (std::uint32_t c = 0; c < s.size_classes; ++c) {
        small_blocks += s.by_class[c].live_blocks;
    }
    out << subject.allocator << ' ' << CAIRN_VERSION_STRING << ": memory of process " << subject.pid << " ("
        << subject.program << ")\n";
    write_row(out, "live         ", s.live(), "in blocks that the program holds\n");
    write_row(out, "  small      ", s.small_live, "");
    out << "in " << small_blocks << " blocks, " << s.superblocks << " superblocks with ";
    write_amount(out, s.small_resident);
    out << '\n';
    write_row(out, "  large      ", s.large_live, "");
    out << "in " << s.large_live_blocks << " blocks\n";
    write_row(out, "  huge       ", s.huge_live, "");
    out << "in " << s.huge_live_blocks << " blocks\n";
    write_row(out, "free         ", s.free_dirty, "not yet given back to the system\n");
    write_row(out, "metadata     ", s.metadata, "at most\n");
    write_row(out, "mapped       ", s.mapped, "of address space, at most");
    write_amount(out, s.mapped_peak);
    out << " at one time\n";
    write_row(out, "given back   ", s.purged, "since the start, in ");
    out << s.purges << " calls\n";
    out << "  heaps " << s.heaps << " in use, at most " << s.heaps_peak << " at one time\n";
    out << "  superblocks made " << s.superblocks_fresh << ", to the global heap " << s.superblocks_to_global
        << ", from it " << s.superblocks_from_global << '\n';
    write_classes(out, s);
}

void write_json(TextOut &out, const Statistics &s, const Subject &subject) noexcept {
    out << "{\"allocator\":\"" << subject.allocator << "\",\"version\":\"" << CAIRN_VERSION_STRING
        << "\",\"schema\":" << std::uint64_t{json_schema} << ",\"pid\":" << subject.pid << ",\"program\":";
    write_string(out, subject.program);
    out << ",\"live\":" << s.live();
#define CAIRN_WRITE_FIELD(name) out << ",\"" #name "\":" << s.name;
    CAIRN_STATISTICS_FIELDS(CAIRN_WRITE_FIELD)
#undef CAIRN_WRITE_FIELD
    out << ",\"by_class\":[";
    for (std::uint32_t c = 0; c < s.size_classes; ++c) {
        const SizeClassStatistics &row = s.by_class[c];
        out << (c == 0 ? "" : ",") << "{\"block_size\":" << std::uint64_t{row.block_size}
            << ",\"superblocks\":" << std::uint64_t{row.superblocks} << ",\"live_blocks\":" << row.live_blocks
            << ",\"free_blocks\":" << row.free_blocks << '}';
    }
    out << "]}\n";
}

void write_xml(TextOut &out, const Statistics &s) noexcept {
    const Arena arena = arena_of(s);
    out << "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n";
    std::uint64_t from = 1;
    for (std::uint32_t c = 0; c < s.size_classes; ++c) {
        const SizeClassStatistics &row = s.by_class[c];
        if (row.free_blocks != 0) {
            out << "  <size from=\"" << from << "\" to=\"" << std::uint64_t{row.block_size} << "\" total=\""
                << row.free_blocks * row.block_size << "\" count=\"" << row.free_blocks << "\"/>\n";
        }
        from = std::uint64_t{row.block_size} + 1;
    }
    out << "</sizes>\n";
    write_totals(out, s, arena);
    out << "</heap>\n";
    write_totals(out, s, arena);
    out << "</malloc>\n";
}

Arena arena_of(const Statistics &s) noexcept {
    Arena arena;
    arena.used = s.small_live + s.large_live;
    // The two figures are read at different moments: while other threads run, small_live may exceed small_resident.
    arena.free = s.free_dirty + (s.small_resident > s.small_live ? s.small_resident - s.small_live : 0);
    for (std::uint32_t c = 0; c < s.size_classes; ++c) {
        arena.free_blocks += s.by_class[c].free_blocks;
    }
    return arena;
}

Subject this_process(const char *allocator) noexcept {
    const char *const name = program_invocation_short_name;
    return {name != nullptr ? name : "", static_cast<std::uint64_t>(getpid()), allocator};
}

} // namespace cairn::report
