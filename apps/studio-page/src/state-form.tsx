import { useState } from 'react';
import type { SessionKey } from '@eventloom/core';
import { Button } from 'react-aria-components';
import { refusalOf } from './refused-state.ts';
import { client, createSession, messageOf } from './studio-client.ts';

interface StateFormProps {
  readonly place: SessionKey;
  /** Called when the server has stored a value. */
  readonly onStored: () => void;
}

/** Sets a value of the state, also of a session that has no message yet: its agents then begin with the value. */
export function StateForm({ place, onStored }: StateFormProps) {
  const [key, setKey] = useState('');
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  const store = async (): Promise<void> => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return setError(`The value is not JSON. Put a text into quotes, such as ${JSON.stringify(text)}.`);
    }
    const why = refusalOf(key.trim(), text);
    if (why !== undefined) return setError(why);
    setError(undefined);
    setBusy(true);
    try {
      await createSession(place);
      await client.session(place).updateState({ [key.trim()]: value });
      setKey('');
      setText('');
      onStored();
    } catch (thrown) {
      setError(messageOf(thrown));
    }
    setBusy(false);
  };

  return (
    <details className="state-form">
      <summary>Set a value</summary>
      <form
        className="fields"
        onSubmit={(event) => {
          event.preventDefault();
          void store();
        }}
      >
        <label className="field">
          Key
          <input
            required
            pattern=".*\S.*"
            autoComplete="off"
            placeholder="such as color, user:color or app:color"
            value={key}
            onChange={({ target }) => setKey(target.value)}
          />
        </label>
        <label className="field">
          Value
          <textarea
            required
            rows={2}
            placeholder={'JSON, such as "blue", 3 or {"x": 1}'}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        {error !== undefined && (
          <p className="error" role="alert">
            {error}
          </p>
        )}
        <Button className="primary" type="submit" isDisabled={isBusy}>
          Set
        </Button>
      </form>
    </details>
  );
}
