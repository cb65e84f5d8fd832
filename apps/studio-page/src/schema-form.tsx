import { useEffect, useMemo, useState } from 'react';
import { Button } from 'react-aria-components';
import {
  type FormField,
  fieldOf,
  type FieldTexts,
  initialTexts,
  readAnswer,
  refusedFields,
  type JsonFields,
} from './schema-fields.ts';

interface SchemaFormProps {
  readonly schema: JsonFields | undefined;
  readonly isDisabled: boolean;
  /** The server's error about the last answer; undefined if the server did not refuse it. */
  readonly refusal: string | undefined;
  readonly onSubmit: (value: unknown) => void;
}

/** Shows a form made from a JSON Schema. The browser checks the fields, and each message is beside its field. */
export function SchemaForm({ schema, isDisabled, refusal, onSubmit }: SchemaFormProps) {
  const root = useMemo(() => fieldOf(schema), [schema]);
  const [texts, setTexts] = useState(() => initialTexts(root));
  const [errors, setErrors] = useState<FieldTexts>({});
  const refused = useMemo(() => (refusal === undefined ? undefined : refusedFields(root, refusal)), [root, refusal]);
  useEffect(() => {
    if (refused) setErrors(refused.errors);
  }, [refused]);
  const submit = (form: HTMLFormElement): void => {
    const found: Record<string, string> = {};
    for (const element of form.elements)
      if (isInput(element) && element.name !== '' && !element.checkValidity())
        found[element.name.slice(1)] ??= element.validationMessage;
    const answer = readAnswer(root, texts);
    if ('errors' in answer) Object.assign(found, answer.errors);
    setErrors(found);
    const [first] = Object.keys(found);
    if (first === undefined && 'value' in answer) onSubmit(answer.value);
    else for (const element of form.elements) if (isInput(element) && element.name === `.${first}`) element.focus();
  };
  const change = (key: string, text: string): void => {
    setTexts({ ...texts, [key]: text });
    setErrors(Object.fromEntries(Object.entries(errors).filter(([each]) => each !== key)));
  };
  return (
    <form
      className="fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <fieldset className="fields" disabled={isDisabled}>
        <FieldView field={root} texts={texts} errors={errors} onChange={change} />
      </fieldset>
      {refused?.rest !== undefined && (
        <p className="error" role="alert">
          {refused.rest}
        </p>
      )}
      <Button className="primary" type="submit" isDisabled={isDisabled}>
        Send
      </Button>
    </form>
  );
}

function isInput(element: Element): element is HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement {
  return 'checkValidity' in element && 'name' in element;
}

interface FieldViewProps {
  readonly field: FormField;
  readonly texts: FieldTexts;
  readonly errors: FieldTexts;
  readonly onChange: (key: string, text: string) => void;
}

function FieldView({ field, texts, errors, onChange }: FieldViewProps) {
  const { key, kind, label, description, isRequired, fields, minItems } = field;
  if (kind === 'group') {
    const inner = fields.map((each) => (
      <FieldView key={each.key} field={each} texts={texts} errors={errors} onChange={onChange} />
    ));
    // The answer itself needs no frame.
    if (key === '') return inner;
    return (
      <fieldset className="field-group">
        <legend>
          {label}
          {description !== undefined && <small> {description}</small>}
        </legend>
        {inner}
      </fieldset>
    );
  }
  const error = errors[key];
  return (
    <div className="field">
      <label>
        <span>
          {label}
          {isRequired && (kind !== 'list' || minItems > 0) && (
            <span className="required" title="required">
              {' '}
              *
            </span>
          )}
          {description !== undefined && <small> {description}</small>}
          {kind === 'list' && <small> One on each line.</small>}
        </span>
        <FieldInput field={field} text={texts[key] ?? ''} isInvalid={error !== undefined} onChange={onChange} />
      </label>
      {error !== undefined && (
        <small className="field-error" role="alert">
          {error}
        </small>
      )}
    </div>
  );
}

interface FieldInputProps {
  readonly field: FormField;
  readonly text: string;
  readonly isInvalid: boolean;
  readonly onChange: (key: string, text: string) => void;
}

function FieldInput({ field, text, isInvalid, onChange }: FieldInputProps) {
  const { key, kind, isRequired, choices, attributes, minItems } = field;
  const common = {
    // The name of the only field of an answer must not be empty.
    name: `.${key}`,
    required: isRequired && !field.isNullable && (kind !== 'list' || minItems > 0),
    value: text,
    'aria-invalid': isInvalid,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(key, target.value),
  };
  if (kind === 'choice')
    return (
      <select {...common}>
        <option value="" />
        {choices.map((choice) => (
          <option key={String(choice)}>{String(choice)}</option>
        ))}
      </select>
    );
  if (kind === 'input') return <input {...common} {...attributes} />;
  return (
    <textarea
      {...common}
      rows={kind === 'list' ? 3 : 4}
      placeholder={field.example ? `JSON, such as ${field.example}` : ''}
    />
  );
}
