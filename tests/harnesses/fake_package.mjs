// A package that returns its input, and overwrites an input that begins with 7.
export const env = { wasm: {} };
export class Tensor {
  constructor(type, data, dims) {
    Object.assign(this, { type, data, dims });
  }
}
export class InferenceSession {
  static create = async () => new InferenceSession();
  outputNames = ["Y"];
  async release() {}
  async run({ X }) {
    const Y = new Tensor(X.type, X.data.slice(), X.dims);
    if (Y.data[0] === 7) X.data[0] = 0;
    return { Y };
  }
}
