import {
  type BasePlugin,
  type BaseTool,
  ConfigurationError,
  type Content,
  type Event,
  type LlmResponse,
} from '@eventloom/core';
import { type PluginHook, PluginManager, wrongOption } from '@eventloom/core/internal';
import { checkPluginCallbacks, RunnerPlugin } from './base-plugin.ts';
import { askCallbacks, type NodeCallbacks } from './workflow/node-callbacks.ts';

/** The parameters of a callback of plugins. */
type CallbackParams<K extends keyof BasePlugin> = BasePlugin[K] extends (params: infer P) => unknown ? P : never;

/**
 * The plugins of a runner, for programs that were written for `@google/adk`. Each `run…` method calls one callback of
 * the plugins in their order, until one returns a value, and resolves to the value. Null counts as no value, except for
 * callbacks of nodes.
 *
 * @example
 * const plugins = new PluginManager();
 * plugins.registerPlugin(new LoggingPlugin());
 */
export class AdkPluginManager extends PluginManager {
  /** The name of the class in error messages. */
  static override readonly name: string = 'PluginManager';

  /** @throws ConfigurationError for a value that is not a list of plugins, and for a plugin with a callback that no run calls */
  constructor(plugins: readonly BasePlugin[] = []) {
    checkPluginCallbacks('PluginManager', plugins);
    super(plugins);
  }

  /**
   * Calls a callback of the plugins until one returns a value. `onUserMessageCallback` gets a copy of the message, and
   * a plugin that changes the copy need not return it.
   */
  override first<H extends PluginHook>(
    hook: H,
    params: Parameters<BasePlugin[H]>[0],
  ): ReturnType<typeof PluginManager.prototype.first<H>> {
    if (!('userMessage' in params)) return super.first(hook, params);
    const userMessage = structuredClone(params.userMessage);
    const isChanged = () => JSON.stringify(userMessage) !== JSON.stringify(params.userMessage);
    const asked = super.first(hook, { ...params, userMessage });
    return asked.then((answer) => answer ?? (isChanged() ? (userMessage as unknown as typeof answer) : undefined));
  }

  /** True if the program has given a plugin. */
  get hasPlugins(): boolean {
    return this.plugins.some((plugin) => !(plugin instanceof RunnerPlugin));
  }

  /**
   * Adds a plugin behind the others. Runs that are in progress call it too.
   * @throws ConfigurationError for a value that is not a plugin, for one with a callback that no run calls, and for a name that is taken
   */
  registerPlugin(plugin: BasePlugin): void {
    if (typeof plugin?.beforeRunCallback !== 'function')
      throw wrongOption('PluginManager.registerPlugin', 'plugin', 'a plugin', plugin, 'new LoggingPlugin()');
    checkPluginCallbacks('PluginManager.registerPlugin', [plugin]);
    if (this.getPlugin(plugin.name))
      throw new ConfigurationError(
        `PluginManager.registerPlugin: there is a plugin "${plugin.name}" already; give one of them another name, as in super('logging_2')`,
      );
    this.add(plugin);
  }

  /** Returns the plugin of a name; undefined if there is none. */
  getPlugin(pluginName: string): BasePlugin | undefined {
    return this.plugins.find(({ name }) => name === pluginName);
  }

  runOnUserMessageCallback(params: CallbackParams<'onUserMessageCallback'>): Promise<Content | undefined> {
    return this.first('onUserMessageCallback', params);
  }

  runBeforeRunCallback(params: CallbackParams<'beforeRunCallback'>): Promise<Content | undefined> {
    return this.first('beforeRunCallback', params);
  }

  runAfterRunCallback(params: CallbackParams<'afterRunCallback'>): Promise<void> {
    return this.all('afterRunCallback', params);
  }

  runOnEventCallback(params: CallbackParams<'onEventCallback'>): Promise<Event | undefined> {
    return this.first('onEventCallback', params);
  }

  runBeforeAgentCallback(params: CallbackParams<'beforeAgentCallback'>): Promise<Content | undefined> {
    return this.first('beforeAgentCallback', params);
  }

  runAfterAgentCallback(params: CallbackParams<'afterAgentCallback'>): Promise<Content | undefined> {
    return this.first('afterAgentCallback', params);
  }

  async runBeforeNodeCallback(params: NodeCallbacks['beforeNodeCallback']): Promise<unknown> {
    return (await askCallbacks(this.plugins, 'beforeNodeCallback', params))?.value;
  }

  async runAfterNodeCallback(params: NodeCallbacks['afterNodeCallback']): Promise<unknown> {
    return (await askCallbacks(this.plugins, 'afterNodeCallback', params))?.value;
  }

  runBeforeToolSelection(
    params: CallbackParams<'beforeToolSelection'>,
  ): Promise<Readonly<Record<string, BaseTool>> | undefined> {
    return this.first('beforeToolSelection', params);
  }

  runBeforeToolCallback(params: CallbackParams<'beforeToolCallback'>): Promise<Record<string, unknown> | undefined> {
    return this.first('beforeToolCallback', params);
  }

  runAfterToolCallback(params: CallbackParams<'afterToolCallback'>): Promise<Record<string, unknown> | undefined> {
    return this.first('afterToolCallback', params);
  }

  runOnToolErrorCallback(params: CallbackParams<'onToolErrorCallback'>): Promise<Record<string, unknown> | undefined> {
    return this.first('onToolErrorCallback', params);
  }

  runBeforeModelCallback(params: CallbackParams<'beforeModelCallback'>): Promise<LlmResponse | undefined> {
    return this.first('beforeModelCallback', params);
  }

  runAfterModelCallback(params: CallbackParams<'afterModelCallback'>): Promise<LlmResponse | undefined> {
    return this.first('afterModelCallback', params);
  }

  runOnModelErrorCallback(params: CallbackParams<'onModelErrorCallback'>): Promise<LlmResponse | undefined> {
    return this.first('onModelErrorCallback', params);
  }
}
