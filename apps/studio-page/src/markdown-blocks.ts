/** The beginning of a line that begins a block of code, or ends one if nothing follows the marks. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** A line that cannot continue a list, a quote or another block before the empty line above it. */
const BEGINNING = /^[^\s>*+\-\d[|<:]/;

/** A line that other parts of the text refer to: `[name]: address`, or a footnote. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * Returns the parts of a Markdown text that can be drawn one by one, with the same result as the whole text. While a
 * text grows, only its last part changes, so a page draws the others once.
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

/** The beginning of a line of quotes and lists: indentation, and marks that begin a quote or an item. */
const NESTING = /^(?:[ \t]|>|[*+-](?=[ \t])|\d{1,9}[.)](?=[ \t]))*/;

/** Maximum length of the beginning of a line of quotes and lists, which is at least their depth. */
const MAX_NESTING = 100;

/** Maximum number of marks in a block. The parser compares marks of emphasis and of links with all earlier ones. */
const MAX_MARKS = 4000;

/** Maximum length of a block, in characters. */
const MAX_LENGTH = 50_000;

/** True for a block that can be drawn as Markdown in reasonable time, and without too many calls in each other. */
export function isDrawable(block: string): boolean {
  if (block.length > MAX_LENGTH) return false;
  let marks = 0;
  for (const char of block) if ('*_[]~'.includes(char)) marks++;
  return marks <= MAX_MARKS && !block.split('\n').some((line) => nestingOf(line) > MAX_NESTING);
}

function nestingOf(line: string): number {
  const [nesting = ''] = NESTING.exec(line) ?? [];
  // Indentation alone continues a block.
  return nesting.trim() === '' ? 0 : nesting.length;
}
