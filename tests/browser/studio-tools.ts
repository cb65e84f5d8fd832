import type { AuthConfig } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';

/** A tool that sets a value of the state. */
export const look = new FunctionTool({
  name: 'look',
  description: 'Looks.',
  execute: (_args, context) => {
    context.state.set('seen', 'sky');
    return { color: 'blue' };
  },
});

/** A tool that waits for an approval. */
export const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays.',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});

/** A tool that saves an artifact: `hello`, with the next version `hello again`. */
export const save = new FunctionTool({
  name: 'save',
  description: 'Saves.',
  execute: (_args, context) => {
    const text = context.state.get('saved') === true ? 'hello\nagain\n' : 'hello\nthere\n';
    context.state.set('saved', true);
    return context.saveArtifact('note.txt', { inlineData: { mimeType: 'text/plain', data: btoa(text) } });
  },
});

const AUTH: AuthConfig = {
  authScheme: { type: 'apiKey', in: 'header', name: 'x-key' },
  rawAuthCredential: { authType: 'apiKey' },
  credentialKey: 'service-key',
};

/** A tool that needs a credential, and returns the length of the key. */
export const login = new FunctionTool({
  name: 'login',
  description: 'Logs in.',
  execute: async (_args, context) => {
    const credential = await context.loadCredential(AUTH);
    return credential ? { length: credential.apiKey?.length } : context.requestCredential(AUTH);
  },
});

/** A tool that asks the person for a size and a number. */
export const ask = new FunctionTool({
  name: 'ask',
  description: 'Asks.',
  execute: (_args, context) => {
    const responseSchema = z.object({ size: z.enum(['small', 'large']), count: z.int() });
    const chosen = context.getInput('order');
    return chosen === undefined
      ? context.requestInput({ key: 'order', message: 'Which size?', responseSchema })
      : { chosen };
  },
});

/** A tool that asks with words that are wider than the page. */
export const askLong = new FunctionTool({
  name: 'ask_with_the_longest_name_that_a_tool_may_have_here_now',
  description: 'Asks.',
  execute: (_args, context) => {
    const responseSchema = z.object({ [`field_${'f'.repeat(200)}`]: z.string().describe('d'.repeat(200)) });
    const address = `https://example.com/?scope=${'x'.repeat(300)}`;
    return context.requestInput({ key: 'code', message: `Open ${address}`, responseSchema });
  },
});

const BASIC: AuthConfig = {
  authScheme: { type: 'http', scheme: 'basic' },
  rawAuthCredential: { authType: 'http', http: { scheme: 'basic' } },
  credentialKey: 'mail',
};

/** A tool that needs a user name and a password, and returns the user name. */
export const mail = new FunctionTool({
  name: 'mail',
  description: 'Reads mail.',
  execute: async (_args, context) => {
    const credential = await context.loadCredential(BASIC);
    return credential ? { user: credential.http?.credentials?.username } : context.requestCredential(BASIC);
  },
});

/** A tool that asks the person for an order with an address. The browser does not check the number of tags. */
export const order = new FunctionTool({
  name: 'order',
  description: 'Orders.',
  execute: (_args, context) => {
    const responseSchema = z.object({
      name: z.string().min(3),
      email: z.email(),
      count: z.int().max(5).default(2),
      tags: z.array(z.string()).min(2),
      address: z.object({ street: z.string() }),
    });
    const given = context.getInput('order');
    return given === undefined
      ? context.requestInput({ key: 'order', message: 'What do you order?', responseSchema })
      : { given };
  },
});

/** A tool that asks the person for lines of an order, each with options. The browser does not check that a count is less than 5. */
export const basket = new FunctionTool({
  name: 'basket',
  description: 'Orders several products.',
  execute: (_args, context) => {
    const option = z.object({ name: z.string(), gift: z.boolean().default(false) });
    const line = z.object({
      product: z.string(),
      count: z.int().lt(5).default(1),
      options: z.array(option).optional(),
    });
    const responseSchema = z.object({ lines: z.array(line).min(1).max(3) });
    const given = context.getInput('basket');
    return given === undefined
      ? context.requestInput({ key: 'basket', message: 'What is in the basket?', responseSchema })
      : { given };
  },
});

/**
 * A tool that asks the person for a shipment: groups that may be absent, one of two shapes, notes that contain notes,
 * and a default time.
 */
export const ship = new FunctionTool({
  name: 'ship',
  description: 'Ships.',
  execute: (_args, context) => {
    const address = z.object({ street: z.string(), country: z.string().default('IT') });
    const note = z.object({
      text: z.string(),
      get replies() {
        return z.array(note).optional();
      },
    });
    const responseSchema = z.object({
      shipping: address.optional(),
      billing: address.optional(),
      payment: z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('card'), number: z.string() }),
        z.object({ kind: z.literal('cash'), isExact: z.boolean() }),
      ]),
      accepted: z.literal(true),
      at: z.iso.datetime().default('2026-01-02T03:04:05Z'),
      note,
    });
    const given = context.getInput('shipment');
    return given === undefined
      ? context.requestInput({ key: 'shipment', message: 'Where to?', responseSchema })
      : { given };
  },
});

/** A tool that saves a picture, a file of the user, and 30 files, of which one has a name with a long word. */
export const saveMany = new FunctionTool({
  name: 'save_many',
  description: 'Saves many files.',
  execute: async (_args, context) => {
    const text = (value: string) => ({ inlineData: { mimeType: 'text/plain', data: btoa(value) } });
    const picture =
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="20"/></svg>';
    await context.saveArtifact('ball.svg', { inlineData: { mimeType: 'image/svg+xml', data: btoa(picture) } });
    await context.saveArtifact('user:shared.txt', text('shared'));
    for (let index = 0; index < 30; index++)
      await context.saveArtifact(`notes/${index}${index === 3 ? 'x'.repeat(200) : ''}.txt`, text(`note ${index}`));
    return { saved: true };
  },
});
