#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# node: JSON, buffers, the thread pool, worker threads (terminated too), children, forced garbage collection.
. "$(dirname "$0")/lib/common.sh"
need node nodejs

work() {
    node --expose-gc "$inputs/work.mjs"
    # Workers that are stopped in the middle of their work, and an exit with threads still running.
    node -e "
        const { Worker } = require('worker_threads');
        const busy = 'let a = []; for (;;) { a.push(Buffer.alloc(10000)); if (a.length > 100) a = []; }';
        const workers = [1, 2, 3].map(() => new Worker(busy, { eval: true }));
        setTimeout(async () => {
            console.log(await workers[0].terminate(), await workers[1].terminate());
            process.exit(0);
        }, 400);"
}

compare work
loaded node
