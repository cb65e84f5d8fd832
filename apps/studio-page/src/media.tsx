import { useMemo, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Part } from '@eventloom/core';

interface MediaProps {
  readonly part: Pick<Part, 'inlineData' | 'fileData' | 'text'>;
  /** Name of the file. Default: the name in the part. */
  readonly name?: string;
}

/** Shows a picture, a sound, a video or a text, and a link to save the file. Loads nothing from other servers. */
export function Media({ part, name: given }: MediaProps) {
  const { inlineData, fileData, text } = part;
  const url = useMemo(
    () =>
      inlineData?.data
        ? `data:${inlineData.mimeType ?? 'application/octet-stream'};base64,${toBase64(inlineData.data)}`
        : undefined,
    [inlineData],
  );
  const textUrl = useMemo(
    () => (text === undefined ? undefined : `data:text/plain;charset=utf-8,${encodeURIComponent(text.toWellFormed())}`),
    [text],
  );
  if (textUrl !== undefined)
    return (
      <figure className="media-file">
        <TextPreview text={text ?? ''} />
        <SaveLink url={textUrl} name={given ?? 'text.txt'} />
      </figure>
    );
  if (fileData) return <p className="file">{fileData.fileUri}</p>;
  if (!inlineData || url === undefined) return null;
  const { mimeType = '', displayName } = inlineData;
  const name = given ?? displayName ?? `the ${kindOf(mimeType)}`;
  return (
    <figure className="media-file">
      <Preview part={part} url={url} name={name} mimeType={mimeType} />
      <SaveLink url={url} name={given ?? displayName ?? 'file'} label={name} />
    </figure>
  );
}

/** Returns a name for a file without one. */
function kindOf(mimeType: string): string {
  if (mimeType.startsWith('image/')) return 'picture';
  if (mimeType.startsWith('audio/')) return 'sound';
  return mimeType.startsWith('video/') ? 'video' : `file (${mimeType})`;
}

interface SaveLinkProps {
  readonly url: string;
  readonly name: string;
  readonly label?: string;
}

/** Saves a file under its name: the last part of a path, without the scope of an artifact. */
function SaveLink({ url, name, label = name }: SaveLinkProps) {
  return (
    <a className="file" href={url} download={name.replace(/^user:/, '').replace(/^.*\//, '')}>
      Save {shownName(label)}
    </a>
  );
}

/** Marks that change the order in which a text is shown, so that a name looks like another one. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns the name of a file with its direction marks as text. */
export function shownName(name: string): string {
  return name.replaceAll(DIRECTION_MARKS, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase()}]`);
}

interface PreviewProps extends Required<Pick<MediaProps, 'part' | 'name'>> {
  readonly url: string;
  readonly mimeType: string;
}

function Preview({ part, url, name, mimeType }: PreviewProps) {
  // An SVG is shown as a picture, in which browsers run no scripts.
  if (mimeType.startsWith('image/')) return <img className="media" src={url} alt={name} />;
  if (mimeType.startsWith('audio/')) return <audio className="media" controls src={url} aria-label={name} />;
  if (mimeType.startsWith('video/')) return <video className="media" controls src={url} aria-label={name} />;
  const shown = textIn(part);
  if (shown === undefined)
    return isText(mimeType) ? <p className="error">The data of this file are not base64.</p> : null;
  return <TextPreview text={shown} />;
}

/** Maximum length of a text that is shown at first, in characters. */
const MAX_TEXT = 100_000;

function TextPreview({ text }: { readonly text: string }) {
  const [whole, setWhole] = useState<string>();
  const isLong = text.length > MAX_TEXT && whole !== text;
  return (
    <>
      <pre className="code" tabIndex={0}>
        {isLong ? `${text.slice(0, MAX_TEXT)}…` : text}
      </pre>
      {isLong && (
        <Button className="link" onPress={() => setWhole(text)}>
          Show all {text.length.toLocaleString()} characters
        </Button>
      )}
    </>
  );
}

/** Returns the text of a part; undefined for a file that is not text, or whose data are not base64. */
export function textIn({ text, inlineData }: Pick<Part, 'inlineData' | 'text'>): string | undefined {
  const { mimeType = '', data = '' } = inlineData ?? {};
  if (text !== undefined) return text;
  return isText(mimeType) ? decodeText(data) : undefined;
}

/** Returns the type and the size of a file: `image/png, 1.5 kB`. */
export function describeMedia({ text, inlineData, fileData }: MediaProps['part']): string {
  if (fileData) return fileData.mimeType ?? 'a file elsewhere';
  const { mimeType = 'unknown type', data = '' } = inlineData ?? {};
  // Four characters of base64 are three bytes.
  const bytes =
    text === undefined ? Math.floor((data.replace(/=+$/, '').length * 3) / 4) : new TextEncoder().encode(text).length;
  const size = bytes < 1000 ? `${bytes} bytes` : BYTES.format(bytes);
  return `${text === undefined ? mimeType : 'text'}, ${size}`;
}

const BYTES = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  style: 'unit',
  unit: 'byte',
  unitDisplay: 'narrow',
  maximumFractionDigits: 1,
});

function isText(mimeType: string): boolean {
  return mimeType.startsWith('text/') || mimeType === 'application/json';
}

/** Converts base64 of the ADK, which may use the URL alphabet. */
function toBase64(data: string): string {
  return data.replaceAll('-', '+').replaceAll('_', '/');
}

function decodeText(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(toBase64(data)), (char) => char.codePointAt(0) ?? 0);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}
