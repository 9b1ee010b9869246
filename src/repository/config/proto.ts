import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import textformat from 'protobufjs/ext/textformat.js';

textformat.install();

const protoFile = fileURLToPath(new URL('../../../proto/model_config.proto', import.meta.url));

/** The ModelConfig message of `proto/model_config.proto`, by reflection; its field names are those of the file. */
export const modelConfigType: protobuf.Type = new protobuf.Root()
  .loadSync(protoFile, { keepCase: true })
  .lookupType('inference.ModelConfig');
