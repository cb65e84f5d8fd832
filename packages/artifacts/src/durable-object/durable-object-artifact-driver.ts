import { decodeBase64, type DurableObjectStorage, encodeBase64, SizeLimitError } from '@eventloom/core';
import { joinBytes, USER_PREFIX } from '@eventloom/core/internal';
import type {
  ArtifactDriver,
  ArtifactOwner,
  ArtifactPlace,
  ArtifactRead,
  ArtifactRecord,
  StoredArtifact,
} from '../artifact-driver.ts';
import { migrateArtifacts } from './schema.ts';

/**
 * Maximum size of a version, its bytes and its record together. Loading it takes four times as much of the 128 MB of
 * memory that an object has.
 */
const MAX_BYTES = 16_777_216;
/** Size of a piece. A row takes 2 MB. */
const PIECE_BYTES = 1_048_576;
const RECORD = 0;
const BYTES = 1;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Artifacts in the SQL storage of a Durable Object, see `schema.ts`. Nothing else runs during synchronous work. */
export class DurableObjectArtifactDriver implements ArtifactDriver {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    migrateArtifacts(storage);
  }

  save(place: ArtifactPlace, { record, data }: StoredArtifact): number {
    const json = encodeChecked(place, { record, data });
    const bytes = data === undefined ? undefined : decodeBase64(data);
    const { sql } = this.#storage;
    return this.#storage.transactionSync(() => {
      const [row] = sql
        .exec(
          `INSERT INTO eventloom_artifacts (app_name, user_id, session_id, name, next) VALUES (?1, ?2, ?3, ?4, 1)
            ON CONFLICT DO UPDATE SET next = next + 1 RETURNING pk, next - 1 AS version`,
          ...bindingsOf(place),
          place.name,
        )
        .toArray();
      const artifact = Number(row?.['pk']);
      const version = Number(row?.['version']);
      this.#insert(artifact, RECORD, version, json);
      if (bytes) this.#insert(artifact, BYTES, version, bytes);
      return version;
    });
  }

  checkSave(place: ArtifactPlace, artifact: StoredArtifact): void {
    encodeChecked(place, artifact);
  }

  read(place: ArtifactPlace, { version, withData }: ArtifactRead) {
    const found = this.#find(place);
    if (!found) return undefined;
    const wanted = version ?? found.latest;
    const json = this.#select(found.artifact, RECORD, wanted);
    if (!json) return undefined;
    const record = JSON.parse(decoder.decode(json)) as ArtifactRecord;
    const bytes = withData ? this.#select(found.artifact, BYTES, wanted) : undefined;
    return { record, data: bytes && encodeBase64(bytes), version: wanted };
  }

  versions(place: ArtifactPlace): number[] {
    const found = this.#find(place);
    if (!found) return [];
    const query = 'SELECT version FROM eventloom_artifact_pieces WHERE artifact = ?1 AND kind = ?2 AND ordinal = 0';
    const rows = this.#storage.sql.exec(query, found.artifact, RECORD).toArray();
    return rows.map(({ version }) => Number(version));
  }

  names(owner: ArtifactOwner): string[] {
    const rows = this.#storage.sql.exec(
      `SELECT name FROM eventloom_artifacts WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
        AND EXISTS (SELECT 1 FROM eventloom_artifact_pieces WHERE artifact = eventloom_artifacts.pk)`,
      ...bindingsOf(owner),
    );
    return rows.toArray().map(({ name }) => String(name));
  }

  delete(place: ArtifactPlace): void {
    const found = this.#find(place);
    if (found) this.#storage.sql.exec('DELETE FROM eventloom_artifact_pieces WHERE artifact = ?1', found.artifact);
  }

  #find(place: ArtifactPlace): { readonly artifact: number; readonly latest: number } | undefined {
    const [row] = this.#storage.sql
      .exec(
        `SELECT pk, next - 1 AS latest FROM eventloom_artifacts
          WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND name = ?4`,
        ...bindingsOf(place),
        place.name,
      )
      .toArray();
    return row && { artifact: Number(row['pk']), latest: Number(row['latest']) };
  }

  /** Inserts at least one piece, so that empty data is distinct from a part without data. */
  #insert(artifact: number, kind: number, version: number, bytes: Uint8Array): void {
    for (let start = 0; start === 0 || start < bytes.length; start += PIECE_BYTES) {
      this.#storage.sql.exec(
        'INSERT INTO eventloom_artifact_pieces VALUES (?1, ?2, ?3, ?4, ?5)',
        artifact,
        kind,
        version,
        start / PIECE_BYTES,
        bytes.subarray(start, start + PIECE_BYTES),
      );
    }
  }

  #select(artifact: number, kind: number, version: number): Uint8Array | undefined {
    const query = `SELECT bytes FROM eventloom_artifact_pieces WHERE artifact = ?1 AND kind = ?2 AND version = ?3
      ORDER BY ordinal`;
    const pieces = this.#storage.sql
      .exec(query, artifact, kind, version)
      .toArray()
      .flatMap(({ bytes }) => (bytes instanceof ArrayBuffer ? [new Uint8Array(bytes)] : []));
    const [first] = pieces;
    return pieces.length > 1 ? joinBytes(pieces) : first;
  }
}

/** Returns the session id of the rows; empty for artifacts of the user, because no session id is empty. */
function bindingsOf({ appName, userId, sessionId = '' }: ArtifactOwner): readonly [string, string, string] {
  return [appName, userId, sessionId];
}

/** Returns the number of bytes that a standard, padded base64 string encodes. */
function sizeOf(data = ''): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return (data.length / 4) * 3 - padding;
}

/** Returns the record as bytes. @throws SizeLimitError if it is too large together with the data */
function encodeChecked({ name, sessionId }: ArtifactPlace, { record, data }: StoredArtifact): Uint8Array {
  const json = encoder.encode(JSON.stringify(record));
  const bytes = json.length + sizeOf(data);
  if (bytes <= MAX_BYTES) return json;
  const filename = sessionId === undefined ? USER_PREFIX + name : name;
  throw new SizeLimitError(
    `artifact ${JSON.stringify(filename)} takes ${bytes} bytes, and at most ${MAX_BYTES} can be stored in a Durable Object; keep large artifacts in R2`,
  );
}
