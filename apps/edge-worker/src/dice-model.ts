import { BaseLlm, contentText, type FunctionCall, type LlmRequest, type LlmResponse, type Part } from '@eventloom/core';

/** Words in a message, and the tool that each requests. Any other message rolls the die. */
const TOOLS: readonly (readonly [words: RegExp, tool: string])[] = [
  [/\b(?:save|file)\b/i, 'save_rolls'],
  [/\b(?:pay|won|money)\b/i, 'pay_out'],
];

/** A replacement for a language model if there is no key: finds words in the message, calls one tool, and reports its result. */
export class DiceModel extends BaseLlm {
  constructor() {
    super({ model: 'dice' });
  }

  override async *generateContentAsync(
    { contents, toolsDict }: LlmRequest,
    stream = false,
  ): AsyncGenerator<LlmResponse, void> {
    const last = contents.at(-1)?.parts?.findLast(({ functionResponse }) => functionResponse)?.functionResponse;
    // The agent to which control was transferred does the work.
    if (!last || last.name === 'transfer_to_agent') {
      const message = contents.findLast(({ role, parts }) => role === 'user' && isWritten(parts));
      yield { content: { role: 'model', parts: [{ functionCall: callFor(contentText(message), toolsDict) }] } };
      return;
    }
    const text = describe(last.response ?? {});
    if (stream)
      for (const word of text.match(/\S+\s*/g) ?? [])
        yield { content: { role: 'model', parts: [{ text: word }] }, partial: true };
    yield { content: { role: 'model', parts: [{ text }] } };
  }
}

/** True for a text that the user wrote. Messages also contain responses of tools and reports about other agents. */
function isWritten(parts: readonly Part[] = []): boolean {
  const text = parts[0]?.text;
  return text !== undefined && !text.startsWith('For context:');
}

function callFor(message: string, tools: LlmRequest['toolsDict']): FunctionCall {
  const name = TOOLS.find(([words]) => words.test(message))?.[1] ?? 'roll_die';
  return Object.hasOwn(tools, name)
    ? { name, args: {} }
    : { name: 'transfer_to_agent', args: { agent_name: name === 'pay_out' ? 'cashier' : 'dice' } };
}

function describe(response: Readonly<Record<string, unknown>>): string {
  const { shown, euros, filename, version, error } = response;
  if (typeof shown === 'number') return `The die shows **${shown}**. (No key is set, so no language model answers.)`;
  if (typeof euros === 'number') return `${euros} euros are paid out.`;
  if (typeof filename === 'string') return `All rolls are in \`${filename}\`, version ${JSON.stringify(version)}.`;
  return `That did not work: ${JSON.stringify(error)}`;
}
