// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { start_session } from "./api/client";
import { listen } from "./commands/commands";
import { learn_layout } from "./commands/keys";
import { Shell } from "./shell/Shell";
import { start_theme } from "./theme/theme";

start_theme();
listen();
void learn_layout();
void start_session();
const root = document.getElementById("app");
if (root) render(<Shell />, root);
