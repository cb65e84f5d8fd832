/**
 * Matches a block of code that quotes a file of this repository, or a declaration in one: `<!-- quote: path#name -->`.
 */
const QUOTE = /^(<!-- quote: ([^\s#]+)(?:#(\w+))? -->\n```\w*\n)([\s\S]*?)(^```$)/gm;
const MARK = /^<!-- quote: .*-->$/gm;

/**
 * A guide with each of its quotes as the quoted file is now.
 * @throws TypeError for a mark that no block of code follows, and for a declaration that is not in its file
 */
export function withCurrentQuotes(guide: string, read: (path: string) => string): string {
  const quotes = guide.match(QUOTE)?.length ?? 0;
  const marks = guide.match(MARK)?.length ?? 0;
  if (quotes !== marks) throw new TypeError(`${marks - quotes} of ${marks} marks stand before no block of code`);
  return guide.replace(
    QUOTE,
    (_, opening: string, path: string, name: string | undefined, __, closing: string) =>
      opening + (name === undefined ? read(path) : declaration(path, name, read(path))) + closing,
  );
}

/** A declaration at the top of a file: from its line to the first one that ends it, which the formatter has not indented. */
function declaration(path: string, name: string, text: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) =>
    new RegExp(`^(export )?(async )?(const|function|class) ${name}\\b`).test(line),
  );
  if (start < 0) throw new TypeError(`${path} declares no ${name}`);
  const isWhole = lines[start]?.endsWith(';') === true;
  const end = isWhole ? start : lines.findIndex((line, at) => at > start && /^\S/.test(line));
  return `${lines.slice(start, end + 1).join('\n')}\n`;
}
