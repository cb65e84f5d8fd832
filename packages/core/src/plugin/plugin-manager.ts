import { ConfigurationError } from '../errors.ts';
import { BasePlugin } from './base-plugin.ts';

/** The names of a plugin's callbacks. */
export type PluginHook = Exclude<keyof BasePlugin, 'name' | 'close'>;

type Params<H extends PluginHook> = Parameters<BasePlugin[H]>[0];
type Result<H extends PluginHook> = Exclude<Awaited<ReturnType<BasePlugin[H]>>, void>;

/** Calls the plugins of a runner. A hook is called only on the plugins that override it. */
export class PluginManager {
  /** The plugins, in the order in which they are called. */
  readonly plugins: readonly BasePlugin[];
  readonly #list: BasePlugin[];
  readonly #byHook = new Map<PluginHook, BasePlugin[]>();

  /** @throws ConfigurationError if two plugins have the same name */
  constructor(plugins: readonly BasePlugin[] = []) {
    this.#list = [...plugins];
    this.plugins = this.#list;
    const names = new Set<string>();
    for (const plugin of plugins) {
      if (names.has(plugin.name))
        throw new ConfigurationError(
          `two plugins have the name "${plugin.name}"; give one of them another name, as in super('logging_2')`,
        );
      names.add(plugin.name);
    }
  }

  /** Adds a plugin behind the others. Its name must be free. */
  add(plugin: BasePlugin): void {
    this.#list.push(plugin);
    this.#byHook.clear();
  }

  #askers(hook: PluginHook): readonly BasePlugin[] {
    let askers = this.#byHook.get(hook);
    if (!askers) {
      askers = this.plugins.filter((plugin) => plugin[hook] !== BasePlugin.prototype[hook]);
      this.#byHook.set(hook, askers);
    }
    return askers;
  }

  /** True if some plugin overrides the hook. */
  has(hook: PluginHook): boolean {
    return this.plugins.length > 0 && this.#askers(hook).length > 0;
  }

  /** Calls the hook on one plugin after the other, in registration order, and returns the first value that is not undefined or null. */
  async first<H extends PluginHook>(hook: H, params: Params<H>): Promise<Result<H> | undefined> {
    if (this.plugins.length === 0) return undefined;
    for (const plugin of this.#askers(hook)) {
      const ask = plugin[hook] as (params: Params<H>) => unknown;
      const value = await ask.call(plugin, params);
      if (value !== undefined && value !== null) return value as Result<H>;
    }
    return undefined;
  }

  /** Calls the hook on every plugin that overrides it, in registration order, and ignores the results. */
  async all<H extends PluginHook>(hook: H, params: Params<H>): Promise<void> {
    for (const plugin of this.plugins.length === 0 ? [] : this.#askers(hook)) {
      await (plugin[hook] as (params: Params<H>) => unknown).call(plugin, params);
    }
  }
}
