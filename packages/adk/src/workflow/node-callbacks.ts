import type { InvocationContext } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { BaseNode } from './base-node.ts';
import type { AdkNodeContext } from './node-context.ts';

/** Parameters of the callbacks of plugins around a node, by the name of the callback. */
interface NodeCallbacks {
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
 * Calls a callback of the plugins in the order of the runner, until one returns a value. Null is a value, as it is an output. Undefined if none does.
 * @throws what a plugin throws, and the reason of the guard if it fires first
 */
export async function askPlugins<K extends keyof NodeCallbacks>(
  { plugins: { plugins } }: InvocationContext,
  guard: AbortGuard,
  callback: K,
  params: NodeCallbacks[K],
): Promise<{ readonly value: unknown } | undefined> {
  for (const plugin of plugins) {
    // Only plugins for programs of the ADK have these callbacks.
    const ask: unknown = Reflect.get(plugin, callback);
    if (typeof ask !== 'function') continue;
    const value: unknown = await guard.until(Promise.resolve(ask.call(plugin, params)));
    if (value !== undefined) return { value };
  }
  return undefined;
}
