import { useEffect, useMemo, useState } from 'react';
import type { Event, Part } from '@eventloom/core';
import { ServerError } from '@eventloom/client';
import type { Place } from './app.tsx';
import { Media } from './media.tsx';
import { client } from './studio-client.ts';

interface ArtifactsTabProps {
  readonly place: Place;
  readonly events: readonly Event[];
}

/** The artifacts of the session with their versions, and a preview. */
export function ArtifactsTab({ place, events }: ArtifactsTabProps) {
  const { appName, userId, sessionId } = place;
  const session = useMemo(() => client.session({ appName, userId, sessionId }), [appName, userId, sessionId]);
  const [names, setNames] = useState<readonly string[]>([]);
  const [name, setName] = useState<string>();
  const [versions, setVersions] = useState<readonly number[]>([]);
  const [version, setVersion] = useState<number>();
  const [part, setPart] = useState<Part>();
  const [error, setError] = useState<string>();
  const saved = useMemo(
    () => events.filter(({ actions }) => Object.keys(actions.artifactDelta).length > 0).length,
    [events],
  );

  useEffect(() => {
    session
      .listArtifacts()
      .then((found) => setNames(found))
      .catch((thrown: unknown) => {
        // A session is stored with its first message.
        if (!(ServerError.isInstance(thrown) && thrown.serverCode === 'SESSION_NOT_FOUND')) setError(String(thrown));
      });
  }, [session, saved]);

  useEffect(() => {
    if (name === undefined) return;
    let isCurrent = true;
    void (async () => {
      try {
        const found = await session.listArtifactVersions(name);
        const loaded = await session.loadArtifact(name, version);
        if (!isCurrent) return;
        setVersions(found);
        setPart(loaded);
        setError(undefined);
      } catch (thrown) {
        if (isCurrent) setError(String(thrown));
      }
    })();
    return () => {
      isCurrent = false;
    };
  }, [session, name, version, saved]);

  return (
    <div className="artifacts">
      {names.length === 0 && <p className="empty">No artifacts in this session.</p>}
      <ul>
        {names.map((each) => (
          <li key={each}>
            <button
              type="button"
              aria-pressed={each === name}
              onClick={() => {
                setVersion(undefined);
                setName(each);
              }}
            >
              {each}
            </button>
          </li>
        ))}
      </ul>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      {name !== undefined && part && (
        <section aria-label={name}>
          <div className="row">
            <b>{name}</b>
            <label>
              Version{' '}
              <select
                value={version ?? versions.at(-1) ?? ''}
                onChange={({ target }) => setVersion(Number(target.value))}
              >
                {versions.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
          </div>
          <Media part={part} />
        </section>
      )}
    </div>
  );
}
