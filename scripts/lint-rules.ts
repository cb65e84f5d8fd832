// The lint rules of this repository that oxlint does not have.
import { findPackageAsTag, findStartWithoutSubject, findWordToDecode } from './plain-words.ts';

interface ThrowStatement {
  readonly argument: { readonly type: string; readonly callee?: { readonly name?: string } };
}

interface Comment {
  readonly type: 'Block' | 'Line';
  readonly value: string;
}

interface Literal {
  readonly value: unknown;
}

interface TemplateElement {
  readonly value: { readonly raw: string };
}

interface RuleContext {
  readonly sourceCode: { getAllComments(): readonly Comment[] };
  report(problem: { message: string; node: unknown }): void;
}

const noBareError = {
  create(context: RuleContext) {
    return {
      ThrowStatement(node: ThrowStatement) {
        if (node.argument.callee?.name !== 'Error') return;
        context.report({
          message: 'Throw a class that extends EventloomError: callers tell errors apart by code.',
          node,
        });
      },
    };
  },
};

/** Reports a docstring that starts neither with a verb nor with the thing itself, and one that editors break at the name of a package. */
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
          const name = findPackageAsTag(comment.value);
          if (name !== undefined)
            context.report({ message: `Write \`${name}\` with backticks: editors take it for a tag.`, node: comment });
        }
      },
    };
  },
};

/** Reports words in comments, error messages, test titles and other strings that readers have to decode. */
const plainWords = {
  create(context: RuleContext) {
    const check = (text: unknown, node: unknown): void => {
      const found = typeof text === 'string' ? findWordToDecode(text) : undefined;
      if (found === undefined) return;
      context.report({ message: `Say "${found}" in plain technical English, with its subject.`, node });
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) check(comment.value, comment);
      },
      Literal: (node: Literal) => check(node.value, node),
      TemplateElement: (node: TemplateElement) => check(node.value.raw, node),
      JSXText: (node: Literal) => check(node.value, node),
    };
  },
};

export default {
  meta: { name: 'eventloom' },
  rules: { 'no-bare-error': noBareError, 'docstring-subject': docstringSubject, 'plain-words': plainWords },
};
