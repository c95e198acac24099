// SPDX-License-Identifier: MIT
#include <src/cli/executable.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include <elf.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cairn::cli {
namespace {

template <class Record>
bool read_at(std::ifstream &file, std::uint64_t offset, Record &record) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file.read(reinterpret_cast<char *>(&record), sizeof record));
}

bool read_elf(std::ifstream &file, Elf64_Ehdr &header) {
    return read_at(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}

/// The loader that the program names, which does the preloading; empty if the program names none.
std::optional<std::string> loader_of(std::ifstream &file, const Elf64_Ehdr &header) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!read_at(file, header.e_phoff + std::uint64_t{i} * header.e_phentsize, segment)) {
            return "";
        }
        if (segment.p_type == PT_INTERP) {
            std::string name;
            file.seekg(static_cast<std::streamoff>(segment.p_offset));
            std::getline(file, name, '\0');
            return name;
        }
    }
    return {};
}

/// Whether the program runs with other rights than its real user's, by the rules of the kernel: then the loader
/// preloads nothing. The file may raise them (set-user-ID, set-group-ID, capabilities), unless the kernel is told to
/// ignore that; or the caller of this process has them already.
bool raises_rights(const std::filesystem::path &program, const struct stat &about) {
    struct statvfs system{};
    const bool file_counts = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
                             (statvfs(program.c_str(), &system) != 0 || (system.f_flag & ST_NOSUID) == 0);
    constexpr mode_t of_its_group = S_ISGID | S_IXGRP;
    const bool of_its_user = file_counts && (about.st_mode & S_ISUID) != 0;
    const bool of_its_own_group = file_counts && (about.st_mode & of_its_group) == of_its_group;
    return (of_its_user ? about.st_uid : geteuid()) != getuid() ||
           (of_its_own_group ? about.st_gid : getegid()) != getgid() ||
           (file_counts && getuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0);
}

/// The bytes of a section; "" if they are not there, or more than any program has.
std::string contents_of(std::ifstream &file, const Elf64_Shdr &section) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    std::string contents;
    file.clear();
    file.seekg(0, std::ios::end);
    const auto length = static_cast<std::uint64_t>(file.tellg());
    if (section.sh_offset <= length && section.sh_size <= std::min(most, length - section.sh_offset)) {
        contents.resize(section.sh_size);
        file.seekg(static_cast<std::streamoff>(section.sh_offset));
        file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
    }
    return contents;
}

/// Whether the program has a malloc that it shows to the loader, which finds it before any library's.
bool defines_malloc(std::ifstream &file, const Elf64_Ehdr &header) {
    const auto section = [&](std::uint64_t number, Elf64_Shdr &to) {
        return read_at(file, header.e_shoff + number * header.e_shentsize, to);
    };
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr symbols{};
        Elf64_Shdr names{};
        if (!section(i, symbols)) {
            return false;
        }
        if (symbols.sh_type != SHT_DYNSYM || !section(symbols.sh_link, names)) {
            continue;
        }
        const std::string table = contents_of(file, symbols);
        const std::string text = contents_of(file, names);
        for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol{};
            std::memcpy(&symbol, table.data() + at, sizeof symbol);
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < text.size() &&
                std::strcmp(text.c_str() + symbol.st_name, "malloc") == 0) {
                return true;
            }
        }
    }
    return false;
}

std::string look_at_elf(const std::filesystem::path &program, std::ifstream &file, const Elf64_Ehdr &header) {
    std::ifstream own("/proc/self/exe", std::ios::binary);
    Elf64_Ehdr own_header{};
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        (read_elf(own, own_header) && header.e_machine != own_header.e_machine)) {
        return "it is a program for another kind of processor";
    }
    std::error_code ignored;
    const bool is_loader =
        std::filesystem::equivalent(program, loader_of(own, own_header).value_or(""), ignored);
    if (is_loader) {
        return "";
    }
    if (!loader_of(file, header)) {
        return "it is statically linked";
    }
    return defines_malloc(file, header) ? "it defines malloc itself, which goes before a library's" : "";
}

/// The first line of a script, as much of it as the kernel reads.
std::string first_line_of(std::ifstream &file) {
    char start[256];
    file.clear();
    file.seekg(0);
    file.read(start, sizeof start);
    const std::string text(start, static_cast<std::size_t>(file.gcount()));
    return text.substr(0, text.find('\n'));
}

/// `scripts`: how many interpreters may be scripts themselves; the kernel follows as many.
std::string why_not_preloaded(const std::filesystem::path &program, int scripts) {
    struct stat about{};
    if (stat(program.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return "";
    }
    std::ifstream file(program, std::ios::binary);
    Elf64_Ehdr header{};
    const bool is_elf = read_elf(file, header);
    const std::string first_line = is_elf ? "" : first_line_of(file);
    if (first_line.rfind("#!", 0) != 0) {
        if (raises_rights(program, about)) {
            return "it runs with rights that you have not, so the loader preloads nothing";
        }
        return is_elf ? look_at_elf(program, file, header) : "";
    }
    const std::size_t from = first_line.find_first_not_of(" \t", 2);
    if (from == std::string::npos) {
        return "";
    }
    const std::size_t to = first_line.find_first_of(" \t\r", from);
    const std::filesystem::path interpreter = first_line.substr(from, to - from);
    return scripts == 0 ? "" : why_not_preloaded(interpreter, scripts - 1);
}

} // namespace

std::string why_not_preloaded(const std::filesystem::path &program) {
    return why_not_preloaded(program, 4);
}

bool is_library(const std::filesystem::path &file) {
    std::ifstream contents(file, std::ios::binary);
    Elf64_Ehdr header{};
    return read_elf(contents, header) && header.e_type == ET_DYN;
}

} // namespace cairn::cli
