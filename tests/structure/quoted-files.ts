/** What stands before a block of code that is a file of this repository: `<!-- quote: path -->`. */
const QUOTE = /^(<!-- quote: (\S+) -->\n```\w*\n)([\s\S]*?)(^```$)/gm;
const MARK = /^<!-- quote: .*-->$/gm;

/**
 * A guide with each of its quotes as the quoted file is now.
 * @throws TypeError for a mark that no block of code follows
 */
export function withCurrentQuotes(guide: string, read: (path: string) => string): string {
  const quotes = guide.match(QUOTE)?.length ?? 0;
  const marks = guide.match(MARK)?.length ?? 0;
  if (quotes !== marks) throw new TypeError(`${marks - quotes} of ${marks} marks stand before no block of code`);
  return guide.replace(
    QUOTE,
    (_, opening: string, path: string, __, closing: string) => opening + read(path) + closing,
  );
}
