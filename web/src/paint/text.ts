// SPDX-License-Identifier: Apache-2.0
//
// Text in boxes: how much of a name fits is looked up, not measured, once the widths of the letters are known.

export type Measure = (text: string) => number;

export class TextFit {
	private readonly widths = new Map<string, number>();
	private readonly fitted = new Map<string, string>();

	constructor(private readonly measure: Measure) {}

	widthOf(letter: string): number {
		let width = this.widths.get(letter);
		if (width === undefined) {
			width = this.measure(letter);
			this.widths.set(letter, width);
		}
		return width;
	}

	/** The text, or its beginning and "…", or nothing when not even three letters fit. */
	fit(text: string, width: number): string {
		const key = `${Math.floor(width / 4)} ${text}`;
		const known = this.fitted.get(key);
		if (known !== undefined) return known;
		if (this.fitted.size > 20000) this.fitted.clear();
		const result = this.cut(text, Math.floor(width / 4) * 4);
		this.fitted.set(key, result);
		return result;
	}

	private cut(text: string, width: number): string {
		const dots = this.widthOf("…");
		let used = 0;
		let keep = 0;
		for (let i = 0; i < text.length; i++) {
			used += this.widthOf(text[i]!);
			if (used + dots <= width) keep = i + 1;
			if (used > width) return keep >= 3 ? `${text.slice(0, keep)}…` : "";
		}
		return text;
	}
}
