import { type ReactNode, useMemo, useState } from 'react';
import { Button } from 'react-aria-components';

const MAX_CHARS = 20_000;

/** Maximum length of JSON with colors. A browser needs seconds to lay out hundreds of thousands of elements. */
const MAX_COLORED = 400_000;

/** A text with the colon that makes it a key, or another value. A text that was shortened has no end. */
const TOKEN = /("(?:\\.|[^"\\])*"?)(\s*:)?|[-\d][\d.eE+-]*|true|false|null/g;

/** Returns JSON as elements: its keys, texts and other values have classes, and everything between them is text. */
function coloredJson(text: string): readonly ReactNode[] {
  const shown: ReactNode[] = [];
  let end = 0;
  for (const { 0: token, 1: quoted, 2: colon, index } of text.matchAll(TOKEN)) {
    const kind = quoted === undefined ? 'json-value' : colon === undefined ? 'json-text' : 'json-key';
    const value = quoted ?? token;
    shown.push(text.slice(end, index));
    shown.push(
      <span key={index} className={kind}>
        {value}
      </span>,
    );
    end = index + value.length;
  }
  return [...shown, text.slice(end)];
}

/** Shows a value as indented JSON. Long JSON is shortened until the reader expands it. */
export function JsonView({ value }: { readonly value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  const text = JSON.stringify(value, undefined, 2) ?? '';
  const isLong = text.length > MAX_CHARS && !isWhole;
  const shown = isLong ? `${text.slice(0, MAX_CHARS)}…` : text;
  const colored = useMemo(() => (shown.length > MAX_COLORED ? shown : coloredJson(shown)), [shown]);
  return (
    <div className="json">
      {/* React adds elements to one that is drawn in quadratic time. */}
      <pre tabIndex={0} key={String(isWhole)}>
        {colored}
      </pre>
      {isLong && (
        <Button className="link" onPress={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </Button>
      )}
    </div>
  );
}

/** Maximum length of JSON that is shown on one line, in characters. */
const MAX_LINE = 60;

/** Maximum length of a text that is shown whole, in characters. */
const MAX_TEXT = 200;

/** Shows a value in its line if it is short, and otherwise folded with its size. */
export function FoldedJson({ value }: { readonly value: unknown }) {
  const [isOpen, setOpen] = useState(false);
  const text = JSON.stringify(value) ?? '';
  const longest = typeof value === 'object' ? MAX_LINE : MAX_TEXT;
  if (text.length <= longest) return <code>{text}</code>;
  return (
    <details className="folded" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{text.slice(0, MAX_LINE)}…</code> <small>{sizeOf(value)}</small>
      </summary>
      {isOpen && <JsonView value={value} />}
    </details>
  );
}

function sizeOf(value: unknown): string {
  if (typeof value === 'string') return `${value.length.toLocaleString()} characters`;
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'item' : 'items'}`;
  const { length } = Object.keys(value ?? {});
  return `${length} ${length === 1 ? 'key' : 'keys'}`;
}
