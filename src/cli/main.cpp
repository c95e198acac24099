// SPDX-License-Identifier: MIT
//
// The program `cairn`: see man/cairn.1.
#include <src/cli/commands.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>

using namespace cairn::cli;

int main(int count, char **words) {
    CLI::App app("Runs programs with the Cairn malloc, and says what it is.", "cairn");
    app.set_version_flag("--version", "cairn " CAIRN_VERSION);
    app.require_subcommand(1);

    RunRequest request;
    CLI::App *const run_command = app.add_subcommand("run", "Run a program with Cairn as its malloc");
    run_command->add_flag("--stats", request.statistics, "Print a summary of its memory when it ends");
    run_command->add_option("--allocator", request.allocator,
                            "Another allocator: NAME for libcairn-NAME.so, or a file PATH.so");
    run_command->prefix_command();
    run_command->footer("The program and its arguments stand behind --.");

    bool json = false;
    CLI::App *const info_command = app.add_subcommand("info", "Print version, constants and options");
    info_command->add_flag("--json", json, "As a JSON object");

    // What stands behind the first "--" is the program's own and is not to be looked at.
    char **const end = words + count;
    char **const mark = std::find_if(words, end, [](const char *w) { return std::strcmp(w, "--") == 0; });
    try {
        app.parse(static_cast<int>(mark - words), words);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : wrong_usage;
    }
    if (run_command->parsed()) {
        // Without a "--" in front of it the program is the first word that is no option.
        request.command = run_command->remaining();
        if (request.command.empty() && mark != end) {
            request.command.assign(mark + 1, end);
        } else if (!request.command.empty() && request.command.front()[0] == '-') {
            std::cerr << "cairn: run: unknown option '" << request.command.front() << "'\n";
            return wrong_usage;
        } else {
            request.command.insert(request.command.end(), mark, end);
        }
        return run(request);
    }
    return info(json);
}
