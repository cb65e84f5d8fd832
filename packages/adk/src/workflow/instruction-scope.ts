import type { Invocation, ReadonlyContext } from '@eventloom/core';
import { getOwn, isRecord } from '@eventloom/core/internal';
import { injectSessionState, type InstructionProvider } from '@eventloom/llm-agent';

/** Values that the instruction of an agent in a workflow can name. */
interface InstructionScope {
  /** The input of the agent's node: `{Name.field}`. */
  readonly input: unknown;
  /** The outputs of the nodes before it: `<Name.field from node>`. */
  readonly outputs: ReadonlyMap<string, unknown>;
}

const scopes = new WeakMap<Invocation, InstructionScope>();

/** Gives the agents of an invocation the values that their instructions can name. */
export function scopeInstructions(invocation: Invocation, scope: InstructionScope): void {
  scopes.set(invocation, scope);
}

/** `{Name.field}`, or `<Name.field from node>`. */
const PLACEHOLDER =
  /\{[A-Za-z_]\w{0,99}\.([A-Za-z_]\w{0,99})\}|<[A-Za-z_]\w{0,99}\.([A-Za-z_]\w{0,99}) from ([A-Za-z_]\w{0,99})>/g;

/** Returns an instruction that also names the values of a workflow. An instruction without such names is returned as it is. */
export function scopedInstruction(instruction: string): string | InstructionProvider {
  if (instruction.search(PLACEHOLDER) < 0) return instruction;
  return async (context: ReadonlyContext) => {
    const scope = scopes.get(context.invocationContext.invocation);
    if (!scope) return injectSessionState(instruction, context);
    let text = '';
    let end = 0;
    for (const match of instruction.matchAll(PLACEHOLDER)) {
      const [whole, field, outputField = '', node = ''] = match;
      const value = field === undefined ? fieldOf(scope.outputs.get(node), outputField) : fieldOf(scope.input, field);
      text += await injectSessionState(instruction.slice(end, match.index), context);
      text += value === undefined ? whole : shown(value);
      end = match.index + whole.length;
    }
    return text + (await injectSessionState(instruction.slice(end), context));
  };
}

function fieldOf(value: unknown, field: string): unknown {
  return isRecord(value) ? getOwn(value, field) : undefined;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
