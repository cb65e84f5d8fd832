/** The beginning of a line that begins a block of code, or ends one if nothing follows the marks. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** A line that cannot continue a list, a quote or another block before the empty line above it. */
const BEGINNING = /^[^\s>*+\-\d[|<:]/;

/** A line that other parts of the text refer to: `[name]: address`, or a footnote. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * Returns the parts of a Markdown text that can be drawn one by one, with the same result as the whole text. While a text grows, only its last
 * part changes, so a page draws the others once.
 */
export function markdownBlocks(text: string): readonly string[] {
  if (DEFINITION.test(text)) return [text];
  const blocks: string[] = [];
  let block = '';
  let fence: string | undefined;
  let isAfterEmpty = false;
  for (const line of text.split(/(?<=\n)/)) {
    const [marks = '', found] = FENCE.exec(line) ?? [];
    const info = line.slice(marks.length);
    // Text between marks is code in a line.
    const mark = found?.startsWith('`') && info.includes('`') ? undefined : found;
    if (fence === undefined && isAfterEmpty && (mark !== undefined || BEGINNING.test(line))) {
      blocks.push(block);
      block = '';
    }
    block += line;
    if (fence === undefined) fence = mark;
    // A block ends with at least as many marks as it began with.
    else if (mark?.startsWith(fence) && info.trim() === '') fence = undefined;
    isAfterEmpty = line.trim() === '';
  }
  return [...blocks, block];
}
