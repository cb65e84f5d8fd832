// The part of the Workers runtime's modules that tests use. The packages themselves name no type of the platform.

declare module 'cloudflare:workers' {
  export interface SqlStorage {
    exec<T extends Record<string, ArrayBuffer | string | number | null>>(
      query: string,
      ...bindings: unknown[]
    ): { toArray(): T[]; one(): T };
  }
  export interface DurableObjectStorage {
    readonly sql: SqlStorage;
    transactionSync<T>(closure: () => T): T;
  }
  export interface DurableObjectState {
    readonly storage: DurableObjectStorage;
  }
  export interface DurableObjectId {
    toString(): string;
  }
  export interface DurableObjectStub {
    readonly id: DurableObjectId;
  }
  export interface DurableObjectNamespace {
    newUniqueId(): DurableObjectId;
    get(id: DurableObjectId): DurableObjectStub;
  }
  export class DurableObject {
    constructor(ctx: DurableObjectState, env: unknown);
    protected readonly ctx: DurableObjectState;
  }
  /** The bindings of `wrangler.jsonc`. */
  export const env: { readonly STORAGE: DurableObjectNamespace };
}

declare module 'cloudflare:test' {
  import type { DurableObjectState, DurableObjectStub } from 'cloudflare:workers';

  export function runInDurableObject<R>(
    stub: DurableObjectStub,
    callback: (instance: unknown, state: DurableObjectState) => R | Promise<R>,
  ): Promise<R>;
  export function evictDurableObject(stub: DurableObjectStub): Promise<void>;
}
