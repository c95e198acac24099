// SPDX-License-Identifier: MIT
//
// Processes that are stopped, continued and killed at random points of their work: one that is continued ends well, and
// neither the parent nor another process notices a death, whatever was in the middle.
#include "faults_work.hpp"

using namespace process_test;

int main(int argc, char **) {
    alarm(hang_limit);
    const unsigned rounds = argc > 1 ? 2000 : 12;
    unsigned killed = 0;
    for (unsigned n = 0; n < rounds; ++n) {
        Random random(n);
        const bool dies = random.below(3) == 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            do { // the one that is to be killed works until it is
                faults::work();
            } while (dies);
            _exit(faults::refused == 0 ? 0 : 1);
        }
        int status = 0;
        pid_t ended = 0;
        for (unsigned stops = 0; stops < 5 && ended == 0; ++stops) {
            sleep_seconds(static_cast<double>(random.below(8000)) * 1e-6);
            kill(child, SIGSTOP);
            sleep_seconds(static_cast<double>(random.below(500)) * 1e-6);
            kill(child, dies && stops == n % 5 ? SIGKILL : SIGCONT);
            ended = waitpid(child, &status, WNOHANG);
        }
        CHECK(ended == child || waitpid(child, &status, 0) == child);
        CHECK(dies ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0);
        killed += dies ? 1 : 0;
        faults::small_and_medium(n);
    }
    CHECK(killed > 0);
    dprintf(1, "%u of %u killed, the others ended well\n", killed, rounds);
}
