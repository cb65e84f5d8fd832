import { useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button } from 'react-aria-components';
import {
  addItem,
  type FormField,
  fieldOf,
  type FieldTexts,
  initialTexts,
  itemsOf,
  readAnswer,
  refusedFields,
  removeItem,
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
  const change: ChangeTexts = (key, edit) => {
    setTexts(edit);
    const isInside = (each: string): boolean => each === key || key === '' || each.startsWith(`${key}.`);
    setErrors((before) => Object.fromEntries(Object.entries(before).filter(([each]) => !isInside(each))));
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

/** Changes the texts of a field, and removes the messages beside it and inside. */
type ChangeTexts = (key: string, edit: (texts: FieldTexts) => FieldTexts) => void;

interface FieldViewProps {
  readonly field: FormField;
  readonly texts: FieldTexts;
  readonly errors: FieldTexts;
  readonly onChange: ChangeTexts;
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
  if (kind === 'items') return <ListView field={field} texts={texts} errors={errors} onChange={onChange} />;
  const error = errors[key];
  return (
    <div className="field">
      <label>
        <span>
          {label}
          {isRequired && (kind !== 'lines' || minItems > 0) && <RequiredMark />}
          {description !== undefined && <small> {description}</small>}
          {kind === 'lines' && <small> One on each line.</small>}
        </span>
        <FieldInput field={field} text={texts[key] ?? ''} isInvalid={error !== undefined} onChange={onChange} />
      </label>
      <FieldError error={error} />
    </div>
  );
}

function RequiredMark() {
  return (
    <span className="required" title="required">
      {' '}
      *
    </span>
  );
}

function FieldError({ error }: { readonly error: string | undefined }) {
  if (error === undefined) return null;
  return (
    <small className="field-error" role="alert">
      {error}
    </small>
  );
}

/** Shows the fields of the items of a list, with buttons to add an item and to remove each. The focus goes to the item that was added or is next. */
function ListView({ field, texts, errors, onChange }: FieldViewProps) {
  const { key, label, description, isRequired, minItems, maxItems } = field;
  const list = useRef<HTMLFieldSetElement>(null);
  const items = itemsOf(field, texts);
  const change = (edit: (texts: FieldTexts) => FieldTexts, focused: string): void => {
    flushSync(() => onChange(key, edit));
    list.current?.querySelector<HTMLElement>(focused)?.focus();
  };
  const last = items.length - 1;
  return (
    <fieldset className="field-group" ref={list}>
      <legend>
        {label}
        {isRequired && minItems > 0 && <RequiredMark />}
        {description !== undefined && <small> {description}</small>}
      </legend>
      {items.map((item, index) => (
        <div key={item.key} className="list-item" data-item={item.key}>
          <FieldView field={item} texts={texts} errors={errors} onChange={onChange} />
          <Button
            className="quiet"
            aria-label={`Remove ${item.label}`}
            onPress={() =>
              change(
                (before) => removeItem(field, before, index),
                last === 0
                  ? `[name=".${CSS.escape(key)}"]`
                  : `[data-item="${CSS.escape(items[Math.min(index, last - 1)]?.key ?? '')}"] > button`,
              )
            }
          >
            Remove
          </Button>
        </div>
      ))}
      <Button
        className="quiet"
        name={`.${key}`}
        isDisabled={items.length >= maxItems}
        onPress={() =>
          change(
            (before) => addItem(field, before),
            `[data-item="${CSS.escape(field.itemAt?.(items.length).key ?? '')}"] :is(input, select, textarea, button)`,
          )
        }
      >
        Add to {label}
      </Button>
      <FieldError error={errors[key]} />
    </fieldset>
  );
}

interface FieldInputProps {
  readonly field: FormField;
  readonly text: string;
  readonly isInvalid: boolean;
  readonly onChange: ChangeTexts;
}

function FieldInput({ field, text, isInvalid, onChange }: FieldInputProps) {
  const { key, kind, isRequired, choices, attributes, minItems } = field;
  const common = {
    // The name of the only field of an answer must not be empty.
    name: `.${key}`,
    required: isRequired && !field.isNullable && (kind !== 'lines' || minItems > 0),
    value: text,
    'aria-invalid': isInvalid,
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      onChange(key, (texts) => ({ ...texts, [key]: target.value })),
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
      rows={kind === 'lines' ? 3 : 4}
      placeholder={field.example ? `JSON, such as ${field.example}` : ''}
    />
  );
}
