import { useEffect, useMemo, useState } from 'react';
import type { Content, Part, SessionKey } from '@eventloom/core';
import { JsonView } from './json-view.tsx';
import { isRecord } from './schema-reader.ts';
import { messageOf, readSpan } from './studio-client.ts';
import type { Span } from './trace.ts';

interface SpanContentProps {
  readonly place: SessionKey;
  readonly span: Span;
  /** True for a span of the server, which is read with its content. */
  readonly isMeasured: boolean;
}

type Attributes = Readonly<Record<string, unknown>>;

/** Shows the messages, arguments, results and other attributes of an operation. */
export function SpanContent({ place, span, isMeasured }: SpanContentProps) {
  const [read, setRead] = useState<Attributes>();
  const [error, setError] = useState<string>();
  const { id, isOpen, content } = span;
  useEffect(() => {
    if (!isMeasured) return undefined;
    let isCurrent = true;
    readSpan(place, id)
      .then((found) => {
        if (!isCurrent) return;
        setRead(found?.attributes);
        if (!found) setError('The server has dropped this span.');
      })
      .catch((thrown: unknown) => {
        if (isCurrent) setError(messageOf(thrown));
      });
    return () => {
      isCurrent = false;
    };
    // An operation has its result once it has ended.
  }, [place, id, isMeasured, isOpen]);
  const attributes = isMeasured ? read : content;
  if (error !== undefined)
    return (
      <p className="error" role="alert">
        {error}
      </p>
    );
  if (!attributes) return <p className="empty">{isMeasured ? 'Loading…' : 'No attributes.'}</p>;
  return <AttributesView attributes={attributes} />;
}

/** The attributes that are shown under their own headings, because they are JSON. */
const HEADINGS: Readonly<Record<string, string>> = {
  'gen_ai.tool.call.arguments': 'Arguments',
  'gen_ai.tool.call.result': 'Result',
  'eventloom.node.output': 'Output',
  'eventloom.response': 'Response',
  arguments: 'Arguments',
  result: 'Result',
  response: 'Response',
  usage: 'Usage',
};
const REQUEST = 'eventloom.request';

function AttributesView({ attributes }: { readonly attributes: Attributes }) {
  const parsed = useMemo(
    () => Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, parse(name, value)])),
    [attributes],
  );
  const request = parsed[REQUEST];
  const long = Object.keys(HEADINGS).filter((name) => parsed[name] !== undefined);
  const short = Object.entries(parsed).filter(([name]) => name !== REQUEST && !long.includes(name));
  return (
    <div className="span-content">
      {isRecord(request) && <RequestView request={request} />}
      {long.map((name) => (
        <section key={name}>
          <h2>{HEADINGS[name]}</h2>
          <JsonView value={parsed[name]} />
        </section>
      ))}
      {short.length > 0 && (
        <section>
          <h2>Attributes</h2>
          <dl>
            {short.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}

/** Returns the parsed value of an attribute with content, which is JSON, and values of other attributes unchanged. */
function parse(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !(name === REQUEST || Object.hasOwn(HEADINGS, name))) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
}

/** Shows the request of a model call: the instruction, the messages and the other options. */
function RequestView({ request }: { readonly request: Attributes }) {
  const { contents, config, olderContentsLeftOut: leftOut } = request;
  const messages = Array.isArray(contents) ? (contents as readonly Content[]) : [];
  const { systemInstruction, ...options } = isRecord(config) ? config : {};
  return (
    <>
      {systemInstruction !== undefined && (
        <section>
          <h2>Instruction</h2>
          <p className="plain">{textIn(systemInstruction)}</p>
        </section>
      )}
      <section>
        <h2>
          Messages ({messages.length}
          {typeof leftOut === 'number' && `, ${leftOut} older ones are not kept`})
        </h2>
        <ol className="sent">
          {messages.map(({ role, parts = [] }, index) => (
            <li key={index}>
              <b>{role ?? 'user'}</b>
              {parts.map((part, at) => (
                <PartLine key={at} part={part} />
              ))}
            </li>
          ))}
        </ol>
      </section>
      {Object.keys(options).length > 0 && (
        <details>
          <summary>Tools and options</summary>
          <JsonView value={options} />
        </details>
      )}
    </>
  );
}

function textIn(instruction: unknown): string {
  if (typeof instruction === 'string') return instruction;
  const parts: unknown = isRecord(instruction) ? instruction['parts'] : undefined;
  if (!Array.isArray(parts)) return JSON.stringify(instruction);
  return parts
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('\n');
}

function PartLine({ part }: { readonly part: Part }) {
  const { text, functionCall, functionResponse, inlineData } = part;
  if (functionCall)
    return (
      <code>
        → {functionCall.name}({JSON.stringify(functionCall.args ?? {})})
      </code>
    );
  if (functionResponse)
    return (
      <code>
        ← {functionResponse.name} {JSON.stringify(functionResponse.response ?? {})}
      </code>
    );
  if (inlineData) return <code>[{inlineData.mimeType ?? 'file'}]</code>;
  return <p className="plain">{text ?? JSON.stringify(part)}</p>;
}
