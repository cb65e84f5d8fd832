/** The part of a Worker's R2 bucket binding that the service uses. */
export interface R2ArtifactBucket {
  head(key: string): Promise<R2ArtifactObject | null>;
  get(key: string): Promise<R2ArtifactBody | null>;
  put(key: string, value: Uint8Array | string, options: R2ArtifactWrite): Promise<object | null>;
  delete(keys: string[]): Promise<void>;
  list(options: R2ArtifactListing): Promise<R2ArtifactPage>;
}

/** An object without its body. */
export interface R2ArtifactObject {
  readonly key: string;
  readonly etag: string;
  readonly customMetadata?: Record<string, string>;
}

/** An object whose body can be read. */
export interface R2ArtifactBody extends R2ArtifactObject {
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Options of a write. If the condition does not hold, the write returns null. */
export interface R2ArtifactWrite {
  customMetadata: Record<string, string>;
  onlyIf: { etagMatches: string } | { etagDoesNotMatch: string };
}

/** Options of a listing: the prefix of the keys, and the cursor to continue at. */
export interface R2ArtifactListing {
  prefix: string;
  limit?: number;
  cursor?: string;
  delimiter?: string;
  startAfter?: string;
  include?: 'customMetadata'[];
}

/** A page of keys in the order of their bytes. */
export interface R2ArtifactPage {
  readonly objects: R2ArtifactObject[];
  readonly delimitedPrefixes: string[];
  readonly truncated: boolean;
  readonly cursor?: string;
}
