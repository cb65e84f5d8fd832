import { memo, useCallback, useEffect, useRef, useState } from 'react';
import type { Part } from '@eventloom/core';
import { Button, TextArea, TextField } from 'react-aria-components';
import type { CallPart, Conversation, Message, MessagePart } from '@eventloom/client';
import type { UseAgentResult } from '@eventloom/client/react';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { JsonView } from './json-view.tsx';
import { Media } from './media.tsx';
import { RequestForm } from './request-form.tsx';
import { formatDuration } from './trace.ts';
import { VoiceBar, type VoiceCall } from './voice.tsx';

interface ChatProps {
  readonly agent: UseAgentResult;
  readonly conversation: Conversation;
  /** True if an earlier moment is shown, at which nothing can be sent. */
  readonly isPast: boolean;
  /** Suggested first messages. */
  readonly prompts: readonly string[];
  readonly call: VoiceCall;
  readonly onSelectEvent: (id: string) => void;
}

/** Number of messages that are drawn; earlier ones are drawn on request. */
const SHOWN = 100;

export function Chat({ agent, conversation, isPast, prompts, call, onSelectEvent }: ChatProps) {
  const { messages, requests, activeAgent } = conversation;
  const { status, error, send, stop, answer, rewind } = agent;
  const [shown, setShown] = useState(SHOWN);
  const first = Math.max(0, messages.length - shown);
  const isRunning = status === 'running' || status === 'reconnecting';
  const end = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const last = messages.at(-1);
  const untried = prompts.filter(
    (text) => !messages.some((message) => message.author === 'user' && textOf(message) === text),
  );
  /** False once the reader has scrolled up. */
  const isFollowing = useRef(true);
  useEffect(() => {
    if (isFollowing.current) end.current?.scrollIntoView({ block: 'end' });
  }, [last, requests, error, status]);

  const sendInstead = useCallback(
    async ({ invocationId }: Message, parts: readonly Part[]): Promise<void> => {
      // A message that the server refused belongs to no run.
      if (!invocationId.startsWith('local-')) await rewind(invocationId);
      await send(parts);
    },
    [rewind, send],
  );
  const lastOfUser = messages.findLast(({ author }) => author === 'user');
  const hasFailed =
    error !== undefined || last?.status === 'interrupted' || last?.parts.some(({ type }) => type === 'error') === true;

  return (
    <>
      <header className="chat-head">
        <span className="agent-now" data-running={isRunning}>
          {activeAgent ?? 'No agent has spoken yet'}
        </span>
        <span role="status" className="status">
          {status === 'idle' ? (isPast ? 'earlier moment' : '') : status}
        </span>
      </header>
      <div
        className="messages"
        ref={scroller}
        role="log"
        aria-label="Conversation"
        tabIndex={0}
        onScroll={({ currentTarget: box }) => {
          isFollowing.current = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
        }}
      >
        {messages.length === 0 && status === 'idle' && (
          <section className="welcome">
            <h2>Talk to the agent</h2>
            <p>Every step it takes is an event: watch them in the inspector, and drag the time slider to go back.</p>
            <ul>
              {(prompts.length > 0 ? prompts : ['What can you do?']).map((text) => (
                <li key={text}>
                  <Button className="prompt" onPress={() => void send(text)}>
                    {text}
                  </Button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {first > 0 && (
          <Button className="quiet earlier" onPress={() => setShown(shown + SHOWN)}>
            Show earlier messages ({first.toLocaleString()})
          </Button>
        )}
        {messages.slice(first).map((message, index, all) => (
          <MessageView
            key={message.id}
            message={message}
            isNamed={all[index - 1]?.author !== message.author}
            canEdit={!isPast && !isRunning && message.author === 'user' && textOf(message) !== ''}
            onEdit={sendInstead}
            onSelect={onSelectEvent}
          />
        ))}
        {!isPast &&
          requests.map((request) => (
            <RequestForm key={request.id} request={request} onAnswer={(given) => void answer([request, given])} />
          ))}
        {error && (
          <p className="error" role="alert">
            {error.message}
          </p>
        )}
        {hasFailed && lastOfUser && !isPast && !isRunning && (
          <Button className="quiet retry" onPress={() => void sendInstead(lastOfUser, contentOf(lastOfUser))}>
            Try again
          </Button>
        )}
        <div ref={end} />
      </div>
      {messages.length > 0 &&
        untried.length > 0 &&
        requests.length === 0 &&
        call.status === 'idle' &&
        !isPast &&
        !isRunning && (
          <ul className="suggestions" aria-label="Messages to try">
            {untried.map((text) => (
              <li key={text}>
                <Button className="suggestion" onPress={() => void send(text)}>
                  {text}
                </Button>
              </li>
            ))}
          </ul>
        )}
      <Composer
        isDisabled={isPast || isRunning}
        isRunning={isRunning}
        call={call}
        onSend={(parts) => {
          isFollowing.current = true;
          void send(parts);
        }}
        onStop={() => void stop()}
      />
    </>
  );
}

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The number of colours that distinguish agents. */
const HUES = 6;

function hueOf(author: string): number {
  return Array.from(author).reduce((sum, char) => sum + (char.codePointAt(0) ?? 0), 0) % HUES;
}

/** Returns a message of the user in the form in which it was sent. */
function contentOf({ parts }: Message): readonly Part[] {
  return parts.flatMap((part): Part[] => {
    if (part.type === 'text') return [{ text: part.text }];
    if (part.type === 'media') return [{ inlineData: part.inlineData }];
    return part.type === 'file' ? [{ fileData: part.fileData }] : [];
  });
}

interface MessageViewProps {
  readonly message: Message;
  /** True for the first of several consecutive messages of one author. */
  readonly isNamed: boolean;
  readonly canEdit: boolean;
  readonly onEdit: (message: Message, parts: readonly Part[]) => Promise<void>;
  readonly onSelect: (id: string) => void;
}

/** Shows one message. Among 10,000 messages, only those that changed are drawn again. */
const MessageView = memo(function MessageView({ message, isNamed, canEdit, onEdit, onSelect }: MessageViewProps) {
  const { author, parts, status, branch, timestamp } = message;
  const isUser = author === 'user';
  const [isEditing, setEditing] = useState(false);
  if (isEditing && canEdit)
    return (
      <MessageEditor
        text={textOf(message)}
        onCancel={() => setEditing(false)}
        onSend={(text) => {
          setEditing(false);
          const others = contentOf(message).filter((part) => part.text === undefined);
          void onEdit(message, [{ text }, ...others]);
        }}
      />
    );
  if (parts.every((part) => part.type === 'transfer'))
    return (
      <p className="transfer">
        {parts.map((part) => (part.type === 'transfer' ? `${author} hands over to ${part.agentName}` : ''))}
      </p>
    );
  const copied = textOf(message);
  return (
    <article className={isUser ? 'message user' : 'message'} data-status={status} aria-label={`${author} says`}>
      {!isUser && isNamed && (
        <header>
          <b data-hue={hueOf(author)}>{author}</b>
          {branch !== undefined && <small>{branch}</small>}
          <time dateTime={new Date(timestamp * 1000).toISOString()}>
            {new Date(timestamp * 1000).toLocaleTimeString()}
          </time>
        </header>
      )}
      <div className="bubble">
        {parts.map((part, index) => (
          <PartView key={index} part={part} isUser={isUser} />
        ))}
      </div>
      {status === 'interrupted' && <small className="interrupted">interrupted</small>}
      <footer>
        {canEdit && (
          <button type="button" className="link" onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
        {copied !== '' && 'clipboard' in navigator && (
          <button type="button" className="link" onClick={() => void navigator.clipboard.writeText(copied)}>
            Copy
          </button>
        )}
        <button type="button" className="link" onClick={() => onSelect(message.id)}>
          Event
        </button>
      </footer>
    </article>
  );
});

interface MessageEditorProps {
  readonly text: string;
  readonly onSend: (text: string) => void;
  readonly onCancel: () => void;
}

/** Edits a sent message. Everything after it is undone. */
function MessageEditor({ text, onSend, onCancel }: MessageEditorProps) {
  const [edited, setEdited] = useState(text);
  return (
    <form
      className="message user editor"
      aria-label="Edit the message"
      onSubmit={(event) => {
        event.preventDefault();
        if (edited.trim() !== '') onSend(edited);
      }}
      onKeyDown={({ key }) => {
        if (key === 'Escape') onCancel();
      }}
    >
      <TextField aria-label="Edited message" value={edited} onChange={setEdited} autoFocus>
        <TextArea rows={Math.min(8, edited.split('\n').length)} />
      </TextField>
      <small>Everything after this message is undone.</small>
      <div className="row">
        <Button className="primary" type="submit" isDisabled={edited.trim() === ''}>
          Send instead
        </Button>
        <Button className="quiet" onPress={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function PartView({ part, isUser }: { readonly part: MessagePart; readonly isUser: boolean }) {
  switch (part.type) {
    case 'text':
      return isUser ? <p className="plain">{part.text}</p> : <MarkdownText text={part.text} />;
    case 'thought':
      return (
        <details className="thought">
          <summary>Thought</summary>
          <p className="plain">{part.text}</p>
        </details>
      );
    case 'call':
      return <CallView call={part} />;
    case 'media':
      return <Media part={{ inlineData: part.inlineData }} />;
    case 'file':
      return <Media part={{ fileData: part.fileData }} />;
    case 'code':
      return (
        <pre className="code">
          <code>{part.code}</code>
        </pre>
      );
    case 'code-result':
      return <pre className={part.isError ? 'code error' : 'code'}>{part.output}</pre>;
    case 'transfer':
      return <p className="transfer">hands over to {part.agentName}</p>;
    case 'error':
      return (
        <p className="error" role="alert">
          <b>{part.code}</b> {part.message}
        </p>
      );
  }
}

/** Shows text of a model. HTML in it is shown as text, links open in a new tab, and pictures of other servers are not loaded. */
function MarkdownText({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      <Markdown
        remarkPlugins={[remarkGfm]}
        components={{
          a: ({ children, href }) => (
            <a href={href} target="_blank" rel="noopener noreferrer">
              {children}
            </a>
          ),
          img: ({ alt, src }) => (
            <span className="picture-link">{`${alt ?? 'picture'} (${typeof src === 'string' ? src : ''})`}</span>
          ),
        }}
      >
        {text}
      </Markdown>
    </div>
  );
}

function CallView({ call }: { readonly call: CallPart }) {
  const { name, args, response, status, progress, parts, startedAt, endedAt } = call;
  return (
    <details className="call" data-status={status}>
      <summary>
        <span className="call-name">{name}</span>
        <span className="call-status">
          {status}
          {endedAt === undefined ? '' : `, ${formatDuration(endedAt - startedAt)}`}
        </span>
      </summary>
      <p className="label">Arguments</p>
      <JsonView value={args} />
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
    </details>
  );
}

interface ComposerProps {
  readonly isDisabled: boolean;
  readonly isRunning: boolean;
  readonly call: VoiceCall;
  readonly onSend: (parts: readonly Part[]) => void;
  readonly onStop: () => void;
}

/** Maximum size of all files of a message together, in bytes: the server's default limit of a body is larger. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

function Composer({ isDisabled, isRunning, call, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly File[]>([]);
  const [error, setError] = useState<string>();
  const input = useRef<HTMLInputElement>(null);

  const submit = async (): Promise<void> => {
    if (isDisabled || (text.trim() === '' && files.length === 0)) return;
    if (files.reduce((sum, file) => sum + file.size, 0) > MAX_FILE_BYTES) {
      setError('The files have more than 10 MB together. Send fewer.');
      return;
    }
    setError(undefined);
    const attached = await Promise.all(files.map(toPart));
    onSend([...(text.trim() === '' ? [] : [{ text }]), ...attached]);
    setText('');
    setFiles([]);
  };

  if (call.status !== 'idle') return <VoiceBar call={call} />;
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        setFiles([...files, ...event.dataTransfer.files]);
      }}
    >
      {files.length > 0 && (
        <ul className="attached">
          {files.map((file, index) => (
            <li key={index}>
              {file.name}{' '}
              <Button
                className="link"
                aria-label={`Remove ${file.name}`}
                onPress={() => setFiles(files.filter((other) => other !== file))}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
      {(error ?? call.error) !== undefined && (
        <p className="error" role="alert">
          {error ?? call.error}
        </p>
      )}
      <div className="row">
        <input
          ref={input}
          type="file"
          multiple
          hidden
          onChange={({ target }) => setFiles([...files, ...(target.files ?? [])])}
        />
        <Button
          className="quiet"
          aria-label="Attach files"
          isDisabled={isDisabled}
          onPress={() => input.current?.click()}
        >
          +
        </Button>
        <TextField
          className="grow"
          aria-label="Message"
          value={text}
          onChange={setText}
          isDisabled={isDisabled && !isRunning}
        >
          <TextArea
            rows={Math.min(8, text.split('\n').length)}
            placeholder={isDisabled && !isRunning ? 'An earlier moment is shown' : 'Message'}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              void submit();
            }}
          />
        </TextField>
        {isRunning ? (
          <Button className="danger" onPress={onStop}>
            Stop
          </Button>
        ) : (
          <>
            <Button className="quiet" isDisabled={isDisabled} onPress={() => void call.start()}>
              Speak
            </Button>
            <Button className="primary" type="submit" isDisabled={isDisabled}>
              Send
            </Button>
          </>
        )}
      </div>
    </form>
  );
}

async function toPart(file: File): Promise<Part> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(typeof reader.result === 'string' ? reader.result : ''));
    reader.addEventListener('error', () => reject(reader.error ?? new Error(`${file.name} cannot be read`)));
    reader.readAsDataURL(file);
  });
  const data = url.slice(url.indexOf(',') + 1);
  return { inlineData: { data, mimeType: file.type || 'application/octet-stream', displayName: file.name } };
}
