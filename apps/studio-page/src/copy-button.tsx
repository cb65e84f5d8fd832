import { useEffect, useState } from 'react';
import { canCopy } from './studio-client.ts';

interface CopyButtonProps {
  /** `link`: in a row of links. `quiet`: in a row of buttons. */
  readonly className: 'link' | 'quiet';
  /** Returns the text when the button is pressed. */
  readonly textOf: () => string;
}

/** The button says for this time that the text was copied, in milliseconds. */
const SAID_MS = 2000;

/** Copies a text. Shows nothing where the browser cannot copy, as on a page without TLS. */
export function CopyButton({ className, textOf }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  if (!canCopy) return null;
  return (
    <button
      type="button"
      className={className}
      onClick={() => void navigator.clipboard.writeText(textOf()).then(() => setCopied(true))}
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
