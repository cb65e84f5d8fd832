import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { ServerError } from '@eventloom/client';
import type { Event, Session, SessionKey } from '@eventloom/core';
import { Button, Input, Label, TextField } from 'react-aria-components';
import { closeCalls } from './close-calls.ts';
import { ColorsButton } from './colors-button.tsx';
import { originOf } from './fork-id.ts';
import { readArtifacts, saveArtifacts } from './exported-artifacts.ts';
import { readExport, saveExport } from './session-file.ts';
import {
  client,
  type SessionListEntry,
  messageOf,
  newSessionId,
  readInitialState,
  readSessions,
} from './studio-client.ts';

/** The listed sessions of a user with the search, which stay when the person goes to another session. */
export interface ListedSessions {
  readonly sessions: readonly SessionListEntry[];
  /** Position after the listed sessions; undefined if there are no more. */
  readonly cursor: string | undefined;
  readonly search: string;
  readonly setSearch: (search: string) => void;
  /** The searched word, once it has stopped changing; empty without a search. */
  readonly word: string;
  /** The word with which the sessions were listed. */
  readonly listedWord: string;
  /** The error of the newest reading, or of an action of the person. */
  readonly error: string | undefined;
  /** Shows the error of an action until the next one, also when the person goes to another session. */
  readonly setActionError: (error: string | undefined) => void;
  /** Reads the first page again, or the page after a position. */
  readonly read: (signal: AbortSignal, from?: string) => Promise<void>;
  readonly remove: (sessionId: string) => void;
  /** Number of pixels by which the list is scrolled. */
  readonly scrollTop: RefObject<number>;
}

/** Keeps the listed sessions of a user. */
export function useListedSessions(appName: string, userId: string): ListedSessions {
  const [{ sessions, cursor, listedWord }, setListed] = useState<{
    readonly sessions: readonly SessionListEntry[];
    readonly cursor: string | undefined;
    readonly listedWord: string;
  }>({ sessions: [], cursor: undefined, listedWord: '' });
  const [search, setSearch] = useState('');
  const [readError, setReadError] = useState<string>();
  const [actionError, setActionError] = useState<string>();
  const scrollTop = useRef(0);
  const word = useSettled(search.trim());
  const read = useCallback(
    async (signal: AbortSignal, from?: string) => {
      try {
        const page = await readSessions({ appName, userId }, word, from, signal);
        setListed((before) => {
          const next = { cursor: page.nextCursor, listedWord: word };
          const known = new Set((from === undefined ? page : before).sessions.map(({ id }) => id));
          if (from !== undefined)
            return { ...next, sessions: [...before.sessions, ...page.sessions.filter(({ id }) => !known.has(id))] };
          // The sessions of further pages stay.
          const last = page.sessions.at(-1)?.lastUpdateTime ?? Infinity;
          const later =
            before.listedWord === word && page.nextCursor !== undefined
              ? before.sessions.filter(({ id, lastUpdateTime }) => !known.has(id) && lastUpdateTime <= last)
              : [];
          return later.length === 0
            ? { ...next, sessions: page.sessions }
            : { ...before, sessions: [...page.sessions, ...later] };
        });
        setReadError(undefined);
      } catch (thrown) {
        if (!signal.aborted) setReadError(messageOf(thrown));
      }
    },
    [appName, userId, word],
  );
  const remove = useCallback((removed: string) => {
    setListed((before) => ({ ...before, sessions: before.sessions.filter(({ id }) => id !== removed) }));
  }, []);
  const isListed = listedWord === word;
  return {
    sessions,
    // The position belongs to the search before.
    cursor: isListed ? cursor : undefined,
    search,
    setSearch,
    word,
    listedWord,
    error: actionError ?? readError,
    setActionError,
    read,
    remove,
    scrollTop,
  };
}

interface SessionListProps {
  readonly apps: readonly string[];
  /** True if the server knows the user, who cannot be changed then. */
  readonly hasLogin: boolean;
  readonly place: SessionKey;
  readonly goTo: (place: SessionKey) => void;
  readonly list: ListedSessions;
  /** The events of the session that is shown. */
  readonly events: readonly Event[];
  /** True while a run is active. The list is read again when a run begins and ends. */
  readonly isRunning: boolean;
}

/** Shows the app, the user and their sessions, with a search. */
export function SessionList({ apps, hasLogin, place, goTo, list, events, isRunning }: SessionListProps) {
  const { appName, userId, sessionId } = place;
  const { sessions, cursor, search, setSearch, word, listedWord, error, setActionError, read, remove, scrollTop } =
    list;
  const [isDeleting, setDeleting] = useState(false);
  /** An export that lacks files, until the person has confirmed it. */
  const [incomplete, setIncomplete] = useState<IncompleteExport>();
  /** True while files are read or written. */
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const deleteButton = useRef<HTMLButtonElement>(null);
  const exportButton = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const list = box.current;
    if (!list) return undefined;
    list.scrollTop = scrollTop.current;
    // Not in a scroll event, which may come after the click that leaves the list.
    return () => {
      scrollTop.current = list.scrollTop;
    };
  }, [scrollTop]);

  // The server stores a new session with its first event.
  const isStored = events.some(({ id }) => !id.startsWith('local-'));
  useEffect(() => {
    const reading = new AbortController();
    void read(reading.signal);
    return () => reading.abort();
  }, [read, isRunning, isStored]);

  // A search covers all sessions, so further pages are read during a search.
  useEffect(() => {
    const reading = new AbortController();
    if (word !== '' && cursor !== undefined) void read(reading.signal, cursor);
    return () => reading.abort();
  }, [read, word, cursor]);

  /** Runs an action, and shows its error. @param what begins the text of the error */
  const act = async (what: string, action: () => Promise<void>): Promise<void> => {
    setActionError(undefined);
    setDeleting(false);
    setIncomplete(undefined);
    setBusy(true);
    try {
      await action();
    } catch (thrown) {
      setActionError(`${what}: ${messageOf(thrown)}`);
    }
    setBusy(false);
  };

  const importSession = (file: File): Promise<void> =>
    act(file.name, async () => {
      if (file.size > MAX_IMPORT_BYTES) throw new TypeError('the file has more than 150 MB');
      const { state, events: imported, artifacts } = readExport(await file.text());
      const create = (given: readonly Event[]): Promise<Session> =>
        client.createSession({ appName, userId }, { sessionId: newSessionId(), state, events: given });
      const { id } = await create(imported).catch((thrown: unknown) => {
        // Only a server that trusts imported events takes calls that a run could continue.
        if (ServerError.isInstance(thrown) && thrown.serverCode === 'FORBIDDEN') return create(closeCalls(imported));
        throw thrown;
      });
      const copy = { ...place, sessionId: id };
      const failed = await saveArtifacts(client.session(copy), artifacts);
      if (failed.length > 0) setActionError(`${file.name} was imported without ${failed.join(', ')}`);
      goTo(copy);
    });

  const exportShown = (): Promise<void> =>
    act('The session was not exported', async () => {
      const state = await readInitialState(place);
      const { artifacts, leftOut } = await readArtifacts(client.session(place), events);
      const save = (): void => saveExport(place, { state, events, artifacts });
      if (leftOut.length === 0) save();
      else setIncomplete({ leftOut, save });
    });

  const deleteSession = (): Promise<void> =>
    act('The session was not deleted', async () => {
      await client.session(place).delete();
      remove(sessionId);
      goTo({ ...place, sessionId: newSessionId() });
    });

  const keep = (): void => {
    setDeleting(false);
    deleteButton.current?.focus();
  };

  const closeExport = (): void => {
    setIncomplete(undefined);
    exportButton.current?.focus();
  };

  // The list is read again when the run has ended.
  const title = events.find(({ author }) => author === 'user')?.content?.parts?.find(({ text }) => text)?.text;
  /** The newest event that the server has, of a session that may be older than the listed ones. */
  const latest = events.findLast(({ id }) => !id.startsWith('local-'));
  const isListed = sessions.some(({ id }) => id === sessionId);
  return (
    <section className="sidebar" aria-label="Sessions">
      <p className="brand">
        <img src="./icon.svg" alt="" width="24" height="24" />
        Eventloom Studio
        <ColorsButton />
      </p>
      <label className="field">
        App
        <select
          value={appName}
          onChange={({ target }) => goTo({ ...place, appName: target.value, sessionId: newSessionId() })}
        >
          {apps.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <UserField
        key={userId}
        userId={userId}
        isReadOnly={hasLogin}
        onChange={(next) => goTo({ ...place, userId: next, sessionId: newSessionId() })}
      />
      <div className="row">
        <TextField className="search" aria-label="Search sessions" value={search} onChange={setSearch}>
          <Input placeholder="Search" title="Searches the messages" />
        </TextField>
        <Button
          className="primary"
          onPress={() => {
            // The new session is the first of the list.
            setSearch('');
            setActionError(undefined);
            if (box.current) box.current.scrollTop = 0;
            goTo({ ...place, sessionId: newSessionId() });
          }}
        >
          New
        </Button>
      </div>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <ul className="sessions" aria-label="Sessions" ref={box}>
        {!isListed && word === '' && (
          <li>
            <button type="button" aria-current="true">
              <b className="title" dir="auto">
                {title ?? (latest === undefined ? 'New session' : sessionId)}
              </b>
              <small>
                {latest === undefined
                  ? `new · ${sessionId.slice(0, 24)}`
                  : detailOf(sessionId, latest.timestamp, title !== undefined)}
              </small>
            </button>
          </li>
        )}
        {sessions.map(({ id, title, found, lastUpdateTime }) => (
          <li key={id}>
            <button
              type="button"
              title={`${id}, ${DAY.format(lastUpdateTime * 1000)}, ${TIME.format(lastUpdateTime * 1000)}`}
              aria-current={id === sessionId}
              onClick={() => {
                setActionError(undefined);
                goTo({ ...place, sessionId: id });
              }}
            >
              <b className="title" dir="auto">
                {title ?? id}
              </b>
              {found !== undefined && (
                <span className="found" dir="auto">
                  …<FoundText text={found} word={listedWord} />
                </span>
              )}
              <small>{detailOf(id, lastUpdateTime, title !== undefined)}</small>
            </button>
          </li>
        ))}
      </ul>
      {word !== '' && sessions.length === 0 && cursor === undefined && (
        <p className="empty">No session has “{word}” in its newest 200 events.</p>
      )}
      {cursor !== undefined && (
        <Button className="quiet" onPress={() => void read(new AbortController().signal, cursor)}>
          More
        </Button>
      )}
      {isDeleting && (
        <div
          className="confirm"
          role="alertdialog"
          aria-label="Delete this session?"
          onKeyDown={({ key }) => {
            if (key === 'Escape') keep();
          }}
        >
          <p>Delete “{sessions.find(({ id }) => id === sessionId)?.title ?? sessionId}” with its events and files?</p>
          <div className="row">
            <Button className="danger grow" onPress={() => void deleteSession()}>
              Delete it
            </Button>
            <Button className="quiet grow" autoFocus onPress={keep}>
              Keep it
            </Button>
          </div>
        </div>
      )}
      {incomplete && (
        <div
          className="confirm"
          data-kind="export"
          role="alertdialog"
          aria-label="Export without these files?"
          onKeyDown={({ key }) => {
            if (key === 'Escape') closeExport();
          }}
        >
          <p>The file will not have:</p>
          <ul>
            {incomplete.leftOut.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          <div className="row">
            <Button
              className="primary grow"
              autoFocus
              onPress={() => {
                incomplete.save();
                closeExport();
              }}
            >
              Export the rest
            </Button>
            <Button className="quiet grow" onPress={closeExport}>
              Cancel
            </Button>
          </div>
        </div>
      )}
      <div className="row actions">
        <Button
          ref={exportButton}
          className="quiet grow"
          isDisabled={events.length === 0 || isBusy}
          onPress={() => void exportShown()}
        >
          Export
        </Button>
        <Button className="quiet grow" isDisabled={isBusy} onPress={() => input.current?.click()}>
          Import
        </Button>
        <Button
          ref={deleteButton}
          className="quiet grow"
          isDisabled={events.length === 0 || isRunning || isBusy}
          onPress={() => {
            setIncomplete(undefined);
            setDeleting(!isDeleting);
          }}
        >
          Delete
        </Button>
        <input
          ref={input}
          type="file"
          accept="application/json,.json"
          hidden
          aria-label="A session to import"
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            target.value = '';
            if (file) void importSession(file);
          }}
        />
      </div>
    </section>
  );
}

interface FoundTextProps {
  readonly text: string;
  readonly word: string;
}

/** Shows the place that a search has found, with the word marked. */
function FoundText({ text, word }: FoundTextProps) {
  const at = inLowerCase(text).indexOf(inLowerCase(word.trim()));
  if (at < 0) return text;
  const end = at + word.trim().length;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end)}
    </>
  );
}

/** Returns a text in lower case with the same positions: only the lower case of İ is longer. */
function inLowerCase(text: string): string {
  return text.replaceAll('İ', 'I').toLowerCase();
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/**
 * Returns the second line of a session in the list: its time, or its day if that is another one, and its id, or where
 * it was copied from.
 */
function detailOf(id: string, lastUpdateTime: number, hasTitle: boolean): string {
  const day = DAY.format(lastUpdateTime * 1000);
  const time = day === DAY.format(Date.now()) ? TIME.format(lastUpdateTime * 1000) : day;
  const origin = originOf(id);
  if (origin !== undefined) return `${origin} · ${time}`;
  return hasTitle ? `${time} · ${id.slice(0, 24)}` : time;
}

/** Time after the last key press before a search is sent, in milliseconds. */
const SETTLED_MS = 200;

/** Returns a text once it has stopped changing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Maximum size of a file to import, in bytes. The server's limit for the events, and for each artifact, may be lower. */
const MAX_IMPORT_BYTES = 150_000_000;

/** An export that lacks files. */
interface IncompleteExport {
  /** The files that it lacks, each as a text with the reason. */
  readonly leftOut: readonly string[];
  readonly save: () => void;
}

interface UserFieldProps {
  readonly userId: string;
  readonly isReadOnly: boolean;
  readonly onChange: (userId: string) => void;
}

/** The field for the user of the sessions. Another user is applied when Enter is pressed or the field loses the focus. */
function UserField({ userId, isReadOnly, onChange }: UserFieldProps) {
  const [text, setText] = useState(userId);
  const apply = (): void => {
    const next = text.trim();
    if (next === '') setText(userId);
    else if (next !== userId) onChange(next);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <TextField className="field" isReadOnly={isReadOnly} value={text} onChange={setText} onBlur={apply}>
        <Label>User</Label>
        <Input />
      </TextField>
    </form>
  );
}
