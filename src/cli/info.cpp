// SPDX-License-Identifier: MIT
//
// `cairn info`: version, build, system, size classes, the constants of the bound, options. Every figure is
// the code's own constant.
#include <src/cli/commands.hpp>
#include <src/cli/libraries.hpp>

#include <allocators/cairn.hpp>
#include <src/malloc/option_text.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <iomanip>
#include <iostream>

namespace cairn::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Only the constants of the flagship are asked for; it is never made here.
struct NoLife {
    static bool attached() noexcept { return false; }
    static void grew() noexcept {}
    static void surplus() noexcept {}
};
using Allocator = Flagship<NoLife>;
using Classes = Allocator::SizeClasses;
using Discipline = Allocator::Emptiness;

constexpr std::size_t superblock_bytes(unsigned size_class) {
    return slot_size * Allocator::Level::Global::Maker::slots_of_class(size_class);
}

/// What there may be for each heap besides K S: the same once more in the global heap, what is free in the bins,
/// and the heap itself.
constexpr std::size_t heap_constant() {
    return Discipline::slack + Discipline::bins_slack + Discipline::bins_step + sizeof(Allocator::Heap);
}

/// The word in brackets of the kernel's setting.
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
        {"f", static_cast<double>(Discipline::numerator) / static_cast<double>(Discipline::denominator)},
        {"ks", Discipline::slack},
        {"superblock_small", slot_size},
        {"superblock_longest", superblock_bytes(Classes::count - 1)},
        {"heap_constant", heap_constant()},
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
        const std::size_t superblock = superblock_bytes(c);
        all["size_classes"].push_back(
            {{"block_size", size}, {"superblock", superblock}, {"blocks", superblock / size}});
    }
    return all;
}

void print(const Json &all) {
    const Json &bound = all["bound"];
    const auto text = [](const Json &value) { return value.get<std::string>(); };
    std::cout
        << "cairn " << text(all["version"]) << ", " << text(all["build"]["type"]) << ", built with "
        << text(all["build"]["compiler"]) << "\npage size " << all["system"]["page_size"]
        << ", transparent huge pages: " << text(all["system"]["transparent_huge_pages"])
        << "\n\nmemory for small blocks <= U / (1 - f) + P (K S + heap constant), U the peak of live bytes, "
           "P the heaps\n"
        << "  f              " << bound["f"] << "\n  K S            " << bound["ks"]
        << " bytes\n  superblock     " << bound["superblock_small"] << " bytes, "
        << "up to " << bound["superblock_longest"] << " for blocks over " << Classes::table_limit
        << "\n  heap constant  " << bound["heap_constant"]
        << " bytes: K S in the global heap, free blocks in the bins, the heap itself\n\nallocators (cairn "
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
        std::cout << all.dump(2) << '\n';
    } else {
        print(all);
    }
    std::cout.flush();
    return std::cout.good() ? 0 : 1;
}

} // namespace cairn::cli
