// SPDX-License-Identifier: Apache-2.0
//
// The fifteen interactions, and what else timeline and flame graph do, in one browser: the token in the address of a
// server is good for one log-in.
"use strict";

const { run_cases } = require("./page_run.js");

run_cases({ ...require("./interactions.js").cases, ...require("./timeline.js").cases, ...require("./flame.js").cases });
