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
        const busy = 'require(\"worker_threads\").parentPort.postMessage(1); ' +
            'let a = []; for (;;) { a.push(Buffer.alloc(10000)); if (a.length > 100) a = []; }';
        const workers = [1, 2, 3].map(() => new Worker(busy, { eval: true }));
        // Once they are in it: one that is stopped before it has begun ends with another status.
        Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve)))).then(async () => {
            console.log(await workers[0].terminate(), await workers[1].terminate());
            process.exit(0);
        });"
}

compare work
loaded node
