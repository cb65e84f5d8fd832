import type { BasePlugin } from '@eventloom/core';
import type { BaseNode } from './base-node.ts';
import type { AdkNodeContext } from './node-context.ts';

/** Parameters of the callbacks of plugins around a node, by the name of the callback. */
export interface NodeCallbacks {
  readonly beforeNodeCallback: {
    readonly node: BaseNode;
    readonly nodeContext: AdkNodeContext;
    readonly input: unknown;
  };
  readonly afterNodeCallback: {
    readonly node: BaseNode;
    readonly nodeContext: AdkNodeContext;
    readonly output: unknown;
  };
}

/**
 * Calls a callback of plugins in their order, until one returns a value. Null is a value, as it is an output. Undefined if none does.
 * @throws what a plugin throws
 */
export async function askCallbacks<K extends keyof NodeCallbacks>(
  plugins: readonly BasePlugin[],
  callback: K,
  params: NodeCallbacks[K],
): Promise<{ readonly value: unknown } | undefined> {
  for (const plugin of plugins) {
    // Only plugins for programs of the ADK have these callbacks.
    const ask: unknown = Reflect.get(plugin, callback);
    const value: unknown = typeof ask === 'function' ? await ask.call(plugin, params) : undefined;
    if (value !== undefined) return { value };
  }
  return undefined;
}
