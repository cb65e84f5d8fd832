// The lint rules of this repository that oxlint does not have.
import { basename } from 'node:path';
import {
  findEmptyDescription,
  findPackageAsTag,
  findStartWithoutSubject,
  findTitleWithoutSubject,
  findWordToDecode,
  findWordToDecodeInName,
} from './plain-words.ts';

interface ThrowStatement {
  readonly argument: { readonly type: string; readonly callee?: { readonly name?: string } };
}

interface Comment {
  readonly type: 'Block' | 'Line';
  readonly value: string;
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

interface Literal {
  readonly value: unknown;
}

interface TemplateElement {
  readonly value: { readonly raw: string };
}

interface Identifier {
  readonly name: string;
}

interface Expression {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly expression?: Expression;
  readonly callee?: Expression;
  readonly object?: Expression;
  readonly arguments?: readonly Expression[];
}

interface RuleContext {
  readonly filename: string;
  readonly sourceCode: { readonly lines: readonly string[]; getAllComments(): readonly Comment[] };
  report(problem: { message: string; node: unknown }): void;
}

const noBareError = {
  create(context: RuleContext) {
    return {
      ThrowStatement(node: ThrowStatement) {
        if (node.argument.callee?.name !== 'Error') return;
        context.report({
          message: 'Throw a class that extends EventloomError: callers distinguish errors by their code.',
          node,
        });
      },
    };
  },
};

/**
 * Reports a docstring that starts neither with a verb nor with the thing itself, one that says nothing, and one that editors break at the
 * name of a package.
 */
const docstringSubject = {
  create(context: RuleContext) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (comment.type !== 'Block' || !comment.value.startsWith('*')) continue;
          const found = findStartWithoutSubject(comment.value.slice(1));
          if (found !== undefined)
            context.report({
              message: `Start the docstring with a verb or with the thing itself, not with "${found}".`,
              node: comment,
            });
          const empty = findEmptyDescription(comment.value.slice(1));
          if (empty !== undefined)
            context.report({ message: `Say more in the docstring than "${empty}".`, node: comment });
          const name = findPackageAsTag(comment.value);
          if (name !== undefined)
            context.report({ message: `Write \`${name}\` with backticks: editors take it for a tag.`, node: comment });
        }
      },
    };
  },
};

/** Maximum length of a line with a comment, in characters. The formatter does not wrap comments. */
const MAX_WIDTH = 140;

/** Reports a comment with a line that is too long. Rows of tables, and comments behind code, may be longer. */
const commentWidth = {
  create(context: RuleContext) {
    return {
      Program() {
        const { lines } = context.sourceCode;
        for (const comment of context.sourceCode.getAllComments()) {
          const { start, end } = comment.loc;
          const isWide = (line: string): boolean => line.length > MAX_WIDTH && /^ *(?:\/\/|\/?\*+) +[^ |]/.test(line);
          if (!lines.slice(start.line - 1, end.line).some(isWide)) continue;
          context.report({ message: `Wrap the comment: a line has at most ${MAX_WIDTH} characters.`, node: comment });
        }
      },
    };
  },
};

/** Reports words in comments, error messages, test titles, other strings and names that readers have to decode. */
const plainWords = {
  create(context: RuleContext) {
    const check = (text: unknown, node: unknown): void => {
      const found = typeof text === 'string' ? findWordToDecode(text) : undefined;
      if (found === undefined) return;
      context.report({ message: `Say "${found}" in plain technical English, with its subject.`, node });
    };
    const names = new Set<string>();
    const checkName = (name: string, node: unknown): void => {
      if (names.has(name)) return;
      names.add(name);
      const found = findWordToDecodeInName(name);
      if (found === undefined) return;
      context.report({
        message: `"${name}" has "${found}", which readers must decode: name it in the field's words.`,
        node,
      });
    };
    return {
      Program(node: unknown) {
        checkName(basename(context.filename), node);
        for (const comment of context.sourceCode.getAllComments()) check(comment.value, comment);
      },
      Identifier: (node: Identifier) => checkName(node.name, node),
      PrivateIdentifier: (node: Identifier) => checkName(node.name, node),
      Literal: (node: Literal) => check(node.value, node),
      TemplateElement: (node: TemplateElement) => check(node.value.raw, node),
      JSXText: (node: Literal) => check(node.value, node),
    };
  },
};

/** Returns the name of the function that an expression calls: `test` for `test('a')`, `test.each(rows)('a')` and `test.skip('a')`. */
function calledName(callee: Expression | undefined): string | undefined {
  return callee?.name ?? (callee && calledName(callee.callee ?? callee.object));
}

/** Reports the title of a test outside of every `describe` that has no subject. */
const titleSubject = {
  create(context: RuleContext) {
    return {
      Program({ body }: { readonly body: readonly Expression[] }) {
        for (const { expression } of body) {
          if (expression?.type !== 'CallExpression' || calledName(expression.callee) !== 'test') continue;
          const title = expression.arguments?.[0]?.value;
          const found = typeof title === 'string' ? findTitleWithoutSubject(title) : undefined;
          if (found === undefined) continue;
          context.report({ message: `Begin the title with its subject, not with "${found}".`, node: expression });
        }
      },
    };
  },
};

export default {
  meta: { name: 'eventloom' },
  rules: {
    'no-bare-error': noBareError,
    'comment-width': commentWidth,
    'docstring-subject': docstringSubject,
    'plain-words': plainWords,
    'title-subject': titleSubject,
  },
};
