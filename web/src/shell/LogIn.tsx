// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { arrival, log_in, session } from "../api/client";
import { problem_of } from "../api/problem";

function sentence(failure: unknown): string {
	const problem = problem_of(failure);
	return [problem.detail || problem.message, problem.hint].filter(Boolean).join(" ");
}

interface SecretProps {
	label: string;
	value: string;
	complete: "off" | "new-password" | "current-password";
	set: (text: string) => void;
}

function Secret({ label, value, complete, set }: SecretProps) {
	return (
		<label>
			{label}
			<input
				class="field wide"
				type="password"
				autocomplete={complete}
				value={value}
				onInput={(event) => set(event.currentTarget.value)}
			/>
		</label>
	);
}

/** Asks for what the server wants: the token that it printed, the passphrase, or with the token a new one. */
export function LogIn() {
	const brought = arrival.value;
	const [token, setToken] = useState(brought.token);
	const [passphrase, setPassphrase] = useState("");
	const [again, setAgain] = useState("");
	const [error, setError] = useState(brought.problem ? sentence(brought.problem) : "");
	const wants = session.value;
	const is_new = wants === "new-passphrase";
	const submit = async (event: Event) => {
		event.preventDefault();
		if (is_new && passphrase !== again) return setError("The two passphrases differ.");
		try {
			await log_in({
				...(wants === "passphrase" ? {} : { token: token_of(token) }),
				...(wants === "token" ? {} : { passphrase }),
			});
		} catch (failure) {
			setError(sentence(failure));
		}
	};
	return (
		<main class="log-in">
			<form onSubmit={submit}>
				<img src="/icon.svg" alt="" width={40} height={40} />
				<h1>Strata</h1>
				{wants === "token" && (
					<p>
						The page opens with the whole address that strata serve printed. Pressing Enter where it runs
						prints a new one.
					</p>
				)}
				{is_new && <p>This is the first visit: choose a passphrase of at least eight letters.</p>}
				{(wants === "token" || (is_new && !brought.token)) && (
					<Secret
						label="Token, or the whole address that was printed"
						value={token}
						complete="off"
						set={setToken}
					/>
				)}
				{wants !== "token" && (
					<Secret
						label="Passphrase"
						value={passphrase}
						complete={is_new ? "new-password" : "current-password"}
						set={setPassphrase}
					/>
				)}
				{is_new && <Secret label="The same again" value={again} complete="new-password" set={setAgain} />}
				{error && (
					<p class="bad" role="alert">
						{error}
					</p>
				)}
				<button type="submit" class="button primary">
					Open
				</button>
			</form>
		</main>
	);
}

export function token_of(text: string): string {
	const match = /[#&?]token=([^&\s]+)/.exec(text);
	return match ? decodeURIComponent(match[1]!) : text.trim();
}
