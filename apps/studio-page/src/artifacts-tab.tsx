import { useEffect, useMemo, useState } from 'react';
import { diffLines } from 'diff';
import type { Event, Part, SessionKey } from '@eventloom/core';
import { ServerError } from '@eventloom/client';
import { Media, textIn } from './media.tsx';
import { client } from './studio-client.ts';

interface ArtifactsTabProps {
  readonly place: SessionKey;
  readonly events: readonly Event[];
}

/** Shows the artifacts of the session with their versions, and a preview. */
export function ArtifactsTab({ place, events }: ArtifactsTabProps) {
  const { appName, userId, sessionId } = place;
  const session = useMemo(() => client.session({ appName, userId, sessionId }), [appName, userId, sessionId]);
  const [names, setNames] = useState<readonly string[]>([]);
  const [name, setName] = useState<string>();
  const [versions, setVersions] = useState<readonly number[]>([]);
  const [version, setVersion] = useState<number>();
  const [part, setPart] = useState<Part>();
  /** The version that the shown version is compared with. */
  const [base, setBase] = useState<number>();
  const [basePart, setBasePart] = useState<Part>();
  const [error, setError] = useState<string>();
  const saved = useMemo(
    () => events.filter(({ actions }) => Object.keys(actions.artifactDelta).length > 0).length,
    [events],
  );

  useEffect(() => {
    session
      .listArtifacts()
      .then((found) => {
        setNames(found);
        setName((before) => before ?? found[0]);
      })
      .catch((thrown: unknown) => {
        // The server stores a session with its first message.
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
        const compared = base === undefined ? undefined : await session.loadArtifact(name, base);
        if (!isCurrent) return;
        setBasePart(compared);
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
  }, [session, name, version, base, saved]);

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
                setBase(undefined);
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
          {basePart ? <Comparison before={basePart} after={part} /> : <Media part={part} />}
        </section>
      )}
    </div>
  );
}

/**
 * Maximum length of two compared texts together, in characters: longer ones are shown side by side, because a
 * comparison would take too long.
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
