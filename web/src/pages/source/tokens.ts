// SPDX-License-Identifier: Apache-2.0
//
// Colours for source lines: keywords, texts, numbers and comments of Python, C and C++, and of assembly. A line at a
// time, with what a line leaves open (a comment, a long text) handed to the next. Small, so no library is loaded.

export type TokenKind = "" | "keyword" | "text" | "number" | "comment" | "name";
export type Token = [TokenKind, string];
/** What a line leaves open: the mark that ends it. */
export type Open = "" | '"""' | "'''" | "*/";

export type Language = "python" | "c" | "asm";

const WORDS: Record<Language, Set<string>> = {
	python: new Set(
		"and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield".split(
			" ",
		),
	),
	c: new Set(
		"alignas auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false float for friend goto if inline int int16_t int32_t int64_t int8_t long namespace new noexcept nullptr operator override private protected public register return short signed size_t sizeof static static_cast struct switch template this throw true try typedef typename uint16_t uint32_t uint64_t uint8_t union unsigned using virtual void volatile while".split(
			" ",
		),
	),
	asm: new Set(),
};

const PATTERN: Record<Language, RegExp> = {
	python: /(#.*$)|("""|'''|[rbfuRBFU]{0,2}"(?:\\.|[^"\\])*"?|[rbfuRBFU]{0,2}'(?:\\.|[^'\\])*'?)|(\b\d[\w.]*)|([A-Za-z_]\w*)|(@[\w.]+)/g,
	c: /(\/\/.*$|\/\*)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(\b\d[\w.']*)|([A-Za-z_]\w*)|(^\s*#\s*\w+)/g,
	asm: /(;.*$)|("[^"]*")|(\b0x[0-9a-f]+\b|\b\d+\b)|([a-z_][\w.]*)|(%\w+)/gi,
};

export function language_of(file: string): Language {
	return /\.pyx?$|<frozen/.test(file) ? "python" : "c";
}

function rest_of_open(line: string, open: Open): { tokens: Token[]; from: number; open: Open } {
	const end = line.indexOf(open);
	const kind: TokenKind = open === "*/" ? "comment" : "text";
	if (end < 0) return { tokens: [[kind, line]], from: line.length, open };
	return { tokens: [[kind, line.slice(0, end + open.length)]], from: end + open.length, open: "" };
}

/** The tokens of a line, and what it leaves open; together the tokens are the line. */
export function tokens_of(line: string, language: Language, open: Open = ""): { tokens: Token[]; open: Open } {
	const start = open ? rest_of_open(line, open) : { tokens: [] as Token[], from: 0, open: "" as Open };
	const { tokens } = start;
	if (start.open) return { tokens, open: start.open };
	const pattern = new RegExp(PATTERN[language]);
	let at = start.from;
	pattern.lastIndex = at;
	for (let match = pattern.exec(line); match; match = pattern.exec(line)) {
		if (match.index > at) tokens.push(["", line.slice(at, match.index)]);
		at = match.index + match[0].length;
		const long: Open = match[1] === "/*" ? "*/" : match[2] === '"""' || match[2] === "'''" ? match[2] : "";
		if (long) {
			const inner = rest_of_open(line.slice(at), long);
			tokens.push([long === "*/" ? "comment" : "text", match[0] + (inner.tokens[0]?.[1] ?? "")]);
			if (inner.open) return { tokens, open: inner.open };
			at += inner.from;
			pattern.lastIndex = at;
			continue;
		}
		tokens.push([kind_of(match, language, at === match[0].length || !tokens.length), match[0]]);
	}
	if (at < line.length) tokens.push(["", line.slice(at)]);
	return { tokens, open: "" };
}

function kind_of(match: RegExpExecArray, language: Language, first: boolean): TokenKind {
	if (match[1]) return "comment";
	if (match[2]) return "text";
	if (match[3]) return "number";
	if (match[5]) return "name";
	if (language === "asm") return first ? "keyword" : "name";
	return WORDS[language].has(match[4] ?? "") ? "keyword" : "";
}

/** Each line of a file with what the one before left open. */
export function tokens_of_file(lines: string[], language: Language): Token[][] {
	let open: Open = "";
	return lines.map((line) => {
		const done = tokens_of(line, language, open);
		open = done.open;
		return done.tokens;
	});
}
