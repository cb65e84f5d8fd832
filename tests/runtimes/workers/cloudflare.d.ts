// The part of the Workers runtime's modules that tests use. The packages themselves name no type of the platform.

declare module 'cloudflare:workers' {
  export interface SqlStorage {
    exec<T extends Record<string, ArrayBuffer | string | number | null>>(
      query: string,
      ...bindings: unknown[]
    ): { toArray(): T[]; one(): T; readonly rowsRead: number; readonly rowsWritten: number };
  }
  export interface DurableObjectStorage {
    readonly sql: SqlStorage;
    transactionSync<T>(closure: () => T): T;
    getAlarm(): Promise<number | null>;
    setAlarm(scheduledTimeMs: number): Promise<void>;
    sync(): Promise<void>;
  }
  export interface DurableObjectState {
    readonly id: DurableObjectId;
    readonly storage: DurableObjectStorage;
    abort(reason?: string): void;
  }
  export interface DurableObjectId {
    toString(): string;
  }
  export interface DurableObjectStub {
    readonly id: DurableObjectId;
    fetch(request: Request): Promise<Response>;
  }
  export interface DurableObjectNamespace {
    newUniqueId(): DurableObjectId;
    get(id: DurableObjectId): DurableObjectStub;
    getByName(name: string): DurableObjectStub;
  }
  export class DurableObject {
    constructor(ctx: DurableObjectState, env: unknown);
    protected readonly ctx: DurableObjectState;
  }
  export interface R2Conditional {
    etagMatches?: string;
    etagDoesNotMatch?: string;
    uploadedBefore?: Date;
    uploadedAfter?: Date;
    secondsGranularity?: boolean;
  }
  export interface R2GetOptions {
    onlyIf?: R2Conditional | Headers;
    range?: { offset: number; length?: number } | { offset?: number; length: number } | { suffix: number } | Headers;
  }
  export interface R2PutOptions {
    onlyIf?: R2Conditional | Headers;
    customMetadata?: Record<string, string>;
  }
  export interface R2ListOptions {
    limit?: number;
    prefix?: string;
    cursor?: string;
    delimiter?: string;
    startAfter?: string;
    include?: ('httpMetadata' | 'customMetadata')[];
  }
  export interface R2Object {
    readonly key: string;
    readonly version: string;
    readonly size: number;
    readonly etag: string;
    readonly uploaded: Date;
    readonly customMetadata?: Record<string, string>;
  }
  export interface R2ObjectBody extends R2Object {
    get body(): ReadableStream;
    arrayBuffer(): Promise<ArrayBuffer>;
    text(): Promise<string>;
  }
  export type R2Objects = { objects: R2Object[]; delimitedPrefixes: string[] } & (
    | { truncated: true; cursor: string }
    | { truncated: false }
  );
  type R2Value = ReadableStream | ArrayBuffer | ArrayBufferView | string | null | Blob;
  export interface R2Bucket {
    head(key: string): Promise<R2Object | null>;
    get(
      key: string,
      options: R2GetOptions & { onlyIf: R2Conditional | Headers },
    ): Promise<R2ObjectBody | R2Object | null>;
    get(key: string, options?: R2GetOptions): Promise<R2ObjectBody | null>;
    put(
      key: string,
      value: R2Value,
      options?: R2PutOptions & { onlyIf: R2Conditional | Headers },
    ): Promise<R2Object | null>;
    put(key: string, value: R2Value, options?: R2PutOptions): Promise<R2Object>;
    delete(keys: string | string[]): Promise<void>;
    list(options?: R2ListOptions): Promise<R2Objects>;
  }
  /** The bindings of the Workers that tests run in: each has some of them. */
  export const env: {
    readonly STORAGE: DurableObjectNamespace;
    readonly EVENTLOOM_USERS: DurableObjectNamespace;
    readonly GUARDED_USERS: DurableObjectNamespace;
    readonly EVENTLOOM_APPS: DurableObjectNamespace;
    readonly ARTIFACTS: R2Bucket;
  };
  /** The exports of the Worker itself. */
  export const exports: { readonly default: { fetch(request: Request): Promise<Response> } };
}

declare module 'cloudflare:test' {
  import type { DurableObjectState, DurableObjectStub } from 'cloudflare:workers';

  export function runInDurableObject<R>(
    stub: DurableObjectStub,
    callback: (instance: unknown, state: DurableObjectState) => R | Promise<R>,
  ): Promise<R>;
  export function runDurableObjectAlarm(stub: DurableObjectStub): Promise<boolean>;
  export function evictDurableObject(stub: DurableObjectStub): Promise<void>;
  /** Takes the memory of all objects, whatever they are doing: as when their machine dies. */
  export function abortAllDurableObjects(): Promise<void>;
  /** Deletes all objects with what they store. */
  export function reset(): Promise<void>;
}
