import { isValidElement, memo, type ReactNode, useContext, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Part } from '@eventloom/core';
import type { CallPart, Message, MessagePart } from '@eventloom/client';
import Markdown, { defaultUrlTransform } from 'react-markdown';
import { Button, TextArea, TextField } from 'react-aria-components';
import remarkGfm from 'remark-gfm';
import { MeasuredTimes, parallelCalls } from './call-times.ts';
import { clockOf } from './clock.ts';
import { CopyButton } from './copy-button.tsx';
import { callKey, GivenAnswers } from './given-answers.ts';
import { JsonView } from './json-view.tsx';
import { isDrawable, markdownBlocks } from './markdown-blocks.ts';
import { Media } from './media.tsx';
import { isRecord, type JsonFields } from './schema-reader.ts';
import { formatDuration } from './trace.ts';

/** Returns the text of a message. */
export function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Returns a message of the user in the form in which it was sent. */
export function contentOf({ parts }: Message): readonly Part[] {
  return parts.flatMap((part): Part[] => {
    if (part.type === 'text') return [{ text: part.text }];
    if (part.type === 'media') return [{ inlineData: part.inlineData }];
    return part.type === 'file' ? [{ fileData: part.fileData }] : [];
  });
}

/**
 * Returns the agents around the agent of a message, such as `team.research`; empty if there are none. A branch also has
 * the ids of calls.
 */
function placeOf({ author, branch = '' }: Message): string {
  const names = branch.split('.').map((name) => name.replace(/@.*$/, ''));
  if (names.at(-1) === author) names.pop();
  return names.filter((name, index) => name !== names[index - 1]).join('.');
}

interface MessageViewProps {
  readonly message: Message;
  /** True for the first of several consecutive messages of one author. */
  readonly isNamed: boolean;
  /** The number of the author's color. */
  readonly hue: number;
  readonly canEdit: boolean;
  /** False while the session is read or a run is in progress: an edited message waits for that. */
  readonly canSend: boolean;
  /** True for the message after which the person stopped the run. */
  readonly isStopped: boolean;
  /** Sends a message in place of this one. Resolves to false if it was not sent. */
  readonly onEdit: (message: Message, parts: readonly Part[]) => Promise<boolean>;
  readonly onSelect: (id: string) => void;
  readonly onTrace: (invocationId: string) => void;
}

/** Shows one message. Among 10,000 messages, only those that changed are drawn again. */
export const MessageView = memo(function MessageView({
  message,
  isNamed,
  hue,
  canEdit,
  canSend,
  isStopped,
  onEdit,
  onSelect,
  onTrace,
}: MessageViewProps) {
  const { author, parts, status, timestamp, invocationId } = message;
  const place = placeOf(message);
  const isUser = author === 'user';
  const [isEditing, setEditing] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  if (isEditing)
    return (
      <MessageEditor
        text={textOf(message)}
        canSend={canSend}
        onCancel={() => {
          flushSync(() => setEditing(false));
          editButton.current?.focus();
        }}
        onSend={(text) => {
          const others = contentOf(message).filter((part) => part.text === undefined);
          void onEdit(message, [{ text }, ...others]).then((isSent) => {
            if (isSent) setEditing(false);
          });
        }}
      />
    );
  if (parts.every((part) => part.type === 'transfer'))
    return (
      <p className="transfer">
        {parts.map((part) => (part.type === 'transfer' ? `${author} hands over to ${part.agentName}` : ''))}
      </p>
    );
  const [first] = parts;
  if (first?.type === 'error' && parts.every((part) => part.type === 'error' && isStop(part.code)))
    return <Stopped code={first.code} message={first.message} />;
  const copied = textOf(message);
  const parallel = new Set<MessagePart>(parallelCalls(message));
  // The error says why the message has no end.
  const hasFailed = parts.some(({ type }) => type === 'error');
  const isEnded = isStopped || parts.some((part) => part.type === 'error' && isStop(part.code));
  return (
    <article className={isUser ? 'message user' : 'message'} data-status={status} aria-label={`${author} says`}>
      {!isUser && isNamed && (
        <header>
          <b data-hue={hue}>{author}</b>
          {place !== '' && <small>{place}</small>}
          <time dateTime={new Date(timestamp * 1000).toISOString()}>{clockOf(timestamp)}</time>
        </header>
      )}
      <div className="bubble">
        {parts.map((part, index) => (
          <PartView key={index} part={part} message={message} isParallel={parallel.has(part)} />
        ))}
      </div>
      {status === 'interrupted' && !isEnded && !hasFailed && <small className="interrupted">interrupted</small>}
      {status === 'failed' && <small className="interrupted">not sent</small>}
      {isEnded && <Stopped />}
      <footer>
        {isUser && <time dateTime={new Date(timestamp * 1000).toISOString()}>{clockOf(timestamp)}</time>}
        {canEdit && (
          <button type="button" className="link" ref={editButton} onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
        {copied !== '' && <CopyButton className="link" textOf={() => copied} />}
        <button type="button" className="link" onClick={() => onSelect(message.id)}>
          Event
        </button>
        {!isUser && (
          <button type="button" className="link" onClick={() => onTrace(invocationId)}>
            Trace
          </button>
        )}
      </footer>
    </article>
  );
});

/** The error code of a run that the server closed, because its process had ended or another run took its session. */
const CLOSED = 'RUN_ABANDONED';

/** Returns true for the error code of a run that was cancelled, aborted or closed. */
export function isStop(code: string | undefined): boolean {
  return code === 'RUN_ABORTED' || code === CLOSED;
}

interface StoppedProps {
  readonly code?: string;
  readonly message?: string;
}

/** Shows that a run was stopped, which is not a failure. Gives the reason for a run that the server closed. */
export function Stopped({ code, message = '' }: StoppedProps) {
  return (
    <p className="stopped" role="status">
      {code === CLOSED && message !== '' ? `Stopped: ${message}` : 'Stopped'}
    </p>
  );
}

interface MessageEditorProps {
  readonly text: string;
  readonly canSend: boolean;
  readonly onSend: (text: string) => void;
  readonly onCancel: () => void;
}

/** Edits a sent message. Everything after it is undone. */
function MessageEditor({ text, canSend, onSend, onCancel }: MessageEditorProps) {
  const [edited, setEdited] = useState(text);
  return (
    <form
      className="message user editor"
      aria-label="Edit the message"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend && edited.trim() !== '') onSend(edited);
      }}
      onKeyDown={({ key }) => {
        if (key === 'Escape') onCancel();
      }}
    >
      <TextField aria-label="Edited message" value={edited} onChange={setEdited} autoFocus>
        <TextArea
          dir="auto"
          rows={Math.min(8, edited.split('\n').length)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
      </TextField>
      <small>Everything after this message is undone.</small>
      <div className="row">
        <Button className="primary" type="submit" isDisabled={!canSend || edited.trim() === ''}>
          Send instead
        </Button>
        <Button className="quiet" onPress={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

interface PartViewProps {
  readonly part: MessagePart;
  readonly message: Message;
  /** True for a call that began at once with others. */
  readonly isParallel: boolean;
}

function PartView({ part, message, isParallel }: PartViewProps) {
  switch (part.type) {
    case 'text':
      return message.author === 'user' ? <PlainText text={part.text} /> : <MarkdownText text={part.text} />;
    case 'thought':
      return (
        <details className="thought">
          <summary>Thought</summary>
          <PlainText text={part.text} />
        </details>
      );
    case 'call':
      return <CallView call={part} message={message} isParallel={isParallel} />;
    case 'media':
      return <Media part={{ inlineData: part.inlineData }} />;
    case 'file':
      return <Media part={{ fileData: part.fileData }} />;
    case 'code':
      return (
        <pre className="code" tabIndex={0}>
          <code>{part.code}</code>
        </pre>
      );
    case 'code-result':
      return (
        <pre className={part.isError ? 'code error' : 'code'} tabIndex={0}>
          {part.output}
        </pre>
      );
    case 'transfer':
      return <p className="transfer">hands over to {part.agentName}</p>;
    case 'error':
      // The message shows that the run was stopped.
      if (isStop(part.code)) return null;
      return (
        <p className="error" role="alert">
          <b>{part.code}</b> {part.message}
        </p>
      );
  }
}

/** Maximum length of a plain text that is shown at first, in characters. A browser needs seconds for millions of them. */
const MAX_TEXT = 50_000;

function PlainText({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= MAX_TEXT)
    return (
      <p className="plain" dir="auto">
        {text}
      </p>
    );
  return (
    <>
      <p className="plain" dir="auto">
        {text.slice(0, MAX_TEXT)}…
      </p>
      <Button className="link" onPress={() => setWhole(true)}>
        Show all {text.length.toLocaleString()} characters
      </Button>
    </>
  );
}

/** The address of a picture that is part of the text. Scripts in a vector picture do not run in an `img`. */
const PICTURE = /^data:image\/[\w.+-]+;base64,/;

/** An element of a text, or another node that has none of these fields. */
interface TextNode {
  readonly children?: readonly TextNode[];
  readonly tagName?: string;
  properties?: Record<string, unknown>;
}

/** Gives each block of a text its own direction, from its first letters. Code is written from left to right. */
function addDirections() {
  return ({ children = [] }: TextNode): void => {
    for (const block of children)
      if (block.tagName !== undefined && block.tagName !== 'pre')
        block.properties = { ...block.properties, dir: 'auto' };
  };
}

/** Scrolls to a place in the same text, such as a footnote. Several texts of a page may have places of the same name. */
function scrollTo(link: HTMLElement, id: string): void {
  const place = link.closest('.markdown')?.querySelector(`[id="${CSS.escape(id)}"]`);
  place?.scrollIntoView({ block: 'nearest' });
}

/** Shows text of a model. HTML in it is shown as text, links open in a new tab, and pictures of other servers are not loaded. */
function MarkdownText({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      {markdownBlocks(text).map((block, index) =>
        isDrawable(block) ? (
          <MarkdownBlock key={index} text={block} />
        ) : (
          <p key={index} className="plain" dir="auto">
            {block}
          </p>
        ),
      )}
    </div>
  );
}

/** The class of a block of code with a language. */
const LANGUAGE = /^language-(.+)$/;

/** Shows a block of code with its language and a button to copy it. A wide block is scrolled with the keyboard as well. */
function CodeBlock({ children }: { readonly children?: ReactNode }) {
  const block = useRef<HTMLPreElement>(null);
  const className = isValidElement<{ readonly className?: string }>(children) ? children.props.className : undefined;
  const language = LANGUAGE.exec(className ?? '')?.[1];
  return (
    <div className="code-block">
      <div className="row">
        <small>{language ?? 'code'}</small>
        <CopyButton className="link" textOf={() => block.current?.textContent ?? ''} />
      </div>
      <pre tabIndex={0} ref={block}>
        {children}
      </pre>
    </div>
  );
}

const MarkdownBlock = memo(function MarkdownBlock({ text }: { readonly text: string }) {
  return (
    <Markdown
      remarkPlugins={[remarkGfm]}
      rehypePlugins={[addDirections]}
      urlTransform={(url, name) => (name === 'src' && PICTURE.test(url) ? url : defaultUrlTransform(url))}
      components={{
        // Addresses that run a script or contain a page are removed.
        a: ({ children, href, id }) =>
          href?.startsWith('#') ? (
            <a
              href={href}
              id={id}
              onClick={(event) => {
                event.preventDefault();
                scrollTo(event.currentTarget, href.slice(1));
              }}
            >
              {children}
            </a>
          ) : href ? (
            <a href={href} target="_blank" rel="noopener noreferrer">
              {children}
            </a>
          ) : (
            <span>{children}</span>
          ),
        pre: CodeBlock,
        // A wide table is scrolled with the keyboard as well.
        table: ({ children, dir }) => (
          <div className="wide" tabIndex={0}>
            <table dir={dir}>{children}</table>
          </div>
        ),
        input: ({ checked }) => (
          <input type="checkbox" checked={checked === true} disabled aria-label={checked === true ? 'done' : 'to do'} />
        ),
        img: ({ alt, src }) =>
          typeof src === 'string' && PICTURE.test(src) ? (
            <img className="media" src={src} alt={alt ?? 'picture'} />
          ) : (
            <span className="picture-link">{src ? `${alt ?? 'picture'} (${String(src)})` : alt}</span>
          ),
      }}
    >
      {text}
    </Markdown>
  );
});

/** Maximum length of the arguments in a folded call, in characters. */
const MAX_SHOWN = 200;

/** Returns the arguments of a call in one line. */
function shortArguments(args: CallPart['args']): string {
  const shown = Object.entries(args).map(
    ([name, value]) => `${name}: ${JSON.stringify(typeof value === 'string' ? value.slice(0, MAX_SHOWN) : value)}`,
  );
  return shown.join(', ').slice(0, MAX_SHOWN);
}

interface CallViewProps {
  readonly call: CallPart;
  readonly message: Message;
  /** True for a call that began at once with others. */
  readonly isParallel: boolean;
}

/** Returns the newest progress of a call as fields to show. */
function asRecord(progress: unknown): JsonFields {
  return isRecord(progress) ? progress : { progress };
}

function CallView({ call, message, isParallel }: CallViewProps) {
  const { id, name, args, response, status, progress, parts, startedAt, endedAt } = call;
  const key = callKey(id, message);
  const measured = useContext(MeasuredTimes).get(key);
  const answer = useContext(GivenAnswers).get(key);
  // The first status of a long-running tool comes long before its result.
  const hasTime = endedAt !== undefined && status !== 'rejected' && status !== 'waiting';
  // The measured time is that of the trace. Events that are stored later are some milliseconds off.
  const seconds = measured ?? (isParallel || !hasTime ? undefined : endedAt - startedAt);
  // A conversation may have thousands of calls, most of which nobody opens.
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="call" data-status={status} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className="call-name">{name}</span>
        <span className="call-arguments" aria-hidden="true">
          {shortArguments(status === 'running' && progress.length > 0 ? asRecord(progress.at(-1)) : args)}
        </span>
        {answer && answer.decision !== 'rejected' && <small className="call-answer">{answer.decision}</small>}
        <span className="call-status">
          {status}
          {hasTime && seconds !== undefined && `, ${formatDuration(seconds)}`}
        </span>
      </summary>
      {isOpen && (
        <>
          <p className="label">Arguments</p>
          <JsonView value={args} />
          {answer && (
            <>
              <p className="label">
                {answer.decision} by the user after {formatDuration(answer.seconds)}
              </p>
              {answer.value !== undefined && <JsonView value={answer.value} />}
            </>
          )}
          {progress.length > 0 && (
            <>
              <p className="label">Progress</p>
              <JsonView value={progress} />
            </>
          )}
          {response !== undefined && (
            <>
              <p className="label">Response</p>
              <JsonView value={response} />
            </>
          )}
          {parts?.map((part, index) => (
            <Media key={index} part={part} />
          ))}
        </>
      )}
    </details>
  );
}
