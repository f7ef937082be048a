// SPDX-License-Identifier: Apache-2.0
//
// Marks on the time axis, and how the address holds them: "NS" or "NSk" (one that stays), then ".NOTE", joined by "~".

export interface Mark {
	ns: number;
	kept: boolean; // until it is taken away; another replaces the one that is not
	note: string;
}

export function marksText(marks: Mark[]): string {
	const note = (text: string) => (text ? `.${encodeURIComponent(text).replace(/~/g, "%7E")}` : "");
	return marks.map((mark) => `${mark.ns}${mark.kept ? "k" : ""}${note(mark.note)}`).join("~");
}

export function parseMarks(text: string | undefined): Mark[] {
	const found: Mark[] = [];
	for (const part of (text ?? "").split("~")) {
		const match = /^(\d+)(k?)(?:\.(.*))?$/.exec(part);
		if (!match) continue;
		try {
			found.push({ ns: Number(match[1]), kept: match[2] === "k", note: decodeURIComponent(match[3] ?? "") });
		} catch {
			// An address that was cut has a note that cannot be read.
		}
	}
	return found;
}
