// SPDX-License-Identifier: MIT
#include <src/cli/executable.hpp>

#include <cstring>
#include <fstream>

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::cli {
namespace {

template <class Record>
bool read_at(std::ifstream &file, std::uint64_t offset, Record &record) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file.read(reinterpret_cast<char *>(&record), sizeof record));
}

/// The machine of this program's own code.
Elf64_Half own_machine() {
    std::ifstream own("/proc/self/exe", std::ios::binary);
    Elf64_Ehdr header{};
    return read_at(own, 0, header) ? header.e_machine : Elf64_Half{EM_NONE};
}

bool read_elf(std::ifstream &file, Elf64_Ehdr &header) {
    return read_at(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}

std::string look_at_elf(std::ifstream &file, const Elf64_Ehdr &header) {
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != own_machine()) {
        return "it is a program for another kind of processor";
    }
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!read_at(file, header.e_phoff + std::uint64_t{i} * header.e_phentsize, segment) ||
            segment.p_type == PT_INTERP) {
            return "";
        }
    }
    return "it is statically linked";
}

/// `scripts`: how many interpreters may be scripts themselves, as many as the kernel follows.
std::string why_not_preloaded(const std::filesystem::path &program, int scripts) {
    struct stat about{};
    if (stat(program.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return "";
    }
    const bool other_user = (about.st_mode & S_ISUID) != 0 && about.st_uid != getuid();
    const bool other_group = (about.st_mode & S_ISGID) != 0 && about.st_gid != getgid();
    if (other_user || other_group) {
        return "it runs with the rights of another user, so the loader preloads nothing";
    }
    std::ifstream file(program, std::ios::binary);
    Elf64_Ehdr header{};
    if (read_elf(file, header)) {
        return look_at_elf(file, header);
    }
    file.clear();
    file.seekg(0);
    std::string first_line;
    std::getline(file, first_line);
    if (first_line.rfind("#!", 0) != 0) {
        return "";
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
