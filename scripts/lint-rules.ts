/** The lint rules of this repository that oxlint does not have. */
interface ThrowStatement {
  readonly argument: { readonly type: string; readonly callee?: { readonly name?: string } };
}

interface Comment {
  readonly type: 'Block' | 'Line';
  readonly value: string;
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

const withoutSubject = /^(What|How|Whether|Who|Whom|Whose|Where|Which|When|Why|It|That|So|As)\b/;

/** Reports a docstring that starts with a question word instead of a verb or the thing itself. */
const docstringSubject = {
  create(context: RuleContext) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (comment.type !== 'Block' || !comment.value.startsWith('*')) continue;
          const first = withoutSubject.exec(comment.value.slice(1).replace(/^[\s*]+/, ''));
          if (first === null) continue;
          context.report({
            message: `Start the docstring with a verb or with the thing itself, not with "${first[0]}".`,
            node: comment,
          });
        }
      },
    };
  },
};

const wordsToDecode =
  /\b(untold|whoever|whomever|whatsoever|anew|thereof|therein|hereby|of one's own|that is none|is none of|is let go|goes on anew|in no wise|nought|save for|lest|nobody knows whether|as far as it is not)\b/i;

/** Reports words in comments that readers have to decode; AGENTS.md says what to write instead. */
const plainWords = {
  create(context: RuleContext) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const found = wordsToDecode.exec(comment.value);
          if (found === null) continue;
          context.report({
            message: `Say "${found[0]}" in plain technical English, with its subject.`,
            node: comment,
          });
        }
      },
    };
  },
};

export default {
  meta: { name: 'eventloom' },
  rules: { 'no-bare-error': noBareError, 'docstring-subject': docstringSubject, 'plain-words': plainWords },
};
