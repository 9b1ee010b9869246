import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { expect, it } from 'vitest';
import { messageName } from '../../../src/repository/config/check-fields.ts';
import { fieldRows } from '../../../src/repository/config/fields.ts';
import { modelConfigType } from '../../../src/repository/config/proto.ts';
import { renderPage } from '../../../src/repository/config/render-page.ts';

const messagesIn = (namespace: protobuf.NamespaceBase): readonly protobuf.Type[] =>
  namespace.nestedArray.flatMap((nested) => (nested instanceof protobuf.Type ? [nested, ...messagesIn(nested)] : []));

it('has a row for every field of every message, and no other', () => {
  const messages = messagesIn(modelConfigType.root.lookup('inference', protobuf.Namespace) as protobuf.Namespace);
  const fields = messages.flatMap((type) => type.fieldsArray.map(({ name }) => `${messageName(type)}.${name}`));
  const rows = Object.entries(fieldRows).flatMap(([message, ofMessage]) => Object.keys(ofMessage).map((field) => `${message}.${field}`));
  expect(fields).toHaveLength(164);
  expect(rows.toSorted()).toEqual(fields.toSorted());
  expect(Object.keys(fieldRows).toSorted()).toEqual(messages.map(messageName).toSorted());
});

it('is what docs/configuration.md says', () => {
  expect(readFileSync(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8')).toBe(renderPage());
});
