import { FunctionTool } from '@eventloom/tools';

/** Sets a value of the state. */
export const look = new FunctionTool({
  name: 'look',
  description: 'Looks.',
  execute: (_args, context) => {
    context.state.set('seen', 'sky');
    return { color: 'blue' };
  },
});

/** Waits for an approval. */
export const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays.',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});

/** Saves an artifact: `hello`, with the next version `hello again`. */
export const save = new FunctionTool({
  name: 'save',
  description: 'Saves.',
  execute: (_args, context) => {
    const text = context.state.get('saved') === true ? 'hello\nagain\n' : 'hello\nthere\n';
    context.state.set('saved', true);
    return context.saveArtifact('note.txt', { inlineData: { mimeType: 'text/plain', data: btoa(text) } });
  },
});
