import { BasePlugin, ConfigurationError } from '@eventloom/core';
import { wrongOption } from '@eventloom/core/internal';
import { isInstanceOf } from './class-checks.ts';
import type { BaseNode } from './workflow/base-node.ts';
import type { AdkNodeContext } from './workflow/node-context.ts';

/** The base of plugin classes of the program. */
abstract class OwnPlugin extends BasePlugin {
  /** The name of the class in error messages. */
  static override readonly name: string = 'BasePlugin';
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, OwnPlugin, BasePlugin, value);
  }

  /**
   * Called before each node of a workflow, once for all of its attempts. A returned value is the output of the node,
   * which does not run; later plugins are not called, and neither is `afterNodeCallback`. A node that completed before
   * its workflow was continued does not call it again.
   */
  beforeNodeCallback(_params: { node: BaseNode; nodeContext: AdkNodeContext; input: unknown }): unknown {
    return undefined;
  }

  /**
   * Called after each node of a workflow that did not fail, also after one that waits for an answer. A returned value
   * replaces the output for the nodes after it; the node's own event stays as it is.
   */
  afterNodeCallback(_params: { node: BaseNode; nodeContext: AdkNodeContext; output: unknown }): unknown {
    return undefined;
  }
}

/** Any plugin of programs that were written for `@google/adk`, also one of another package of Eventloom. */
export type AdkBasePlugin = BasePlugin;

/**
 * Base class of plugins for programs that were written for `@google/adk`: that of `@eventloom/core`, and two callbacks
 * around each node of a `Workflow`. A callback that returns undefined only observes.
 *
 * @example
 * class Gate extends BasePlugin {
 *   override beforeNodeCallback({ node }: { node: BaseNode }): string | undefined {
 *     return node.name === 'payment' ? 'payments are closed' : undefined;
 *   }
 * }
 */
export const AdkBasePlugin: typeof OwnPlugin = OwnPlugin;

/** A plugin that a `Runner` of this package adds itself. */
export abstract class RunnerPlugin extends BasePlugin {}

/** Callbacks of plugins of the ADK that no run calls. */
const NEVER_CALLED = ['beforeContextCompaction', 'afterContextCompaction'] as const;

/**
 * Checks a list of plugins.
 * @throws ConfigurationError for another value, for a plugin of `@google/adk` itself, and for one with a callback that
 * no run would call
 */
export function checkPluginCallbacks(owner: string, plugins: readonly BasePlugin[]): void {
  if (!Array.isArray(plugins))
    throw wrongOption(owner, 'plugins', 'a list of plugins', plugins, '[new LoggingPlugin()]');
  for (const [index, plugin] of plugins.entries()) {
    if (typeof plugin?.beforeRunCallback !== 'function')
      throw wrongOption(owner, `plugins[${index}]`, 'a plugin', plugin, '[new LoggingPlugin()]');
    if (typeof plugin.onRunErrorCallback !== 'function')
      throw new ConfigurationError(
        `${owner}: plugin "${plugin.name}": is a plugin of another library, as of @google/adk; write a class that extends BasePlugin of eventloom/adk`,
      );
    for (const callback of NEVER_CALLED)
      if (typeof Reflect.get(plugin, callback) === 'function')
        throw new ConfigurationError(
          `${owner}: plugin "${plugin.name}": ${callback} is not called, because conversations are shortened outside of the events that plugins see; remove it, and write a summarizer of your own in eventsCompaction to see what is summarized`,
        );
  }
}
