import { useState } from 'react';
import { Button } from 'react-aria-components';

const MAX_CHARS = 20_000;

/** Shows a value as indented JSON. Long JSON is shortened until the reader expands it. */
export function JsonView({ value }: { readonly value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  const text = JSON.stringify(value, undefined, 2) ?? '';
  const isLong = text.length > MAX_CHARS && !isWhole;
  return (
    <div className="json">
      <pre tabIndex={0}>{isLong ? `${text.slice(0, MAX_CHARS)}…` : text}</pre>
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

/** Shows a value in its line if it is short, and otherwise folded with its size. */
export function FoldedJson({ value }: { readonly value: unknown }) {
  const [isOpen, setOpen] = useState(false);
  const text = JSON.stringify(value) ?? '';
  if (text.length <= MAX_LINE || typeof value !== 'object') return <code>{text}</code>;
  return (
    <details className="folded" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{text.slice(0, MAX_LINE)}…</code> <small>{sizeOf(value)}</small>
      </summary>
      {isOpen && <JsonView value={value} />}
    </details>
  );
}

function sizeOf(value: object | null): string {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'item' : 'items'}`;
  const { length } = Object.keys(value ?? {});
  return `${length} ${length === 1 ? 'key' : 'keys'}`;
}
