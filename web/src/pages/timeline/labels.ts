// SPDX-License-Identifier: Apache-2.0
//
// The names of labels, asked for when they are first drawn, many at a time; and for the painter, by number of label, the
// shade of a name and whether it matches a search.
import { MIDDLE_SHADE, shadeOfName } from "../../paint/palette";

export interface Label {
	id: number;
	name: string;
	domain?: string;
	category?: number;
}

const PER_REQUEST = 2000;
const HIGHEST = 1 << 24; // beyond it a label has the middle shade

export class Labels {
	shades = new Uint8Array(0);
	found: Uint8Array | null = null;
	private readonly known = new Map<number, Label>();
	private readonly asked = new Set<number>();
	private wanted: number[] = [];
	private busy = false;
	private search = "";

	constructor(
		private readonly fetchLabels: (ids: number[]) => Promise<Label[]>,
		private readonly onArrival: () => void,
	) {}

	/** The name, or undefined: it is on its way. */
	get(id: number): Label | undefined {
		const label = this.known.get(id);
		if (!label && !this.asked.has(id)) {
			this.asked.add(id);
			this.wanted.push(id);
			if (!this.busy) void this.fetch();
		}
		return label;
	}

	name(id: number): string {
		return this.get(id)?.name ?? "";
	}

	/** Marks the labels with this text; an empty one marks nothing. */
	setSearch(text: string): void {
		this.search = text.toLowerCase();
		this.found = text ? new Uint8Array(this.shades.length) : null;
		for (const label of this.known.values()) this.mark(label);
	}

	private mark(label: Label): void {
		if (this.found && label.id < this.found.length)
			this.found[label.id] = label.name.toLowerCase().includes(this.search) ? 1 : 0;
	}

	private grow(id: number): void {
		if (id < this.shades.length || id >= HIGHEST) return;
		const size = Math.max(1024, 2 ** Math.ceil(Math.log2(id + 1)));
		const shades = new Uint8Array(size).fill(MIDDLE_SHADE);
		shades.set(this.shades);
		this.shades = shades;
		if (this.found) {
			const found = new Uint8Array(size);
			found.set(this.found);
			this.found = found;
		}
	}

	private async fetch(): Promise<void> {
		this.busy = true;
		// Everything that one frame asks for goes in one request.
		await Promise.resolve();
		while (this.wanted.length) {
			const ids = this.wanted.splice(0, PER_REQUEST);
			try {
				for (const label of await this.fetchLabels(ids)) {
					this.known.set(label.id, label);
					this.grow(label.id);
					if (label.id < this.shades.length) this.shades[label.id] = shadeOfName(label.name);
					this.mark(label);
				}
			} catch {
				// The boxes stay without names; tiles that fail as well say why.
			}
			this.onArrival();
		}
		this.busy = false;
	}
}
