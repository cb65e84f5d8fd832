import { useMemo } from 'react';
import type { Part } from '@eventloom/core';

/** Shows a picture, a sound or a video, or a link to save the file. Nothing is loaded from other servers. */
export function Media({ part }: { readonly part: Pick<Part, 'inlineData' | 'fileData' | 'text'> }) {
  const { inlineData, fileData, text } = part;
  const url = useMemo(
    () =>
      inlineData?.data
        ? `data:${inlineData.mimeType ?? 'application/octet-stream'};base64,${toBase64(inlineData.data)}`
        : undefined,
    [inlineData],
  );
  if (text !== undefined)
    return (
      <pre className="code" tabIndex={0}>
        {text}
      </pre>
    );
  if (fileData) return <p className="file">{fileData.fileUri}</p>;
  if (!inlineData || url === undefined) return null;
  const { mimeType = '', displayName } = inlineData;
  const name = displayName ?? mimeType;
  // An SVG is shown as a picture, in which browsers run no scripts.
  if (mimeType.startsWith('image/')) return <img className="media" src={url} alt={name} />;
  if (mimeType.startsWith('audio/')) return <audio className="media" controls src={url} aria-label={name} />;
  if (mimeType.startsWith('video/')) return <video className="media" controls src={url} aria-label={name} />;
  const shown = textIn(part);
  if (shown !== undefined)
    return (
      <pre className="code" tabIndex={0}>
        {shown}
      </pre>
    );
  return (
    <a className="file" href={url} download={displayName ?? 'file'}>
      Save {name}
    </a>
  );
}

/** Returns the text of a part; undefined for a file that is not text. */
export function textIn({ text, inlineData }: Pick<Part, 'inlineData' | 'text'>): string | undefined {
  const { mimeType = '', data = '' } = inlineData ?? {};
  if (text !== undefined) return text;
  return mimeType.startsWith('text/') || mimeType === 'application/json' ? decodeText(data) : undefined;
}

/** Converts base64 of the ADK, which may use the URL alphabet. */
function toBase64(data: string): string {
  return data.replaceAll('-', '+').replaceAll('_', '/');
}

function decodeText(data: string): string {
  const bytes = Uint8Array.from(atob(toBase64(data)), (char) => char.codePointAt(0) ?? 0);
  return new TextDecoder().decode(bytes);
}
