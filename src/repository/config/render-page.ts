import { fieldRows } from './fields.ts';
import { weirParameters } from './weir-parameters.ts';

const introduction = `# Model configuration

A model is a folder of a repository: \`config.pbtxt\`, in the text form of protobuf, beside one folder for each version. The names and numbers of
its fields are those of \`proto/model_config.proto\`, which are Triton's.

- **Nothing is ignored in silence.** Each field of the tables below is *honoured*, has *no effect* here and says why, or is *refused*: a model that
  sets it to anything but its default does not load, and the reason names the field. A name that is no field is refused with the nearest one that is.
- **All faults at once.** A config that is wrong fails its model with every fault in it, each with file, line, field, what was wanted and what is
  there. Other models are not touched by it. The reason stands in the log and in the repository index.
- **Odd but loaded.** Some configs look wrong and run all the same, as on Triton: of two inputs of one name the first counts, \`backend\` wins over a
  \`platform\` that belongs to another, a negative \`count\` is none, a label file outside the model's folder is not read. Each gives a warning with
  file, line and field.
- **Completion.** Unless \`--disable-auto-complete-config\` is given, the config of an ONNX model may be missing or lack inputs, outputs or both: they
  are read from the model. A model whose first dimensions are all variable can batch: it gets \`max_batch_size\` (4, or the backend's
  \`default-max-batch-size\`) and dynamic batching, where it has none. A config with inputs and outputs is left as it is. What the user wrote is
  kept, or refused where the model disagrees.
- **Batching.** [batching.md](batching.md) tells how the fields work together, with examples.
- **Versions.** Folders whose names are numbers without leading zeros; \`version_policy\` chooses among them. All of the chosen ones load, or none.

This page is made from the table that the loader itself reads: \`npm run docs\` writes it.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

const renderMessage = (message: string): string => {
  const rows = Object.entries(fieldRows[message] ?? {}).map(
    ([field, { decision, note, text }]) => `| \`${field}\` | ${decision} | ${cell(text === undefined ? note : `${note}: ${text}`)} |`,
  );
  const table = rows.length === 0 ? 'No fields.\n' : `| field | decision | note |\n|---|---|---|\n${rows.join('\n')}\n`;
  return `## ${message}\n\n${table}`;
};

const parameters = `## Parameters

\`parameters\` belong to the backend of a model, but for these, which the server reads itself. Another name that begins with \`weir_\` is refused.

| parameter | meaning |
|---|---|
| \`TRITON_BATCH_STRATEGY_PATH\` | a JavaScript or TypeScript module with a batching rule of your own, counted from the model's folder; with \`dynamic_batching\` |
`;

const renderParameters = (): string =>
  `${parameters}${Object.entries(weirParameters)
    .map(([name, meaning]) => `| \`${name}\` | ${cell(meaning)} |\n`)
    .join('')}`;

/** docs/configuration.md. */
export const renderPage = (): string => {
  const { ModelConfig: _, ...others } = fieldRows;
  return [introduction, renderMessage('ModelConfig'), renderParameters(), ...Object.keys(others).map(renderMessage)].join('\n');
};
