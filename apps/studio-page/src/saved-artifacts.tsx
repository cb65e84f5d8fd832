import { useEffect, useState } from 'react';
import type { Event, Part, SessionKey } from '@eventloom/core';
import type { Message } from '@eventloom/client';
import { Media } from './media.tsx';
import { client } from './studio-client.ts';

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

/** Names of files that a page can show or play. */
const PREVIEWED = /\.(?:png|jpe?g|gif|webp|avif|svg|mp3|wav|ogg|m4a|mp4|webm)$/i;

interface SavedArtifactsProps {
  readonly place: SessionKey;
  readonly artifacts: readonly SavedArtifact[];
  readonly onShow: (artifact: SavedArtifact) => void;
}

/** Shows artifacts that were saved, with pictures and sounds. Each opens in the inspector. */
export function SavedArtifacts({ place, artifacts, onShow }: SavedArtifactsProps) {
  return (
    <ul className="saved">
      {artifacts.map((artifact) => (
        <li key={`${artifact.version} ${artifact.name}`}>
          <button type="button" onClick={() => onShow(artifact)}>
            <span>{artifact.name}</span>
            <small>saved, version {artifact.version}</small>
          </button>
          {PREVIEWED.test(artifact.name) && <ArtifactPreview place={place} artifact={artifact} />}
        </li>
      ))}
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
