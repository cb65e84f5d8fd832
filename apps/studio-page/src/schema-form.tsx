import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button } from 'react-aria-components';
import {
  addItem,
  choiceText,
  chooseVariant,
  type FormField,
  fieldOf,
  type FieldTexts,
  initialTexts,
  type ItemsField,
  isWithin,
  itemsOf,
  readAnswer,
  refusedFields,
  removeItem,
  type VariantField,
  variantKey,
  variantOf,
} from './schema-fields.ts';
import type { JsonFields } from './schema-reader.ts';

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
  const sent = useRef(texts);
  const refused = useMemo(
    () => (refusal === undefined ? undefined : refusedFields(root, sent.current, refusal)),
    [root, refusal],
  );
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
    if (first === undefined && 'value' in answer) {
      sent.current = texts;
      onSubmit(answer.value);
    } else for (const element of form.elements) if (isInput(element) && element.name === nameOf(first)) element.focus();
  };
  const change: ChangeTexts = (key, edit) => {
    setTexts(edit);
    setErrors((before) => Object.fromEntries(Object.entries(before).filter(([each]) => !isWithin(each, key))));
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

/** Returns the name of the element with a key. It must not be empty, as the key of the answer itself is. */
function nameOf(key: string | undefined): string {
  return `.${key}`;
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

function FieldView({ field, ...props }: FieldViewProps) {
  switch (field.kind) {
    case 'group':
    case 'tuple':
      // The answer itself needs no frame.
      return field.key === '' ? (
        <GroupContent field={field} {...props} />
      ) : (
        <fieldset className="field-group">
          <GroupLegend field={field} isRequired={false} />
          <GroupContent field={field} {...props} />
        </fieldset>
      );
    case 'variants':
      return <VariantsView field={field} {...props} />;
    case 'items':
      return <ListView field={field} {...props} />;
    default:
      return <LabeledInput field={field} {...props} />;
  }
}

/** Shows the fields of a group without a frame, and other fields as they are. */
function GroupContent({ field, ...props }: FieldViewProps) {
  if (field.kind !== 'group' && field.kind !== 'tuple') return <FieldView field={field} {...props} />;
  return field.fields.map((each) => <FieldView key={each.key} field={each} {...props} />);
}

interface GroupLegendProps {
  readonly field: FormField;
  readonly isRequired: boolean;
}

function GroupLegend({ field: { label, description }, isRequired }: GroupLegendProps) {
  return (
    <legend>
      {label}
      {isRequired && <RequiredMark />}
      {description !== undefined && <small> {description}</small>}
    </legend>
  );
}

interface LabeledInputProps extends FieldViewProps {
  readonly field: InputLike;
}

/** A field with an element for its text. */
type InputLike = Extract<FormField, { readonly initial: string; readonly kind: 'choice' | 'input' | 'lines' | 'json' }>;

function LabeledInput({ field, texts, errors, onChange }: LabeledInputProps) {
  const { key, kind, label, description, isRequired } = field;
  const error = errors[key];
  return (
    <div className="field">
      <label>
        <span>
          {label}
          {isRequired && (kind !== 'lines' || field.minItems > 0) && <RequiredMark />}
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

/** Changes texts so that the element with the focus may be replaced, and moves the focus to an element that is then inside the box. */
function changeAndFocus(box: RefObject<HTMLElement | null>, change: () => void, selector: string): void {
  flushSync(change);
  box.current?.querySelector<HTMLElement>(selector)?.focus();
}

const CONTROLS = ':is(input, select, textarea, button)';

/**
 * Shows the fields of the items of a list, with buttons to add an item and to remove each. The focus goes to the item
 * that was added or is next.
 */
function ListView({ field, texts, errors, onChange }: FieldViewProps & { readonly field: ItemsField }) {
  const { key, label, isRequired, minItems, maxItems } = field;
  const list = useRef<HTMLFieldSetElement>(null);
  const items = itemsOf(field, texts);
  const last = items.length - 1;
  return (
    <fieldset className="field-group" ref={list}>
      <GroupLegend field={field} isRequired={isRequired && minItems > 0} />
      {items.map((item, index) => (
        <div key={item.key} className="list-item" data-item={item.key}>
          <FieldView field={item} texts={texts} errors={errors} onChange={onChange} />
          <Button
            className="quiet"
            onPress={() =>
              changeAndFocus(
                list,
                () => onChange(key, (before) => removeItem(field, before, index)),
                last === 0
                  ? `[name="${CSS.escape(nameOf(key))}"]`
                  : `[data-item="${CSS.escape(items[Math.min(index, last - 1)]?.key ?? '')}"] > button`,
              )
            }
          >
            Remove {item.label}
          </Button>
        </div>
      ))}
      <Button
        className="quiet"
        name={nameOf(key)}
        isDisabled={items.length >= maxItems}
        onPress={() =>
          changeAndFocus(
            list,
            () => onChange(key, (before) => addItem(field, before)),
            `[data-item="${CSS.escape(field.itemAt(items.length).key)}"] ${CONTROLS}`,
          )
        }
      >
        Add to {label}
      </Button>
      <FieldError error={errors[key]} />
    </fieldset>
  );
}

/** Shows a group with a button that adds or removes it, or a choice between variants with the fields of the chosen one. */
function VariantsView({ field, texts, errors, onChange }: FieldViewProps & { readonly field: VariantField }) {
  const { key, label, isRequired, isNullable, variants } = field;
  const chosenKey = variantKey(field);
  const box = useRef<HTMLFieldSetElement>(null);
  const inner = variantOf(field, texts)?.createField();
  const choose = (chosen: string): void => onChange(key, (before) => chooseVariant(field, before, chosen));
  const content = inner && <GroupContent field={inner} texts={texts} errors={errors} onChange={onChange} />;
  return (
    <fieldset className="field-group" ref={box}>
      <GroupLegend field={field} isRequired={isRequired && !isNullable} />
      {variants.length > 1 && (
        <select
          name={nameOf(chosenKey)}
          aria-label={`Kind of ${label}`}
          required={isRequired && !isNullable}
          aria-invalid={errors[chosenKey] !== undefined}
          value={texts[chosenKey] ?? ''}
          onChange={({ target }) => choose(target.value)}
        >
          <option value="">{isRequired && !isNullable ? 'Choose…' : 'none'}</option>
          {variants.map((variant, index) => (
            <option key={index} value={index}>
              {variant.label}
            </option>
          ))}
        </select>
      )}
      {content}
      {variants.length === 1 && (
        <Button
          className="quiet"
          name={nameOf(chosenKey)}
          onPress={() =>
            inner ? changeAndFocus(box, () => choose(''), 'button') : changeAndFocus(box, () => choose('0'), CONTROLS)
          }
        >
          {inner ? 'Remove' : 'Add'} {label}
        </Button>
      )}
      <FieldError error={errors[chosenKey]} />
    </fieldset>
  );
}

interface FieldInputProps {
  readonly field: InputLike;
  readonly text: string;
  readonly isInvalid: boolean;
  readonly onChange: ChangeTexts;
}

function FieldInput({ field, text, isInvalid, onChange }: FieldInputProps) {
  const { key, kind, isRequired, isNullable } = field;
  const common = {
    name: nameOf(key),
    required: isRequired && !isNullable && (kind !== 'lines' || field.minItems > 0),
    value: text,
    'aria-invalid': isInvalid,
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      onChange(key, (texts) => ({ ...texts, [key]: target.value })),
  };
  switch (kind) {
    case 'choice':
      return (
        <select {...common}>
          <option value="">{common.required ? 'Choose…' : 'none'}</option>
          {field.choices.map((choice) => (
            <option key={choiceText(choice)}>{choiceText(choice)}</option>
          ))}
        </select>
      );
    case 'input': {
      const { type, pattern, minLength, maxLength } = field.attributes;
      // An element for text with several lines has no pattern.
      if (type !== 'text' || pattern !== undefined) return <input {...common} {...field.attributes} />;
      return (
        <textarea
          {...common}
          {...{ minLength, maxLength }}
          rows={Math.min(8, text.split('\n').length)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
      );
    }
    case 'lines':
      return <textarea {...common} rows={3} />;
    case 'json':
      return <textarea {...common} rows={4} placeholder={`JSON, such as ${field.example}`} />;
  }
}
