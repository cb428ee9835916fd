// Harness for the JavaScript packages of ONNX Runtime: `node harness.mjs onnxruntime-web|onnxruntime-node`.
// It implements docs/reference/protocol.md and keeps one prepared model at a time.

import fs from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";

const PROTOCOL_VERSION = 1;
const FILE_THRESHOLD_BYTES = 2 ** 20; // an output of this size or more goes to a file
const RUNTIMES = {
  "onnxruntime-web": { executionProviders: ["wasm"] },
  "onnxruntime-node": { executionProviders: ["cpu"] },
};
const UNSUPPORTED_TEXTS = [
  "is not a registered function/op",
  "Could not find an implementation for",
  "type inference failed, inferred types: index=", // for a function with an unsupported operator
  "nsupported data type: ", // with or without a capital: no array of this type in JavaScript
];

// Types of the protocol, with their names and arrays in the runtimes. If the language has no array of float16, its
// bits are stored as uint16.
const TYPES = {
  float: ["float32", Float32Array],
  double: ["float64", Float64Array],
  float16: ["float16", globalThis.Float16Array ?? Uint16Array],
  int8: ["int8", Int8Array],
  int16: ["int16", Int16Array],
  int32: ["int32", Int32Array],
  int64: ["int64", BigInt64Array],
  uint8: ["uint8", Uint8Array],
  uint16: ["uint16", Uint16Array],
  uint32: ["uint32", Uint32Array],
  uint64: ["uint64", BigUint64Array],
  bool: ["bool", Uint8Array],
};
const DTYPES = Object.fromEntries(Object.entries(TYPES).map(([dtype, [type]]) => [type, dtype]));

class Unsupported extends Error {}

// Reserve standard output for answers: redirect the console to standard error and, if the system permits it, also the
// output of native code.
function answerChannel() {
  globalThis.console = new console.Console(process.stderr, process.stderr);
  try {
    const channel = fs.openSync("/proc/self/fd/1", fs.constants.O_WRONLY | fs.constants.O_APPEND);
    fs.closeSync(1);
    fs.openSync("/proc/self/fd/2", fs.constants.O_WRONLY | fs.constants.O_APPEND); // gets the lowest free descriptor: 1
    return (line) => {
      for (let bytes = Buffer.from(line); bytes.length; ) bytes = bytes.subarray(fs.writeSync(channel, bytes));
    };
  } catch {
    return (line) => process.stdout.write(line);
  }
}

async function* lines(stream) {
  let parts_of_line = [];
  stream.setEncoding("utf8");
  for await (const chunk of stream) {
    const parts = chunk.split("\n");
    for (const part of parts.slice(0, -1)) {
      yield parts_of_line.join("") + part;
      parts_of_line = [];
    }
    parts_of_line.push(parts.at(-1));
  }
}

async function loadRuntime(name) {
  process.env.ORT_DISABLE_TELEMETRY = "1";
  const folder = createRequire(new URL(`${name}/package.json`, import.meta.url));
  const ort = await import(pathToFileURL(entryModule(folder, name)));
  ort.env.logLevel = "fatal";
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  return { ort, version: readPackage(folder, name).version };
}

function readPackage(folder, name) {
  const file = folder.resolve.paths(name).map((path) => `${path}/${name}/package.json`).find(fs.existsSync);
  if (!file) throw new Error(`${name} is not installed: run npm ci --ignore-scripts in the folder ${name}`);
  return { file, ...JSON.parse(fs.readFileSync(file, "utf8")) };
}

// Returns the module of a package for Node. The CommonJS entry of onnxruntime-web is for browsers.
function entryModule(folder, name) {
  const { file, exports } = readPackage(folder, name);
  const module = exports?.["."]?.node?.import;
  return module ? file.replace(/package\.json$/, module) : folder.resolve(name);
}

class Harness {
  #name;
  #ort;
  #version;
  #session = null;

  constructor(name, { ort, version }) {
    this.#name = name;
    this.#ort = ort;
    this.#version = version;
  }

  start() {
    return {
      version: PROTOCOL_VERSION,
      name: this.#name,
      runtime_version: this.#version,
      language: "JavaScript",
      kind: "backend",
      files: true,
      os: `${process.platform} ${process.arch}, Node ${process.versions.node}`,
    };
  }

  async load({ model }) {
    await this.#session?.release();
    this.#session = null;
    this.#session = await this.#ort.InferenceSession.create(new Uint8Array(fs.readFileSync(model)), {
      ...RUNTIMES[this.#name],
      logSeverityLevel: 4,
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
    return { loaded: true };
  }

  async run({ inputs, files }) {
    if (!this.#session) throw new Error("no model is loaded");
    const tensors = inputs.map((input) => this.#tensor(input));
    const results = await this.#session.run(Object.fromEntries(inputs.map(({ name }, i) => [name, tensors[i]])));
    const changed = inputs.flatMap((input, i) => (Buffer.compare(inputBytes(input), bytesOf(tensors[i])) ? i : []));
    const outputs = this.#session.outputNames.map((name, i) => outputMessage(name, results[name], files && files + i));
    return { outputs, changed };
  }

  #tensor(input) {
    const { name, dtype, shape } = input;
    if (!Object.hasOwn(TYPES, dtype)) throw new Unsupported(`input ${name}: no array of ${dtype}`);
    const [type, ArrayType] = TYPES[dtype];
    const bytes = inputBytes(input);
    const size = bytes.length / ArrayType.BYTES_PER_ELEMENT;
    if (!Number.isInteger(size)) throw new Error(`${name}: the size of its data is not a multiple of the element size`);
    return new this.#ort.Tensor(type, new ArrayType(bytes.buffer, bytes.byteOffset, size), shape);
  }
}

// Returns a copy of an input's bytes, aligned for typed arrays; the runtime may overwrite it.
function inputBytes({ data, file }) {
  return file ? fs.readFileSync(file) : new Uint8Array(Buffer.from(data, "base64"));
}

function bytesOf({ data }) {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function outputMessage(name, tensor, file) {
  if (!ArrayBuffer.isView(tensor?.data)) throw new Unsupported(`output ${name} is not a tensor of numbers`);
  const dtype = DTYPES[tensor.type] ?? tensor.type;
  const bytes = bytesOf(tensor);
  const elements = file && bytes.length >= FILE_THRESHOLD_BYTES ? { file: writeOutput(file, bytes) } : { data: bytes.toString("base64") };
  return { name, dtype, shape: tensor.dims, ...elements };
}

// Overwrites the last output file that the suite has read (suffix .read), because its memory is allocated already.
function writeOutput(file, bytes) {
  if (fs.existsSync(`${file}.read`)) fs.renameSync(`${file}.read`, file);
  fs.writeFileSync(file, bytes, { flag: fs.constants.O_WRONLY | fs.constants.O_CREAT });
  fs.truncateSync(file, bytes.length);
  return file;
}

function failureAnswer(error) {
  const message = String(error?.message ?? error);
  const unsupported = error instanceof Unsupported || UNSUPPORTED_TEXTS.some((text) => message.includes(text));
  return unsupported ? { unsupported: message } : { error: `${error?.name ?? "Error"}: ${message}` };
}

async function answer(harness, { cmd, ...fields }) {
  if (!["start", "load", "run"].includes(cmd)) return { error: `unknown command ${cmd}` };
  try {
    return await harness[cmd](fields);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) die(error); // the state of its memory is unknown
    return failureAnswer(error);
  }
}

function die(error) {
  fs.writeSync(2, `${error?.stack ?? error}\n`);
  process.abort();
}

async function main([name]) {
  if (!Object.hasOwn(RUNTIMES, name)) throw new Error(`usage: node harness.mjs ${Object.keys(RUNTIMES).join("|")}`);
  const send = answerChannel();
  const harness = new Harness(name, await loadRuntime(name));
  for await (const line of lines(process.stdin)) {
    const command = JSON.parse(line);
    if (command.cmd === "stop") return;
    send(`${JSON.stringify({ seq: command.seq, ...(await answer(harness, command)) })}\n`);
  }
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    fs.writeSync(2, `${error.message}\n`);
    process.exit(2);
  },
);
