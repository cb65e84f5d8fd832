import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { diffLines } from 'diff';
import type { Event, Part, SessionKey } from '@eventloom/core';
import { Input, TextField } from 'react-aria-components';
import { describeMedia, Media, shownName, textIn } from './media.tsx';
import type { SavedArtifact, StoredArtifacts } from './saved-artifacts.tsx';
import { client, messageOf } from './studio-client.ts';

interface ArtifactsTabProps {
  readonly place: SessionKey;
  /** All events of the session. */
  readonly events: readonly Event[];
  /** Number of events up to the shown moment. */
  readonly count: number;
  /** The artifact that the person chose elsewhere. */
  readonly selected: SavedArtifact | undefined;
  readonly stored: StoredArtifacts;
}

/** Number of files from which on they can be searched. */
const MANY = 8;

/** Shows the artifacts of the session with their versions at the shown moment, and a preview. */
export const ArtifactsTab = memo(function ArtifactsTab({ place, events, count, selected, stored }: ArtifactsTabProps) {
  const { appName, userId, sessionId } = place;
  const session = useMemo(() => client.session({ appName, userId, sessionId }), [appName, userId, sessionId]);
  const [chosen, setChosen] = useState<string>();
  const [storedVersions, setStoredVersions] = useState<readonly number[]>([]);
  const [chosenVersion, setVersion] = useState<number>();
  const [part, setPart] = useState<Part>();
  /** The version with which the shown version is compared. */
  const [base, setBase] = useState<number>();
  const [basePart, setBasePart] = useState<Part>();
  const [error, setError] = useState<string>();
  const [search, setSearch] = useState('');
  const list = useRef<HTMLUListElement>(null);

  useEffect(() => {
    if (!selected) return;
    setSearch('');
    setChosen(selected.name);
    setVersion(selected.version);
    setBase(undefined);
  }, [selected]);

  const newest = useMemo(() => versionsAt(events, count), [events, count]);
  // A file that no event saved has no known time, so it is always shown.
  const names = stored.names.filter((each) => newest.get(each) !== 'later');
  const isMissing = chosen !== undefined && !names.includes(chosen);
  // The file that is shown before one is chosen stays when another one is saved whose name sorts before it.
  const [shownFirst, setShownFirst] = useState<string>();
  const first = shownFirst !== undefined && names.includes(shownFirst) ? shownFirst : names[0];
  if (first !== shownFirst) setShownFirst(first);
  const name = isMissing ? undefined : (chosen ?? first);
  const word = search.trim().toLowerCase();
  const shown = names.filter((each) => each.toLowerCase().includes(word));
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
  }, [session, name, version, base, stored]);

  useEffect(() => {
    list.current?.querySelector('[aria-pressed=true]')?.scrollIntoView({ block: 'nearest' });
  }, [name]);

  return (
    <div className="artifacts">
      {names.length === 0 && (
        <p className="empty">
          {isPast ? 'No artifacts at this moment.' : 'No artifacts in this session. Files that tools save appear here.'}
        </p>
      )}
      {names.length > MANY && (
        <TextField aria-label="Search files" value={search} onChange={setSearch}>
          <Input placeholder={`Search ${names.length} files`} />
        </TextField>
      )}
      {names.length > 0 && shown.length === 0 && <p className="empty">No file has “{search.trim()}” in its name.</p>}
      <ul ref={list}>
        {shown.map((each) => (
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
              <ArtifactName name={each} />
            </button>
          </li>
        ))}
      </ul>
      {(stored.error ?? error) !== undefined && (
        <p className="error" role="alert">
          {stored.error ?? error}
        </p>
      )}
      {isMissing && stored.isCurrent && (
        <p className="empty">
          {isPast && stored.names.includes(chosen)
            ? `The file “${chosen}” did not exist at this moment.`
            : `The file “${chosen}” is not in this session: it was deleted, or the session was imported without its files.`}
        </p>
      )}
      {name !== undefined && part && (
        <section aria-label={name}>
          <div className="row">
            <span className="file-name">
              <ArtifactName name={name} /> <small>{describeMedia(part)}</small>
            </span>
            <label>
              Version{' '}
              <select
                value={version ?? versions.at(-1) ?? ''}
                onChange={({ target }) => {
                  setChosen(name);
                  setVersion(Number(target.value));
                }}
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
                  onChange={({ target }) => {
                    setChosen(name);
                    setBase(target.value === '' ? undefined : Number(target.value));
                  }}
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

/** Shows the name of an artifact. The name of one that all sessions of the user share begins with `user:`. */
function ArtifactName({ name }: { readonly name: string }) {
  if (!name.startsWith('user:')) return <b>{shownName(name)}</b>;
  return (
    <>
      <b>{shownName(name.slice('user:'.length))}</b> <small>of the user</small>
    </>
  );
}

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
