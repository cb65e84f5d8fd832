import { memo, useEffect, useMemo, useState } from 'react';
import { diffLines } from 'diff';
import type { Event, Part, SessionKey } from '@eventloom/core';
import { ServerError } from '@eventloom/client';
import { Media, textIn } from './media.tsx';
import type { SavedArtifact } from './saved-artifacts.tsx';
import { client, messageOf } from './studio-client.ts';

interface ArtifactsTabProps {
  readonly place: SessionKey;
  /** All events of the session. */
  readonly events: readonly Event[];
  /** Number of events up to the shown moment. */
  readonly count: number;
  /** The artifact that the person chose elsewhere. */
  readonly selected: SavedArtifact | undefined;
}

/** Shows the artifacts of the session with their versions at the shown moment, and a preview. */
export const ArtifactsTab = memo(function ArtifactsTab({ place, events, count, selected }: ArtifactsTabProps) {
  const { appName, userId, sessionId } = place;
  const session = useMemo(() => client.session({ appName, userId, sessionId }), [appName, userId, sessionId]);
  const [stored, setStored] = useState<readonly string[]>([]);
  const [chosen, setChosen] = useState<string>();
  const [storedVersions, setStoredVersions] = useState<readonly number[]>([]);
  const [chosenVersion, setVersion] = useState<number>();
  const [part, setPart] = useState<Part>();
  /** The version with which the shown version is compared. */
  const [base, setBase] = useState<number>();
  const [basePart, setBasePart] = useState<Part>();
  const [error, setError] = useState<string>();
  const [listError, setListError] = useState<string>();
  const saved = useMemo(
    () => events.filter(({ actions }) => Object.keys(actions.artifactDelta).length > 0).length,
    [events],
  );

  useEffect(() => {
    session
      .listArtifacts()
      .then((found) => {
        setStored(found);
        setListError(undefined);
      })
      .catch((thrown: unknown) => {
        // The server stores a session with its first message.
        if (!(ServerError.isInstance(thrown) && thrown.serverCode === 'SESSION_NOT_FOUND'))
          setListError(messageOf(thrown));
      });
  }, [session, saved]);

  useEffect(() => {
    if (!selected) return;
    setChosen(selected.name);
    setVersion(selected.version);
    setBase(undefined);
  }, [selected]);

  const newest = useMemo(() => versionsAt(events, count), [events, count]);
  // A file that no event saved has no known time, so it is always shown.
  const names = stored.filter((each) => newest.get(each) !== 'later');
  const name = chosen !== undefined && names.includes(chosen) ? chosen : names[0];
  const limit = name === undefined ? undefined : newest.get(name);
  const versions = typeof limit === 'number' ? storedVersions.filter((each) => each <= limit) : storedVersions;
  const isPast = count < events.length;
  const version =
    chosenVersion !== undefined && versions.includes(chosenVersion)
      ? chosenVersion
      : isPast && typeof limit === 'number'
        ? limit
        : undefined;

  useEffect(() => {
    if (name === undefined) return;
    let isCurrent = true;
    void (async () => {
      try {
        const found = await session.listArtifactVersions(name);
        const loaded = await session.loadArtifact(name, version);
        const compared = base === undefined ? undefined : await session.loadArtifact(name, base);
        if (!isCurrent) return;
        setBasePart(compared);
        setStoredVersions(found);
        setPart(loaded);
        setError(undefined);
      } catch (thrown) {
        if (isCurrent) setError(messageOf(thrown));
      }
    })();
    return () => {
      isCurrent = false;
    };
  }, [session, name, version, base, saved]);

  return (
    <div className="artifacts">
      {names.length === 0 && (
        <p className="empty">{isPast ? 'No artifacts at this moment.' : 'No artifacts in this session.'}</p>
      )}
      <ul>
        {names.map((each) => (
          <li key={each}>
            <button
              type="button"
              aria-pressed={each === name}
              onClick={() => {
                setVersion(undefined);
                setBase(undefined);
                setChosen(each);
              }}
            >
              {each}
            </button>
          </li>
        ))}
      </ul>
      {(listError ?? error) !== undefined && (
        <p className="error" role="alert">
          {listError ?? error}
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
            {versions.length > 1 && (
              <label>
                Compare with{' '}
                <select
                  value={base ?? ''}
                  onChange={({ target }) => setBase(target.value === '' ? undefined : Number(target.value))}
                >
                  <option value="">none</option>
                  {versions
                    .filter((each) => each !== (version ?? versions.at(-1)))
                    .map((each) => (
                      <option key={each}>{each}</option>
                    ))}
                </select>
              </label>
            )}
          </div>
          {basePart ? <Comparison before={basePart} after={part} /> : <Media part={part} name={name} />}
        </section>
      )}
    </div>
  );
});

/**
 * Returns the newest version of each artifact at a moment, by the events that saved them. `later`: no version existed yet.
 *
 * @param count number of events up to the moment
 */
function versionsAt(events: readonly Event[], count: number): ReadonlyMap<string, number | 'later'> {
  const newest = new Map<string, number | 'later'>();
  for (const [index, { actions }] of events.entries())
    for (const [name, version] of Object.entries(actions.artifactDelta))
      if (index < count) newest.set(name, version);
      else if (!newest.has(name)) newest.set(name, 'later');
  return newest;
}

/**
 * Maximum length of two compared texts together, in characters. Longer ones are shown side by side, because a comparison would take too
 * long.
 */
const MAX_COMPARED_CHARS = 400_000;

/** Shows the lines in which two versions of a text differ; other files are shown one above the other. */
function Comparison({ before, after }: { readonly before: Part; readonly after: Part }) {
  const changes = useMemo(() => {
    const [old, now] = [textIn(before), textIn(after)];
    if (old === undefined || now === undefined || old.length + now.length > MAX_COMPARED_CHARS) return undefined;
    // Undefined for texts that differ so much that the comparison was abandoned.
    return diffLines(old, now, { maxEditLength: 2000 });
  }, [before, after]);
  if (!changes)
    return (
      <>
        <Media part={before} />
        <Media part={after} />
      </>
    );
  return (
    <pre className="code diff" tabIndex={0} aria-label="Changed lines">
      {changes.map(({ value, added, removed }, index) => {
        const sign = added ? '+' : removed ? '-' : ' ';
        const lines = value.replace(/\n$/, '').split('\n');
        const text = lines.map((line) => `${sign} ${line}\n`).join('');
        if (added) return <ins key={index}>{text}</ins>;
        return removed ? <del key={index}>{text}</del> : <span key={index}>{text}</span>;
      })}
    </pre>
  );
}
