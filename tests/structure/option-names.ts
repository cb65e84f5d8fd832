import type { SourceFile } from './repository.ts';

/** A public class or function with an options parameter, and the type of its options. */
export interface OptionsTaker {
  readonly name: string;
  readonly type: string;
}

const CLASS = /^export (?:abstract )?class (\w+)[\s\S]*?(?=^export |^}$(?![\s\S]*^ {2}constructor))/gm;
const CONSTRUCTOR = /^ {2}constructor\(([\s\S]*?)\) \{$/m;
const FUNCTION = /^export (?:async )?function (\w+)(?:<[^(]*>)?\(([\s\S]*?)\)(?:: [\s\S]*?)? \{$/gm;
const OPTIONS_PARAMETER = /(?:\b(?:options|config|params)\??|\}): (?:Omit<)?(\w+(?:Options|Config|Params))\b/;

/** Returns the classes and functions of a file that take options. */
export function optionsTakers({ text }: SourceFile): OptionsTaker[] {
  const takers: OptionsTaker[] = [];
  const add = (name: string, parameters: string): void => {
    const type = OPTIONS_PARAMETER.exec(parameters)?.[1];
    if (type !== undefined) takers.push({ name, type });
  };
  for (const [body, name = ''] of text.matchAll(CLASS)) add(name, CONSTRUCTOR.exec(body)?.[1] ?? '');
  for (const [, name = '', parameters = ''] of text.matchAll(FUNCTION)) add(name, parameters);
  return takers;
}
