// SPDX-License-Identifier: MIT
//
// `cairn info`: version, build, system, size classes, the constants of the bound, options. Every figure is a constant
// of the code.
#include <src/cli/commands.hpp>
#include <src/cli/json_text.hpp>
#include <src/cli/libraries.hpp>

#include <allocators/bound.hpp>
#include <allocators/cairn.hpp>
#include <src/malloc/option_text.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <iomanip>
#include <iostream>

namespace cairn::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Only constants of the malloc are used; no heap is made here.
struct NoLife {
    static bool attached() noexcept { return false; }
    static void grew() noexcept {}
    static void surplus() noexcept {}
    static void returned() noexcept {}
};
using Shipped = Flagship<NoLife>;
using Classes = Shipped::SizeClasses;

using Limits = Bound<Shipped>;

/// The word in brackets in a setting of the kernel: the one in force.
std::string transparent_huge_pages() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    std::getline(file, line);
    const std::size_t from = line.find('[');
    const std::size_t to = line.find(']');
    return from < to && to != std::string::npos ? line.substr(from + 1, to - from - 1) : "unknown";
}

Json gather() {
    read_options();
    Json all;
    all["version"] = CAIRN_VERSION;
    all["build"] = {{"compiler", CAIRN_BUILD_COMPILER}, {"type", CAIRN_BUILD_TYPE}};
    all["system"] = {{"page_size", platform::vm::page_size()},
                     {"transparent_huge_pages", transparent_huge_pages()}};
    all["bound"] = {
        {"f", Limits::fraction},
        {"ks", Limits::slack},
        {"superblock_small", slot_size},
        {"superblock_longest", Limits::span_of_class(Classes::count - 1)},
        {"in_bins", Limits::in_bins},
        {"unlisted", Limits::unlisted},
        {"last_taken", Limits::last_taken},
        {"in_global_heap", Limits::in_global_heap},
        {"pending", Limits::pending},
        {"gathered", Limits::gathered},
        {"heap", Limits::itself},
        {"heap_constant", static_cast<std::size_t>(Limits::per_heap)},
        {"uncarved", Limits::uncarved},
        {"huge_page", Limits::huge_page},
        {"unaccounted", Limits::unaccounted},
        {"span_ratio", Limits::span_ratio},
        {"runs_slack", PurgingRuns::beside_blocks.slack},
        {"runs_fraction", 1.0 / PurgingRuns::beside_blocks.fraction},
        {"runs_and_mappings_slack", PurgingRuns::beside_mappings.slack},
        {"runs_and_mappings_fraction", 1.0 / PurgingRuns::beside_mappings.fraction},
        {"runs_slack_for_superblocks", PurgingRuns::beside_superblocks.slack},
        {"runs_fraction_for_superblocks", 1.0 / PurgingRuns::beside_superblocks.fraction},
        {"heaps_for_each_processor", HeapsInUse::for_each_processor},
    };
    all["allocators"] = allocator_names();
    for (const Option &option : option_table) {
        const std::int64_t value = option.get(options_in_force());
        all["options"].push_back({{"name", option.name},
                                  {"value", option_text(option, value).characters},
                                  {"default", option_text(option, option.get(Options{})).characters},
                                  {"help", option.help}});
    }
    for (unsigned c = 0; c < Classes::count; ++c) {
        const std::size_t size = Classes::size_of(c);
        const std::size_t superblock = Limits::span_of_class(c);
        all["size_classes"].push_back(
            {{"block_size", size}, {"superblock", superblock}, {"blocks", superblock / size}});
    }
    return all;
}

void print(const Json &all) {
    const Json &bound = all["bound"];
    const auto text = [](const Json &value) { return value.get<std::string>(); };
    std::cout << "cairn " << text(all["version"]) << ", " << text(all["build"]["type"]) << ", built with "
              << text(all["build"]["compiler"]) << "\npage size " << all["system"]["page_size"]
              << ", transparent huge pages: " << text(all["system"]["transparent_huge_pages"])
              << "\n\nmemory for small blocks of one size class <= span ratio * ((U + unaccounted) / (1 - f) "
                 "+ P\ntimes the heap constant) + what is not touched yet; of several classes: docs/bound.md"
              << "\n  f              " << bound["f"] << "\n  K S            " << bound["ks"]
              << " bytes\n  superblock     " << bound["superblock_small"] << " bytes, "
              << "up to " << bound["superblock_longest"] << " for blocks over " << Classes::table_limit
              << "\n  unaccounted    " << bound["unaccounted"]
              << " of a superblock, at most: freed, and not counted as free yet"
              << "\n  span ratio     " << bound["span_ratio"]
              << ": a superblock's length by that of its blocks, at most"
              << "\n  heap constant  " << bound["heap_constant"] << " bytes: " << bound["in_bins"]
              << " free in bins or anywhere after a visit,\n                 " << bound["unlisted"]
              << " more before the next, " << bound["last_taken"] << " for the superblock taken last, "
              << bound["in_global_heap"] << " in the global heap,\n                 " << bound["pending"]
              << " / (1 - f) freed by others, with a notice on its way, " << bound["gathered"]
              << " / (1 - f) freed of others'\n                 superblocks and gathered, " << bound["heap"]
              << " for the heap itself"
              << "\n  not touched    " << bound["uncarved"] << " bytes for each heap, at most, and "
              << bound["huge_page"] << " of a huge page"
              << "\n  free runs      " << bound["runs_fraction"] << " of what is resident, or "
              << bound["runs_slack"] << " bytes; with cached mappings " << bound["runs_and_mappings_fraction"]
              << ", or\n                 " << bound["runs_and_mappings_slack"] << " bytes; for superblocks "
              << bound["runs_fraction_for_superblocks"] << ", or " << bound["runs_slack_for_superblocks"]
              << " bytes"
              << "\n\nallocators (cairn "
                 "run --allocator NAME)\n ";
    for (const Json &name : all["allocators"]) {
        std::cout << ' ' << text(name);
    }
    std::cout << "\n\noptions in force\n";
    for (const Json &option : all["options"]) {
        std::cout << "  " << std::left << std::setw(14) << text(option["name"]) << ' ' << std::setw(8)
                  << text(option["value"]) << ' ' << text(option["help"]) << '\n';
    }
    std::cout << "\nsize classes: " << all["size_classes"].size() << "\n  block size  superblock  blocks\n";
    for (const Json &row : all["size_classes"]) {
        std::cout << std::right << std::setw(12) << row["block_size"].get<std::size_t>() << std::setw(12)
                  << row["superblock"].get<std::size_t>() << std::setw(8) << row["blocks"].get<std::size_t>()
                  << '\n';
    }
}

} // namespace

int info(bool json) {
    const Json all = gather();
    if (json) {
        std::cout << json_text(all, 2);
    } else {
        print(all);
    }
    return 0;
}

} // namespace cairn::cli
