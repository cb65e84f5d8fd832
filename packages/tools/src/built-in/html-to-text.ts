/** Elements whose content is not text. */
const HIDDEN: ReadonlySet<string> = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe']);

/** Elements within a line of text. All other elements begin a new line. */
const INLINE: ReadonlySet<string> = new Set(
  'a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/**
 * Returns the text of a page: one line for each block, without scripts, styles and comments. Takes linear time, even if
 * tags are not closed.
 */
export function htmlToText(html: string): string {
  // Names are compared in lower case. Only ASCII letters are converted, so that positions stay valid.
  const lower = html.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  let text = '';
  let position = 0;
  for (let open = html.indexOf('<'); open >= 0; open = html.indexOf('<', position)) {
    text += html.slice(position, open);
    if (lower.startsWith('<!--', open)) {
      position = after(html, '-->', open + 4);
      continue;
    }
    const isEnd = html[open + 1] === '/';
    const name = nameAt(lower, isEnd ? open + 2 : open + 1);
    if (name === '' && html[open + 1] !== '!') {
      text += '<';
      position = open + 1;
      continue;
    }
    position = after(html, '>', open);
    if (!INLINE.has(name)) text += '\n';
    if (!isEnd && HIDDEN.has(name)) position = after(html, '>', after(lower, `</${name}`, position));
  }
  return tidy(decodeEntities(text + html.slice(position)));
}

/** Returns the position after the next occurrence, or the end of the text. */
function after(text: string, part: string, from: number): number {
  const found = text.indexOf(part, from);
  return found < 0 ? text.length : found + part.length;
}

/** Returns the name of the element that begins here; empty if none does. */
function nameAt(lower: string, from: number): string {
  let end = from;
  while (/[a-z\d-]/.test(lower[end] ?? '') && end - from < 64) end++;
  const name = lower.slice(from, end);
  return /^[a-z]/.test(name) ? name : '';
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  copy: '©',
  reg: '®',
  euro: '€',
  times: '×',
  middot: '·',
};

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (typeof name === 'string') return ENTITIES[name.toLowerCase()] ?? whole;
    const code = typeof decimal === 'string' ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : whole;
  });
}

/** Collapses white space within lines, and removes empty lines. */
function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/).join(' '));
  return lines.filter((line) => line !== '').join('\n');
}
