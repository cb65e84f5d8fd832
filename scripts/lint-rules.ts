/** The lint rules of this repository that oxlint does not have. */
interface ThrowStatement {
  readonly argument: { readonly type: string; readonly callee?: { readonly name?: string } };
}

interface RuleContext {
  report(problem: { message: string; node: ThrowStatement }): void;
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

export default { meta: { name: 'eventloom' }, rules: { 'no-bare-error': noBareError } };
