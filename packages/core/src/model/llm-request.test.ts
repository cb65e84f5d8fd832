import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import type { FunctionDeclaration } from '../content/content.ts';
import { BaseTool } from '../tool/base-tool.ts';
import { appendInstructions, appendTools, createLlmRequest, type LlmRequest } from './llm-request.ts';

class Declared extends BaseTool {
  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name };
  }

  runAsync(): Promise<unknown> {
    return Promise.resolve();
  }
}

/** A tool that the model's own service runs. */
class Undeclared extends BaseTool {
  runAsync(): Promise<unknown> {
    return Promise.resolve();
  }
}

function declared(name: string): Declared {
  return new Declared({ name, description: '' });
}

/** A request whose system instruction is the one that its user configured. */
function requestWith(systemInstruction: unknown): LlmRequest {
  return { ...createLlmRequest(), config: { systemInstruction } };
}

describe('appendInstructions', () => {
  test('appends after the existing instruction, with a blank line between', () => {
    const request = createLlmRequest();
    appendInstructions(request, ['One.', 'Two.']);
    expect(request.config.systemInstruction).toBe('One.\n\nTwo.');
    appendInstructions(request, ['Three.']);
    expect(request.config.systemInstruction).toBe('One.\n\nTwo.\n\nThree.');
  });

  test('adds nothing if there are no instructions or only empty ones', () => {
    const request = createLlmRequest();
    appendInstructions(request, []);
    appendInstructions(request, ['', '']);
    expect(request.config).toEqual({});
    appendInstructions(request, ['', 'One.', '']);
    expect(request.config.systemInstruction).toBe('One.');
  });

  test('adds no blank line before the first instruction', () => {
    const request = requestWith('');
    appendInstructions(request, ['One.']);
    expect(request.config.systemInstruction).toBe('One.');
  });

  test('throws if the existing instruction is not a string', () => {
    const request = requestWith({ parts: [{ text: 'One.' }] });
    expect(() => appendInstructions(request, ['Two.'])).toThrow(ConfigurationError);
    expect(() => appendInstructions(request, [''])).not.toThrow();
    expect(request.config.systemInstruction).toEqual({ parts: [{ text: 'One.' }] });
  });
});

describe('appendTools', () => {
  test('puts tools under their names and their declarations into one list', () => {
    const request = createLlmRequest();
    const [a, b, c] = [declared('a'), declared('b'), declared('c')];
    appendTools(request, [a, b]);
    appendTools(request, [c]);
    expect(Object.entries(request.toolsDict)).toEqual([
      ['a', a],
      ['b', b],
      ['c', c],
    ]);
    expect(request.config.tools).toEqual([{ functionDeclarations: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }]);
  });

  test('keeps the tools that the user configured', () => {
    const request: LlmRequest = { ...createLlmRequest(), config: { tools: [{ googleSearch: {} }] } };
    appendTools(request, [declared('a')]);
    expect(request.config.tools).toEqual([{ googleSearch: {} }, { functionDeclarations: [{ name: 'a' }] }]);
  });

  test('adds no declaration for a tool without one', () => {
    const request = createLlmRequest();
    appendTools(request, [new Undeclared({ name: 'a', description: '' })]);
    expect(request.config.tools).toBeUndefined();
    expect(Object.keys(request.toolsDict)).toEqual(['a']);
  });

  test('throws if two tools have the same name', () => {
    const request = createLlmRequest();
    appendTools(request, [declared('a')]);
    expect(() => appendTools(request, [declared('a')])).toThrow(ConfigurationError);
  });

  test('accepts inherited names and __proto__ as tool names', () => {
    for (const toolsDict of [createLlmRequest().toolsDict, {}]) {
      const request: LlmRequest = { ...createLlmRequest(), toolsDict };
      const tools = ['constructor', 'toString', '__proto__'].map(declared);
      appendTools(request, tools);
      expect(Object.values(request.toolsDict)).toEqual(tools);
      for (const tool of tools) expect(() => appendTools(request, [tool])).toThrow(ConfigurationError);
    }
  });

  test('finds no tool under an inherited name', () => {
    expect(createLlmRequest().toolsDict['toString']).toBeUndefined();
  });
});
