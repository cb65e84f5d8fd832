import { useEffect, useMemo, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Event, Part, SessionKey } from '@eventloom/core';
import { type Message, ServerError } from '@eventloom/client';
import { Media, shownName } from './media.tsx';
import { client, messageOf } from './studio-client.ts';

/** A version of an artifact that an event saved. */
export interface SavedArtifact {
  readonly name: string;
  readonly version: number;
}

/** Returns the artifacts that an event saved. */
export function artifactsIn({ actions }: Event): readonly SavedArtifact[] {
  return Object.entries(actions.artifactDelta).map(([name, version]) => ({ name, version }));
}

/**
 * Returns the artifacts that events saved, by the id of the message below which they are shown: the message with the call that saved them,
 * otherwise the last message of the run before the event.
 */
export function artifactsByMessage(
  events: readonly Event[],
  messages: readonly Message[],
): ReadonlyMap<string, readonly SavedArtifact[]> {
  const shown = new Map<string, readonly SavedArtifact[]>();
  for (const event of events) {
    const saved = artifactsIn(event);
    if (saved.length === 0) continue;
    const answered = new Set(event.content?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []));
    const message =
      messages.findLast(({ parts }) => parts.some((part) => part.type === 'call' && answered.has(part.id))) ??
      messages.findLast(
        ({ invocationId, timestamp }) => invocationId === event.invocationId && timestamp <= event.timestamp,
      );
    if (message) shown.set(message.id, [...(shown.get(message.id) ?? []), ...saved]);
  }
  return shown;
}

/** The names of the artifacts that a session has. */
export interface StoredArtifacts {
  readonly names: readonly string[];
  /** False until the names are read that the session has since the last event that saved one. */
  readonly isCurrent: boolean;
  readonly error: string | undefined;
}

/**
 * Reads the names of a session's artifacts. An event may have saved an artifact that the session does not have: it was
 * deleted, or the session was imported without its files.
 *
 * @param saves number of events that saved artifacts. The names are read again when it changes
 */
export function useStoredArtifacts(
  { appName, userId, sessionId }: SessionKey,
  saves: number,
  isNeeded: boolean,
): StoredArtifacts {
  const [read, setRead] = useState<{ readonly names: readonly string[]; readonly saves: number }>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (!isNeeded) return undefined;
    let isLeft = false;
    const set = (names: readonly string[], failure?: string): void => {
      if (isLeft) return;
      setRead((before) => (failure === undefined ? { names, saves } : before));
      setError(failure);
    };
    client
      .session({ appName, userId, sessionId })
      .listArtifacts()
      .then((names) => set(names))
      .catch((thrown: unknown) => {
        // The server stores a session with its first message.
        const isNew = ServerError.isInstance(thrown) && thrown.serverCode === 'SESSION_NOT_FOUND';
        set([], isNew ? undefined : messageOf(thrown));
      });
    return () => {
      isLeft = true;
    };
  }, [appName, userId, sessionId, saves, isNeeded]);
  return useMemo(() => ({ names: read?.names ?? [], isCurrent: read?.saves === saves, error }), [read, saves, error]);
}

/** Names of files that a page can show or play. */
const PREVIEWED = /\.(?:png|jpe?g|gif|webp|avif|svg|mp3|wav|ogg|m4a|mp4|webm)$/i;

/** Number of artifacts below a message that are shown at first. */
const SHOWN = 6;

interface SavedArtifactsProps {
  readonly place: SessionKey;
  readonly artifacts: readonly SavedArtifact[];
  readonly stored: StoredArtifacts;
  readonly onShow: (artifact: SavedArtifact) => void;
}

/** Shows artifacts that were saved, with pictures and sounds. Each opens in the inspector. */
export function SavedArtifacts({ place, artifacts, stored, onShow }: SavedArtifactsProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || artifacts.length <= SHOWN ? artifacts : artifacts.slice(0, SHOWN - 1);
  return (
    <ul className="saved">
      {shown.map((artifact) => {
        const isStored = stored.names.includes(artifact.name);
        return (
          <li key={`${artifact.version} ${artifact.name}`}>
            <button type="button" onClick={() => onShow(artifact)}>
              <span>{shownName(artifact.name)}</span>
              <small>
                saved, version {artifact.version}
                {stored.isCurrent && !isStored && ', not in this session'}
              </small>
            </button>
            {isStored && PREVIEWED.test(artifact.name) && <ArtifactPreview place={place} artifact={artifact} />}
          </li>
        );
      })}
      {shown.length < artifacts.length && (
        <li>
          <Button className="link" onPress={() => setWhole(true)}>
            Show all {artifacts.length} files
          </Button>
        </li>
      )}
    </ul>
  );
}

interface ArtifactPreviewProps {
  readonly place: SessionKey;
  readonly artifact: SavedArtifact;
}

function ArtifactPreview({ place, artifact: { name, version } }: ArtifactPreviewProps) {
  const { appName, userId, sessionId } = place;
  const [part, setPart] = useState<Part>();
  useEffect(() => {
    let isLeft = false;
    client
      .session({ appName, userId, sessionId })
      .loadArtifact(name, version)
      .then((loaded) => {
        if (!isLeft) setPart(loaded);
      })
      // The artifact may have been deleted. Its name is shown without a preview.
      .catch((error: unknown) => console.warn(error));
    return () => {
      isLeft = true;
    };
  }, [appName, userId, sessionId, name, version]);
  return part ? <Media part={part} name={name} /> : null;
}
