// SPDX-License-Identifier: Apache-2.0
//
// What surrounds every page: rail, top bar, drawer, layers above, and the commands that work everywhere.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { events, online, progress, session } from "../api/client";
import { load_meta } from "../api/meta";
import { refreshResults } from "../api/use";
import { register } from "../commands/commands";
import { DrawerLayer, drawerIsOpen, hideDrawer } from "../components/Drawer";
import { Help } from "../components/Help";
import { MenuLayer } from "../components/Menu";
import { Palette } from "../components/Palette";
import { ToastLayer } from "../components/Toast";
import { TooltipLayer } from "../components/Tooltip";
import { pages } from "../pages/pages";
import { go, view } from "../state/view";
import { choice, scheme, setTheme } from "../theme/theme";
import { LogIn } from "./LogIn";
import { PageHost } from "./PageHost";
import { Rail } from "./Rail";
import { focusSearch, TopBar } from "./TopBar";

const dialog = signal<"palette" | "help" | null>(null);

export function showHelp(): void {
	dialog.value = "help";
}

export function showPalette(): void {
	dialog.value = "palette";
}

function close_dialog(): void {
	dialog.value = null;
}

/** Pages of the rail have the digits, in order. */
function page_commands() {
	return pages.map((page, index) => ({
		id: `page.${page.id}`,
		title: `Go to ${page.title}`,
		keys: index < 9 ? [`Alt+Digit${index + 1}`] : index === 9 ? ["Alt+Digit0"] : [],
		scope: "Pages",
		inFields: true,
		run: () => {
			if (!page.needsResult || view.value.result) go(page.id);
		},
	}));
}

function shell_commands() {
	const everywhere = { scope: "Everywhere" };
	const shown = { ...everywhere, inFields: true };
	return register(
		{ ...everywhere, id: "help", title: "Show the keys", keys: ["Shift+Slash"], run: showHelp },
		{
			...shown,
			id: "palette",
			title: "Find anything: commands, pages, functions, operators, tasks, lines, threads",
			keys: ["Ctrl+Shift+KeyP", "Ctrl+KeyK"],
			run: showPalette,
		},
		{ ...everywhere, id: "search", title: "Search", keys: ["Slash"], run: focusSearch },
		{ ...everywhere, id: "drawer.close", title: "Close the details", keys: ["KeyQ"], run: hideDrawer },
		{
			...everywhere,
			id: "theme",
			title: "Switch between light and dark",
			run: () => setTheme(scheme.value === "dark" ? "light" : "dark"),
		},
		{ ...everywhere, id: "theme.system", title: "Light or dark as the system", run: () => setTheme("system") },
		{
			...everywhere,
			id: "undo",
			title: "Undo the last change of the view",
			keys: ["Alt+ArrowLeft"],
			run: () => history.back(),
		},
		...page_commands(),
	);
}

function Banner() {
	if (!online.value)
		return (
			<div class="banner bad" role="alert">
				The server does not answer: what you see is the last it sent. It is asked again until it does.
			</div>
		);
	const [job] = progress.value.values();
	if (!job) return null;
	return (
		<div class="banner" role="status">
			<span>{job.what || "Computing"}</span>
			<progress value={job.ratio || undefined} max={1} aria-label="Progress" />
			<button type="button" class="button" onClick={job.cancel}>
				Cancel
			</button>
		</div>
	);
}

/** The list of results is kept fresh; a server that went away is asked again. */
function useServer(open: boolean) {
	useEffect(() => {
		if (!open) return;
		void refreshResults();
		void load_meta();
		return events((kind) => {
			if (kind === "results" || kind === "collection") void refreshResults();
		});
	}, [open]);
	const is_online = online.value;
	useEffect(() => {
		if (is_online) return;
		const timer = setInterval(() => void refreshResults(), 2000);
		return () => clearInterval(timer);
	}, [is_online]);
}

export function Shell() {
	useEffect(shell_commands, []);
	const open = session.value === "open";
	useServer(open);
	const chosen = choice.value;
	if (!open && session.value !== "unknown") return <LogIn />;
	return (
		<div class={drawerIsOpen() ? "shell with-drawer" : "shell"} data-theme-choice={chosen}>
			<a class="skip" href="#main">
				Skip to the page
			</a>
			<Rail />
			<TopBar />
			<main id="main" tabIndex={-1}>
				<Banner />
				{open && <PageHost />}
			</main>
			<DrawerLayer />
			<MenuLayer />
			<TooltipLayer />
			<ToastLayer />
			{dialog.value === "palette" && <Palette close={close_dialog} />}
			{dialog.value === "help" && <Help close={close_dialog} />}
		</div>
	);
}
