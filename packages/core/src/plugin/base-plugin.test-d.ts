// Compiled and never run: the values that hooks of plugins may return.
import type { Content } from '../content/content.ts';
import type { CallbackContext } from '../context/callback-context.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginManager } from './plugin-manager.ts';

/** A plugin whose hooks return nothing, or a promise of nothing. */
export class Logging extends BasePlugin {
  override async beforeModelCallback(_params: { callbackContext: CallbackContext }): Promise<void> {}

  override beforeAgentCallback(): void {}

  override async onEventCallback() {}
}

/** A plugin whose hooks sometimes return a value. */
export class Guard extends BasePlugin {
  override async beforeAgentCallback({ callbackContext }: { callbackContext: CallbackContext }) {
    if (callbackContext.state.has('blocked')) return { parts: [{ text: 'no' }] };
  }

  // @ts-expect-error -- a text is not a content
  override beforeRunCallback(): string {
    return 'no';
  }
}

/** Returns the content of the first plugin that answers, or nothing. */
export function asked(plugins: PluginManager, params: Parameters<BasePlugin['beforeRunCallback']>[0]) {
  return plugins.first('beforeRunCallback', params) satisfies Promise<Content | undefined>;
}
