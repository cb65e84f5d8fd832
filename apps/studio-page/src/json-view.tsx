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
