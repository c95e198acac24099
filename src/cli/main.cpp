// SPDX-License-Identifier: MIT
//
// The program `cairn`: see man/cairn.1.
#include <src/cli/commands.hpp>
#include <src/cli/lab.hpp>
#include <src/cli/output_file.hpp>
#include <src/cli/trace_file.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include <fcntl.h>
#include <unistd.h>

using namespace cairn::cli;

namespace {

/// Finds the program in the arguments: after "--", or else the first argument that is not an option. False after an
/// error message.
bool take_program(const CLI::App &command, char **mark, char **end, RunRequest &request) {
    request.command = command.remaining();
    if (request.command.empty() && mark != end) {
        request.command.assign(mark + 1, end);
    } else if (!request.command.empty() && request.command.front()[0] == '-') {
        std::cerr << "cairn: " << command.get_name() << ": unknown option '" << request.command.front()
                  << "'\n";
        return false;
    } else {
        request.command.insert(request.command.end(), mark, end);
    }
    return true;
}

/// Runs a subcommand; returns its exit status.
int run_word(int count, char **words) {
    // The scripts have their own options, including --help.
    if (const LabWord *const word = count > 1 ? find_lab_word(words[1]) : nullptr; word != nullptr) {
        return lab(*word, words + 2);
    }

    CLI::App app("Runs programs with the Cairn malloc, and says what it is.", "cairn");
    app.set_version_flag("--version", "cairn " CAIRN_VERSION);
    app.require_subcommand(1);

    const std::string word = count > 1 ? words[1] : "";
    app.failure_message([&](const CLI::App *, const CLI::Error &wrong) {
        const std::string whose = word.empty() || word[0] == '-' ? "" : word + ": ";
        return "cairn: " + whose + wrong.what() + " (--help lists the options)\n";
    });

    // An empty FILE, as from a shell variable that is not set.
    const auto is_named = [](const std::string &file) { return std::string(file.empty() ? "is empty" : ""); };
    const CLI::Range any_process(std::uint64_t{1}, most_images);

    RunRequest request;
    CLI::App *const run_command = app.add_subcommand("run", "Run a program with Cairn as its malloc");
    run_command->add_flag("--stats", request.statistics, "Print a summary of its memory when it ends");
    run_command->add_option(
        "--allocator", request.allocator,
        "Another allocator: NAME for libcairn-NAME.so, an installed peer, or a file PATH.so");
    run_command->prefix_command();
    run_command->footer("The program and its arguments stand behind --.");

    TraceRequest trace_request;
    CLI::App *const trace_command =
        app.add_subcommand("trace", "Run a program and record its calls of malloc");
    trace_command->add_option("-o,--output", trace_request.file, "The file to write")
        ->required()
        ->check(is_named);
    trace_command->add_option("--allocator", trace_request.run.allocator, "As for run");
    trace_command->prefix_command();
    trace_command->footer("The program and its arguments stand behind --.");

    std::string trace_path;
    std::uint64_t trace_process = 0;
    bool trace_json = false;
    CLI::App *const trace_info_command = app.add_subcommand("trace-info", "Say what is in a trace");
    trace_info_command->add_option("--process", trace_process, "Only this one; the program itself is 1")
        ->check(any_process);
    trace_info_command->add_flag(
        "--json", trace_json, "All figures of one process, the busiest if none is named, as a JSON object");
    trace_info_command->add_option("file", trace_path, "What cairn trace has written")
        ->required()
        ->check(is_named);

    ReplayRequest replay_request;
    CLI::App *const replay_command =
        app.add_subcommand("replay", "Make the calls of a trace again under other allocators");
    replay_command->add_option("file", replay_request.file, "What cairn trace has written")
        ->required()
        ->check(is_named);
    replay_command
        ->add_option("--allocators", replay_request.allocators,
                     "Names as for run, glibc, PATH.so or NAME=PATH.so, with commas in between")
        ->delimiter(',')
        ->required();
    replay_command->add_option("--process", replay_request.process, "Which one; the program itself is 1")
        ->check(any_process);
    replay_command->add_option("--repeat", replay_request.repeat, "Times for each allocator (3)")
        ->check(CLI::Range(1, 1000));
    replay_command
        ->add_option("--timeout", replay_request.timeout, "Seconds without progress that are too many (60)")
        ->check(CLI::Range(2, 86400));
    replay_command->add_flag_callback(
        "--no-touch", [&] { replay_request.touch = false; },
        "Write to both ends of a block only, not to all of its pages");
    replay_command->add_option("--json", replay_request.json, "A file for all that was measured")
        ->check(is_named);

    for (const LabWord &each : lab_words) {
        app.add_subcommand(each.word, each.summary);
    }

    bool json = false;
    CLI::App *const info_command = app.add_subcommand("info", "Print version, constants and options");
    info_command->add_flag("--json", json, "As a JSON object");

    const auto named = [&](CLI::App *each) { return each->get_name() == words[1]; };
    if (count > 1 && words[1][0] != '-' && app.get_subcommands(named).empty()) {
        std::cerr << "cairn: there is no word '" << words[1] << "'; see cairn --help\n";
        return wrong_usage;
    }
    // For subcommands that take a program, the arguments after the first "--" are the program's and are not parsed.
    char **const end = words + count;
    const auto is_mark = [](const char *each) { return std::strcmp(each, "--") == 0; };
    char **const mark = word == "run" || word == "trace" ? std::find_if(words, end, is_mark) : end;
    try {
        app.parse(static_cast<int>(mark - words), words);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : wrong_usage;
    }
    if (run_command->parsed()) {
        return take_program(*run_command, mark, end, request) ? run(request) : wrong_usage;
    }
    if (trace_command->parsed()) {
        return take_program(*trace_command, mark, end, trace_request.run) ? trace(trace_request)
                                                                          : wrong_usage;
    }
    if (trace_info_command->parsed()) {
        return trace_info(trace_path, trace_process, trace_json);
    }
    if (replay_command->parsed()) {
        return replay(replay_request);
    }
    return info(json);
}

/// If descriptor 0, 1 or 2 is closed, opens a placeholder: otherwise a file of this program could get the number, and
/// messages would be written to it. A program that this one becomes has the descriptors closed, as they were.
void keep_standard_numbers() {
    int number = 0;
    while ((number = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && number <= STDERR_FILENO) {
    }
    close(number);
}

bool output_is_written() {
    std::cout.flush();
    return std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

} // namespace

int main(int count, char **words) {
    keep_standard_numbers();
    try {
        const int status = run_word(count, words);
        if (status == 0 && !output_is_written()) {
            std::cerr << "cairn: standard output can not be written to\n";
            return 1;
        }
        return status;
    } catch (const std::bad_alloc &) {
        std::cerr << "cairn: there is not enough memory\n";
    } catch (const std::exception &why) { // for example because the working directory was removed
        std::cerr << "cairn: " << text_of(why) << '\n';
    }
    return 1;
}
