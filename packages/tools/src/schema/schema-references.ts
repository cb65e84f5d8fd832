import { ConfigurationError } from '@eventloom/core';
import type { JsonSchema } from './standard-schema.ts';

/** Where the references of a schema lead, all of them within it. */
export class SchemaReferences {
  readonly #root: JsonSchema;
  #named: Map<string, unknown> | undefined;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /**
   * What a reference leads to: the schema itself, a JSON pointer into it, an anchor, or an `$id`.
   * @throws ConfigurationError when it leads nowhere
   */
  resolve(reference: string): unknown {
    const [base = '', fragment = ''] = reference.split('#', 2);
    const owner = base === '' ? this.#root : this.#names().get(base);
    const found =
      fragment === '' || fragment.startsWith('/') ? atPointer(owner, fragment) : this.#names().get(`#${fragment}`);
    if (found === undefined) throw new ConfigurationError(`the reference ${JSON.stringify(reference)} leads nowhere`);
    return found;
  }

  #names(): Map<string, unknown> {
    if (this.#named) return this.#named;
    const named = new Map<string, unknown>();
    const gather = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const { $id, $anchor, $dynamicAnchor } = value as JsonSchema;
      if (typeof $id === 'string') named.set($id.replace(/#$/, ''), value);
      for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === 'string') named.set(`#${anchor}`, value);
      for (const member of Object.values(value)) gather(member);
    };
    gather(this.#root);
    return (this.#named = named);
  }
}

function atPointer(schema: unknown, pointer: string): unknown {
  let found = schema;
  for (const segment of pointer.split('/').slice(1)) {
    const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
