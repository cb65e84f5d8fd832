import { useCallback, useEffect, useState } from 'react';
import type { Session } from '@eventloom/core';
import { Button, Input, Label, TextField } from 'react-aria-components';
import type { Place } from './app.tsx';
import { client } from './studio-client.ts';

interface SessionListProps {
  readonly apps: readonly string[];
  readonly place: Place;
  readonly goTo: (place: Place) => void;
  /** The list is read again when a run ends. */
  readonly isRunning: boolean;
  readonly newId: () => string;
}

/** The app, the user, and the sessions of both, with search. */
export function SessionList({ apps, place, goTo, isRunning, newId }: SessionListProps) {
  const { appName, userId, sessionId } = place;
  const [sessions, setSessions] = useState<readonly Session[]>([]);
  const [cursor, setCursor] = useState<string>();
  const [search, setSearch] = useState('');
  const [error, setError] = useState<string>();

  const read = useCallback(
    async (from?: string) => {
      try {
        const page = await client.listSessions({ appName, userId }, from === undefined ? {} : { cursor: from });
        setSessions((before) => (from === undefined ? page.items : [...before, ...page.items]));
        setCursor(page.nextCursor);
        setError(undefined);
      } catch (thrown) {
        setError(String(thrown));
      }
    },
    [appName, userId],
  );

  useEffect(() => {
    if (!isRunning) void read();
  }, [read, isRunning]);

  const found = sessions.filter(({ id }) => id.toLowerCase().includes(search.toLowerCase()));
  const isListed = sessions.some(({ id }) => id === sessionId);
  return (
    <aside className="sidebar" aria-label="Sessions">
      <h1 className="brand">
        <img src="./icon.svg" alt="" width="24" height="24" />
        Eventloom Studio
      </h1>
      <label className="field">
        App
        <select
          value={appName}
          onChange={({ target }) => goTo({ ...place, appName: target.value, sessionId: newId() })}
        >
          {apps.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <UserField
        key={userId}
        userId={userId}
        onChange={(next) => goTo({ ...place, userId: next, sessionId: newId() })}
      />
      <div className="row">
        <TextField className="search" aria-label="Search sessions" value={search} onChange={setSearch}>
          <Input placeholder="Search sessions" />
        </TextField>
        <Button className="primary" onPress={() => goTo({ ...place, sessionId: newId() })}>
          New
        </Button>
      </div>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <ul className="sessions" aria-label="Sessions">
        {!isListed && (
          <li>
            <button type="button" aria-current="true">
              <b>{sessionId}</b>
              <small>new</small>
            </button>
          </li>
        )}
        {found.map(({ id, lastUpdateTime }) => (
          <li key={id}>
            <button type="button" aria-current={id === sessionId} onClick={() => goTo({ ...place, sessionId: id })}>
              <b>{id}</b>
              <small>{new Date(lastUpdateTime * 1000).toLocaleString()}</small>
            </button>
          </li>
        ))}
      </ul>
      {cursor !== undefined && (
        <Button className="quiet" onPress={() => void read(cursor)}>
          More
        </Button>
      )}
    </aside>
  );
}

function UserField({ userId, onChange }: { readonly userId: string; readonly onChange: (userId: string) => void }) {
  const [text, setText] = useState(userId);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== '' && text !== userId) onChange(text);
      }}
    >
      <TextField className="field" value={text} onChange={setText}>
        <Label>User</Label>
        <Input />
      </TextField>
    </form>
  );
}
