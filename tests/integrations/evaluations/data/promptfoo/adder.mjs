// A stand-in for a model: without carrying it gets some sums wrong, asked for steps it talks.
export default class Adder {
  constructor(options) {
    this.carries = options.config.carries;
  }
  id() {
    return "adder";
  }
  async callApi(prompt) {
    const [a, b] = prompt.match(/\d+/g).map(Number);
    if (!this.carries && prompt.includes("steps") && a === 40) return { error: "out of service" };
    const carried = this.carries || prompt.includes("steps");
    const tens = Math.floor(a / 10) + Math.floor(b / 10);
    const sum = carried ? a + b : 10 * tens + ((a + b) % 10);
    return { output: prompt.includes("steps") ? `Tens, then ones: ${sum}` : `${sum}` };
  }
}
